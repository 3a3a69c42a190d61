from __future__ import annotations

import pytest

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import decode, encode, write_atomic
from enginescope.model.notice import Notice


def test_round_trip() -> None:
    notice = Notice(code="W-X", message="x", evidence={"a": 1.5})
    assert decode(encode(notice), Notice, source="it") == notice


def test_strict_json_has_no_nan() -> None:
    assert b"null" in encode({"a": float("nan")})


def test_errors_name_source_and_place() -> None:
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
