import math
from typing import Any

import numpy as np
import pytest
from PIL import Image

from enginescope.backends.base import InputSpec
from enginescope.core.errors import UsageError
from enginescope.records.run.sample_set import Preprocessing
from enginescope.records.tensor import DataType
from enginescope.runner.inputs.images import image_input, opencv_resized

RNG = np.random.default_rng(4)


def weight(distance: float, *, is_cubic: bool) -> float:
    x = abs(distance)
    if not is_cubic:
        return max(0.0, 1 - x)
    if x <= 1:
        return 1.25 * x**3 - 2.25 * x**2 + 1
    return -0.75 * x**3 + 3.75 * x**2 - 6 * x + 3 if x < 2 else 0.0


def written_out(values: Any, size: tuple[int, int], *, is_cubic: bool) -> Any:
    """Every pixel from its neighbors, one at a time."""
    height, width, _ = values.shape
    found = np.zeros((*size, values.shape[2]))
    for row in range(size[0]):
        y = (row + 0.5) * height / size[0] - 0.5
        for column in range(size[1]):
            x = (column + 0.5) * width / size[1] - 0.5
            for at in range(math.floor(y) - 1, math.floor(y) + 3):
                for to in range(math.floor(x) - 1, math.floor(x) + 3):
                    part = weight(y - at, is_cubic=is_cubic) * weight(x - to, is_cubic=is_cubic)
                    pixel = values[min(max(at, 0), height - 1), min(max(to, 0), width - 1)]
                    found[row, column] += part * pixel
    return found


@pytest.mark.parametrize("is_cubic", [True, False])
@pytest.mark.parametrize("size", [(5, 7), (23, 31), (11, 9)])
def test_pixels_are_those_of_the_formula(size: tuple[int, int], is_cubic: bool) -> None:
    values = RNG.integers(0, 256, (11, 9, 3))
    found = opencv_resized(values, size, is_cubic=is_cubic)
    np.testing.assert_allclose(found, written_out(values, size, is_cubic=is_cubic), atol=1e-4)


def test_inputs_are_made_of_them(tmp_path) -> None:
    pixels = RNG.integers(0, 256, (12, 10, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    spec = InputSpec(name="x", dtype=DataType.FP32, shape=(1, 3, 6, 5), type_text="float")
    made = image_input(tmp_path / "a.png", spec, Preprocessing(filter="opencv-bicubic"))
    wanted = written_out(pixels.astype(float), (6, 5), is_cubic=True) / 255
    np.testing.assert_allclose(made[0].transpose(1, 2, 0), wanted, atol=1e-5)
    whole = InputSpec(name="x", dtype=DataType.UINT8, shape=(1, 1, 6, 5), type_text="uint8")
    grey = image_input(tmp_path / "a.png", whole, Preprocessing(filter="opencv-bilinear"))
    assert grey.dtype == np.uint8
    with pytest.raises(UsageError, match="needs stretch"):
        image_input(tmp_path / "a.png", spec, Preprocessing(filter="opencv-bilinear", fit="crop"))
