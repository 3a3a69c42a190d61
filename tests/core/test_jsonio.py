import os

import pytest

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import decode, encode, write_atomic
from enginescope.judge.notice import Notice


def test_a_round_trip_without_nan_and_with_errors_that_name_their_place() -> None:
    notice = Notice(code="W-X", message="x", evidence={"a": 1.5})
    assert decode(encode(notice), Notice, source="it") == notice
    assert b"null" in encode({"a": float("nan")})
    with pytest.raises(FormatError) as caught:
        decode(b'{"code": 3, "message": ""}', Notice, source="notices.json")
    assert str(caught.value).startswith("notices.json at $.code: Expected `str`")
    with pytest.raises(FormatError, match="not valid JSON"):
        decode(b"{", Notice, source="notices.json")


def test_atomic_write_leaves_no_part_behind(tmp_path, monkeypatch) -> None:
    target = tmp_path / "file"
    write_atomic(target, b"one")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_atomic(target, b"two")
    assert target.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [target]


def test_a_written_file_has_the_permissions_of_any_other(tmp_path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    write_atomic(tmp_path / "atomic", b"x")
    assert (tmp_path / "atomic").stat().st_mode == plain.stat().st_mode


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"one")
    link.symlink_to(target)
    write_atomic(link, b"two")
    assert link.is_symlink()
    assert (target.read_bytes(), sorted(tmp_path.iterdir())) == (b"two", [link, target])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_into_and_stays(tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomic(pipe, b"two")
        assert os.read(reader, 10) == b"two"
    finally:
        os.close(reader)
    assert list(tmp_path.iterdir()) == [pipe]
    assert pipe.is_fifo()
