import gzip
import hashlib
import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from enginescope.core import packed_files
from enginescope.core.errors import FormatError
from enginescope.core.packed_files import copy_member, is_tar, opened_zip, safe_members


def packed(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            made.writestr(name, text)
    return path


def names(path: Path) -> list[str]:
    with opened_zip(path, expected="a zip") as opened:
        return [one.path.as_posix() for one in safe_members(opened, str(path))]


def test_files_in_their_order_without_folders(tmp_path) -> None:
    path = packed(tmp_path / "a.zip", **{"b/": "", "b/c.txt": "x", "a": "y"})
    assert names(path) == ["b/c.txt", "a"]
    with pytest.raises(FormatError, match="No such file"):
        names(tmp_path / "none.zip")


@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/etc/evil", "a\\..\\evil", "C:/evil", ".", "a/.."]
)
def test_no_path_leads_out(tmp_path, name) -> None:
    with pytest.raises(FormatError, match="may lead out"):
        names(packed(tmp_path / "a.zip", **{name: "evil"}))


def test_no_link_no_folders_name_no_control_characters_and_nothing_encrypted(tmp_path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(link, "/etc/passwd")
    with pytest.raises(FormatError, match="link: a link"):
        names(path)
    with pytest.raises(FormatError, match="of the name of its folder"):
        names(packed(tmp_path / "a.zip", **{"a/b": "1", "a": "2"}))
    with pytest.raises(FormatError, match="control characters"):
        names(packed(tmp_path / "a.zip", **{"a\x1b[2J": "1"}))
    path = packed(tmp_path / "a.zip", a="1")
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1  # general purpose flag of the central directory
    path.write_bytes(bytes(data))
    with pytest.raises(FormatError, match="encrypted"):
        names(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_no_second_file_of_a_name(tmp_path) -> None:
    path = packed(tmp_path / "a.zip", a="1")
    with zipfile.ZipFile(path, "a") as made:
        made.writestr("a", "2")
    with pytest.raises(FormatError, match="a second file of that name"):
        names(path)


def test_nothing_that_grows_beyond_measure(tmp_path, monkeypatch) -> None:
    path = packed(tmp_path / "a.zip", a="0" * 3_000_000)
    assert names(path) == ["a"]
    monkeypatch.setattr(packed_files, "LEAST_SUSPECT_BYTES", 1 << 20)
    with pytest.raises(FormatError, match="it would grow"):
        names(path)


def test_not_too_many_files(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(packed_files, "MOST_MEMBERS", 1)
    with pytest.raises(FormatError, match="2 files, more than 1"):
        names(packed(tmp_path / "a.zip", a="1", b="2"))


def test_a_copy_is_checked_and_known_by_its_content(tmp_path) -> None:
    path = packed(tmp_path / "a.zip", a="x" * 3_000_000)
    out = io.BytesIO()
    with opened_zip(path, expected="a zip") as opened:
        (member,) = safe_members(opened, "a.zip")
        digest = copy_member(opened, member, out)
        assert copy_member(opened, member) == digest
    assert out.getvalue() == b"x" * 3_000_000
    assert digest == hashlib.sha256(out.getvalue()).hexdigest()
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as made:
        made.writestr("a", b"y" * 1000)
    path.write_bytes(path.read_bytes().replace(b"y" * 10, b"z" * 10, 1))
    with pytest.raises(FormatError, match="CRC"), opened_zip(path, expected="a zip") as opened:
        copy_member(opened, safe_members(opened, "a.zip")[0])


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 cut off"])
def test_what_is_no_zip_file(tmp_path, content) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        names(path)
    assert caught.value.hint == "expected a zip"


def tarred(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    kind = {".gz": "w:gz", ".tar": "w:"}[path.suffix]
    with tarfile.open(path, kind) as made:
        for member, data in members:
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz"])
def test_a_tar_file_is_read_like_a_zip_file(tmp_path, name) -> None:
    path = tarred(
        tmp_path / name, (tarfile.TarInfo("b/c.json.gz"), b"x"), (tarfile.TarInfo("a"), b"yz")
    )
    assert is_tar(path)
    assert names(path) == ["b/c.json.gz", "a"]
    with opened_zip(path, expected="a tar") as opened:
        found = {one.path.name: copy_member(opened, one) for one in safe_members(opened, "a.tar")}
    assert found["a"] == hashlib.sha256(b"yz").hexdigest()


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("../evil", tarfile.REGTYPE, "may lead out"),
        ("link", tarfile.SYMTYPE, "a link or a device"),
        ("null", tarfile.CHRTYPE, "a link or a device"),
    ],
)
def test_a_tar_file_is_as_safe(tmp_path, name, kind, words) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "/etc/passwd"
    with pytest.raises(FormatError, match=words):
        names(tarred(tmp_path / "a.tar", (member, b"")))


def test_a_tar_file_does_not_grow_beyond_measure(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(packed_files, "LEAST_SUSPECT_BYTES", 1_000)
    monkeypatch.setattr(packed_files, "MOST_GROWTH", 2)
    path = tarred(tmp_path / "a.tar.gz", (tarfile.TarInfo("zeros"), bytes(100_000)))
    with pytest.raises(FormatError, match="would grow to more than 1,000 bytes"):
        names(path)


def test_other_files_are_not_tar_files(tmp_path) -> None:
    log = tmp_path / "a.log.gz"
    log.write_bytes(gzip.compress(b"&&&& RUNNING TensorRT.trtexec\n" * 50))
    assert not is_tar(log)
    assert not is_tar(packed(tmp_path / "a.zip", a="1"))
    cut = tarred(tmp_path / "b.tar.gz", (tarfile.TarInfo("a"), bytes(range(256)) * 99))
    cut.write_bytes(cut.read_bytes()[:-60])
    with pytest.raises(FormatError):
        names(cut)


def test_all_files_together_are_bounded(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(packed_files, "LEAST_SUSPECT_BYTES", 100_000)
    monkeypatch.setattr(packed_files, "MOST_GROWTH", 50)
    few = {f"file{number}": "0" * 90_000 for number in range(20)}
    with pytest.raises(FormatError, match=r"its files would grow .* 1,800,000 bytes together"):
        names(packed(tmp_path / "a.zip", **few))
    assert names(packed(tmp_path / "b.zip", file="0" * 90_000)) == ["file"]
