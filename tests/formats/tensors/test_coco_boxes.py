import json
from pathlib import Path

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.tensors.target_files import CocoBoxes


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
