import bz2
import errno
import gzip
import lzma
from pathlib import Path

import pytest

from enginescope.core import packed_files
from enginescope.core.errors import FormatError
from enginescope.core.packed_files import plain_bytes, plain_head, plain_path

TEXT = bytes(range(256)) * 5_000
PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
each_packing = pytest.mark.parametrize("suffix", PACK)


@each_packing
def test_plain_and_packed_files_are_the_same(tmp_path: Path, suffix: str) -> None:
    pack = PACK[suffix]
    plain, packed = tmp_path / "x.json", tmp_path / f"x.json{suffix}"
    plain.write_bytes(TEXT)
    packed.write_bytes(pack(TEXT[:7]) + pack(TEXT[7:]) + b"\0" * 512)
    for path in (plain, packed):
        assert (plain_bytes(path), plain_head(path, 1000)) == (TEXT, TEXT[:1000])
        assert plain_head(path, 10 * len(TEXT)) == TEXT
    assert plain_path(packed) == plain_path(plain) == plain
    packed.write_bytes(pack(b""))
    assert plain_bytes(packed) == plain_head(packed, 9) == b""


def test_files_that_begin_like_packed_ones_and_a_file_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "word").write_bytes(b"BZh91 is a name")
    assert plain_bytes(tmp_path / "word") == b"BZh91 is a name"
    (tmp_path / "one").write_bytes(b"\x1f")
    assert plain_bytes(tmp_path / "one") == plain_head(tmp_path / "one", 1) == b"\x1f"
    with pytest.raises(FormatError, match="No such file"):
        plain_bytes(tmp_path / "none")


def test_zeros_behind_the_data_are_no_second_member(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(packed_files, "_BLOCK_BYTES", 64)
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(TEXT[:300]) + b"\0" * 640)
    assert plain_bytes(path) == TEXT[:300]


@each_packing
def test_a_file_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch, suffix) -> None:
    monkeypatch.setattr(packed_files, "MOST_BYTES", 16 << 20)
    bomb = tmp_path / f"bomb{suffix}"
    bomb.write_bytes(PACK[suffix](b"\0" * (48 << 20)))
    with pytest.raises(FormatError, match="more than 16 MiB when unpacked"):
        plain_bytes(bomb)
    bomb.write_bytes(PACK[suffix](b"\0" * (16 << 20)))
    assert len(plain_bytes(bomb)) == 16 << 20


def test_a_dictionary_that_fills_the_memory_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(packed_files, "MOST_BYTES", 1 << 20)
    path = tmp_path / "x.xz"
    path.write_bytes(lzma.compress(TEXT, preset=6))
    with pytest.raises(FormatError, match="the xz data is damaged: Memory usage limit exceeded"):
        plain_bytes(path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: data[: len(data) // 2], "cut off"),
        (lambda data: data[:-3], "cut off"),
        (lambda data: data[:60] + b"\xff" * 60 + data[120:], "damaged"),
        (lambda data: data + b"tail of words", "damaged"),
    ],
)
@each_packing
def test_damaged_files_are_errors(tmp_path: Path, suffix: str, change, why: str) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(change(PACK[suffix](TEXT)))
    with pytest.raises(FormatError, match=f"the (gzip|bzip2|xz) data is {why}"):
        plain_bytes(path)


def test_a_disk_that_fails_is_not_damaged_data(tmp_path: Path) -> None:
    def blocks():
        raise OSError(errno.EIO, "Input/output error")
        yield b""

    packing = packed_files._PACKINGS[1]
    with pytest.raises(OSError, match="Input/output error"):
        packed_files._unpacked(tmp_path, packing, blocks(), None)
