import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from enginescope.core.errors import FormatError, UsageError
from enginescope.formats.tensors.target_files import (
    MAP_SUFFIXES,
    CocoBoxes,
    FolderTargets,
    load_map,
)

DEPTH = np.arange(12, dtype=np.float32).reshape(3, 4) + 0.5


def pfm(path: Path, values: np.ndarray, scale: float = -1.0) -> Path:
    order = "<" if scale < 0 else ">"
    head = f"Pf\n{values.shape[1]} {values.shape[0]}\n{scale}\n".encode()
    path.write_bytes(head + values[::-1].astype(f"{order}f4").tobytes())
    return path


@pytest.mark.parametrize("scale", [-1.0, 1.0])
def test_pfm_of_either_order_of_bytes(tmp_path, scale) -> None:
    np.testing.assert_array_equal(load_map(pfm(tmp_path / "a.pfm", DEPTH, scale)), DEPTH)


def test_numpy_files_with_axes_of_1(tmp_path) -> None:
    np.save(tmp_path / "a.npy", DEPTH[None, ..., None])
    np.savez(tmp_path / "b.npz", DEPTH)
    for name in ("a.npy", "b.npz"):
        np.testing.assert_array_equal(load_map(tmp_path / name), DEPTH)


def test_png_keeps_16_bits(tmp_path) -> None:
    millimetres = (DEPTH * 1000).astype(np.uint16)
    Image.fromarray(millimetres).save(tmp_path / "a.png")
    np.testing.assert_array_equal(load_map(tmp_path / "a.png"), millimetres)


def test_a_palette_is_its_indices_where_they_are_meant(tmp_path) -> None:
    indices = np.array([[0, 1], [2, 255]], dtype=np.uint8)
    picture = Image.fromarray(indices)
    picture.putpalette([value for index in range(256) for value in (255 - index, index, 7)])
    picture.save(tmp_path / "a.png")
    np.testing.assert_array_equal(load_map(tmp_path / "a.png", with_palette=True), indices)
    with pytest.raises(FormatError, match="color image"):
        load_map(tmp_path / "a.png")


def test_what_is_no_map_says_so(tmp_path) -> None:
    Image.new("RGB", (4, 3)).save(tmp_path / "rgb.png")
    np.save(tmp_path / "cube.npy", np.zeros((2, 3, 4)))
    np.savez(tmp_path / "two.npz", a=DEPTH, b=DEPTH)
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "text.pfm").write_text("no map")
    (tmp_path / "short.pfm").write_bytes(b"Pf\n4 3\n-1.0\n" + b"\0" * 20)
    (tmp_path / "text.png").write_text("no picture")
    said = {}
    for one in sorted(tmp_path.iterdir()):
        with pytest.raises(FormatError) as caught:
            load_map(one)
        said[one.name] = str(caught.value)
    assert "color image (RGB)" in said["rgb.png"]
    assert "2×3×4 of float64" in said["cube.npy"]
    assert "it holds a, b" in said["two.npz"]
    assert "ends before its last pixel" in said["short.pfm"]


def test_folders_give_files_by_base_name(tmp_path) -> None:
    (tmp_path / "b").mkdir()
    np.save(tmp_path / "a.npy", DEPTH)
    np.save(tmp_path / "b" / "a.npy", DEPTH + 1)
    pfm(tmp_path / "a.pfm", DEPTH + 2)
    (tmp_path / "notes.txt").write_text("none")
    targets = FolderTargets(tmp_path, MAP_SUFFIXES, load_map)
    assert targets.base_names() == ("a", "b/a")
    np.testing.assert_array_equal(targets.read("a"), DEPTH)
    np.testing.assert_array_equal(targets.read("b/a"), DEPTH + 1)
    with pytest.raises(UsageError, match="no such folder"):
        FolderTargets(tmp_path / "c", MAP_SUFFIXES, load_map)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no file in it"):
        FolderTargets(tmp_path / "empty", MAP_SUFFIXES, load_map)


def written(path: Path, **changes: object) -> Path:
    content = {
        "images": [{"id": 5, "file_name": "val/a.jpg", "width": 20, "height": 10}],
        "annotations": [{"image_id": 5, "category_id": 7, "bbox": [1, 2, 3, 4]}],
        "categories": [{"id": 7, "name": "cat"}, {"id": 3, "name": "cup"}],
    }
    path.write_text(json.dumps(content | changes))
    return path


def test_categories_are_sorted_by_id_whatever_the_order_in_the_file(tmp_path) -> None:
    """A model that counts classes from 0 counts them in this order."""
    truth = CocoBoxes(written(tmp_path / "instances.json"))
    assert truth.base_names() == ("val/a",)
    known = truth.read("val/a")
    assert [(one.id, one.name) for one in known.categories] == [(3, "cup"), (7, "cat")]
    assert [one.bbox for one in known.boxes] == [(1, 2, 3, 4)]


def test_a_file_without_categories_is_refused(tmp_path) -> None:
    path = tmp_path / "instances.json"
    with pytest.raises(FormatError, match="images, annotations and categories"):
        CocoBoxes(written(path, categories=None))
