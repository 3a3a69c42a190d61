"""Files packed with gzip read as plain ones, within bounds."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from enginescope.core import packed_files
from enginescope.core.errors import FormatError
from enginescope.core.packed_files import plain_bytes, plain_head, plain_path

TEXT = bytes(range(256)) * 20_000


def test_plain_and_packed_files_are_the_same(tmp_path: Path) -> None:
    plain, packed = tmp_path / "x.json", tmp_path / "x.json.gz"
    plain.write_bytes(TEXT)
    packed.write_bytes(gzip.compress(TEXT[:7]) + gzip.compress(TEXT[7:]) + b"\0" * 512)
    for path in (plain, packed):
        assert plain_bytes(path) == TEXT
        assert plain_head(path, 1000) == TEXT[:1000]
        assert plain_head(path, 10 * len(TEXT)) == TEXT
    assert plain_path(packed) == plain_path(plain) == plain
    (tmp_path / "one").write_bytes(b"\x1f")
    assert plain_bytes(tmp_path / "one") == plain_head(tmp_path / "one", 1) == b"\x1f"


def test_a_file_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(packed_files, "MOST_BYTES", 1 << 20)
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(b"\0" * (3 << 20)))
    with pytest.raises(FormatError, match="more than 1 MiB when unpacked"):
        plain_bytes(bomb)
    bomb.write_bytes(gzip.compress(b"\0" * (1 << 20)))
    assert len(plain_bytes(bomb)) == 1 << 20


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (gzip.compress(TEXT)[:-4000], "cut off"),
        (gzip.compress(TEXT)[:-3], "cut off"),
        (gzip.compress(TEXT)[:60] + b"\xff" * 60, "damaged"),
        (gzip.compress(TEXT) + b"tail", "damaged"),
    ],
)
def test_damaged_files_are_errors(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=why):
        plain_bytes(path)


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        plain_bytes(tmp_path / "none")
