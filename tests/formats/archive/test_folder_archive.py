"""A folder with a sealed manifest: any change of any file is found and named."""

import random
from pathlib import Path

import pytest

from enginescope.core.errors import FormatError
from enginescope.core.sidecar import SEAL
from enginescope.formats.archive.engine_archive import MANIFEST, check_folder, write_manifest


@pytest.fixture
def folder(tmp_path) -> Path:
    top = tmp_path / "bundle"
    (top / "runs" / "ab").mkdir(parents=True)
    (top / "runs" / "ab" / "run.json").write_text('{"a": 1}\n')
    (top / "model.onnx").write_bytes(bytes(range(256)))
    (top / ".hidden").write_text("counts too")
    write_manifest(top)
    return top


def test_an_untouched_folder_passes(folder) -> None:
    found = check_folder(folder)
    names = [".hidden", "model.onnx", "runs/ab/run.json"]
    assert [entry.name for entry in found.manifest.files] == names
    assert found == check_folder(folder)


def test_any_byte_of_any_file_counts(folder) -> None:
    draw = random.Random(0)
    for path in (folder / "model.onnx", folder / "runs" / "ab" / "run.json", folder / MANIFEST):
        data = path.read_bytes()
        for at in {0, len(data) - 1, *(draw.randrange(len(data)) for _ in range(60))}:
            changed = bytearray(data)
            changed[at] ^= 1 << draw.randrange(8)
            path.write_bytes(changed)
            with pytest.raises(FormatError, match=path.name):
                check_folder(folder)
        path.write_bytes(data)
    check_folder(folder)


def linked(file: Path) -> None:
    file.rename(file.parents[1] / "elsewhere")
    file.symlink_to(file.parents[1] / "elsewhere")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda top: (top / "model.onnx").unlink(), "model.onnx is missing"),
        (lambda top: (top / "runs" / "more.txt").write_text("x"), "runs/more.txt was added"),
        (lambda top: (top / "link").symlink_to(top / "model.onnx"), "link was added"),
        (lambda top: (top / MANIFEST).unlink(), MANIFEST),
        (lambda top: (top / "model.onnx").write_bytes(b"x"), "model.onnx was changed"),
        (lambda top: linked(top / "model.onnx"), r"model\.onnx was changed"),
    ],
)
def test_files_that_are_missing_added_or_longer(folder, change, text) -> None:
    change(folder)
    with pytest.raises(FormatError, match=text):
        check_folder(folder)


def test_a_manifest_without_its_seal(folder) -> None:
    path = folder / MANIFEST
    body = path.read_text().partition(f',\n  "{SEAL}"')[0]
    path.write_text(f"{body}\n}}\n")
    with pytest.raises(FormatError, match="not the sealed manifest"):
        check_folder(folder)


def test_many_changes_are_counted(folder) -> None:
    for number in range(12):
        (folder / f"{number:02}.txt").write_text("x")
    with pytest.raises(FormatError, match=r"07\.txt was added and 4 more"):
        check_folder(folder)
