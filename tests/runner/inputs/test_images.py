import numpy as np
import pytest

from enginescope.backends.base import InputSpec
from enginescope.core.errors import FormatError, UsageError
from enginescope.records.run.sample_set import Preprocessing
from enginescope.records.tensor import DataType
from enginescope.runner.inputs.images import image_input, rgb_pixels

pillow = pytest.importorskip("PIL.Image")


def spec(*shape, dtype=DataType.FP32) -> InputSpec:
    return InputSpec(name="image", dtype=dtype, shape=shape, type_text="tensor(float)")


@pytest.fixture
def picture(tmp_path):
    """Two rows of four pixels: red above, blue below."""
    pixels = np.zeros((2, 4, 3), np.uint8)
    pixels[0, :, 0] = 255
    pixels[1, :, 2] = 128
    path = tmp_path / "flag.png"
    pillow.fromarray(pixels).save(path)
    return path


def test_pictures_are_scaled_and_laid_out_as_the_input_is(picture) -> None:
    planes = image_input(picture, spec("n", 3, 2, 4), Preprocessing())
    assert planes.shape == (1, 3, 2, 4)
    assert (planes.dtype, planes[0, 0, 0].tolist()) == (np.float32, [1.0] * 4)
    assert planes[0, 2, 1] == pytest.approx(128 / 255)
    last = image_input(picture, spec(1, 2, 4, 3), Preprocessing(colours="bgr"))
    np.testing.assert_array_equal(last[0].transpose(2, 0, 1)[::-1], planes[0])
    how = Preprocessing(mean=(0.5, 0.0, 0.25), std=(0.5, 1.0, 0.25))
    found = image_input(picture, spec(1, 3, 2, 4), how)
    assert found[0, :, 0, 0] == pytest.approx([1.0, 0.0, -1.0])
    with pytest.raises(UsageError, match="2 values of mean"):
        image_input(picture, spec(1, 3, 2, 4), Preprocessing(mean=(0.5, 0.1)))
    found = image_input(picture, spec(1, 2, 4, 3, dtype=DataType.UINT8), Preprocessing())
    assert found[0, 0, 0].tolist() == [255, 0, 0]


@pytest.mark.parametrize(("fit", "top"), [("stretch", 1.0), ("crop", 1.0), ("pad", 0.0)])
def test_pictures_are_fitted(picture, fit, top) -> None:
    found = image_input(picture, spec(1, 3, 8, 8), Preprocessing(fit=fit, filter="nearest"))
    assert found.shape == (1, 3, 8, 8)
    assert found[0, 0, 0, 4] == top


def test_what_takes_no_pictures_says_why(picture, tmp_path) -> None:
    with pytest.raises(UsageError, match="2 dimensions"):
        image_input(picture, spec(1, 10), Preprocessing())
    with pytest.raises(UsageError, match="height and width are dynamic"):
        image_input(picture, spec(1, 3, "h", "w"), Preprocessing())
    sized = image_input(picture, spec(1, 3, "h", "w"), Preprocessing(size=(4, 6)))
    assert sized.shape == (1, 3, 4, 6)
    with pytest.raises(UsageError, match="no dimension"):
        image_input(picture, spec(1, 7, 8, 9), Preprocessing())
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(FormatError, match=r"text\.png"):
        image_input(tmp_path / "text.png", spec(1, 3, 2, 4), Preprocessing())
    pillow.fromarray(np.array([[0.0, 900.5]], np.float32)).save(tmp_path / "depth.tif")
    with pytest.raises(FormatError, match="32-bit numbers"):
        image_input(tmp_path / "depth.tif", spec(1, 1, 1, 2), Preprocessing())


@pytest.mark.parametrize("name", ["gray.png", "gray.tif", "gray.pgm"])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("resize", ["nearest", "opencv-bilinear"])
def test_sixteen_bit_gray_is_scaled_and_not_clipped(tmp_path, name, channels, resize) -> None:
    pixels = np.array([[0, 255, 256], [4_660, 32_768, 65_535]], np.uint16)
    pillow.fromarray(pixels).save(tmp_path / name)
    how = Preprocessing(filter=resize)
    found = image_input(tmp_path / name, spec(1, channels, 2, 3), how)
    assert found.shape == (1, channels, 2, 3)
    for plane in found[0, :3]:
        np.testing.assert_allclose(plane, pixels / 65_535, atol=1e-6)
    if channels == 4:
        assert (found[0, 3] == 1).all()
    rounded = image_input(tmp_path / name, spec(1, 1, 2, 3, dtype=DataType.UINT8), how)
    np.testing.assert_array_equal(rounded[0, 0], np.rint(pixels / 257))
    shown = rgb_pixels(tmp_path / name)
    assert shown.dtype == np.uint8
    np.testing.assert_array_equal(shown[:, :, 2], np.rint(pixels / 257))


@pytest.mark.parametrize("fit", ["crop", "pad"])
def test_sixteen_bit_gray_is_fitted(tmp_path, fit) -> None:
    pillow.fromarray(np.full((4, 8), 65_535, np.uint16)).save(tmp_path / "white.png")
    found = image_input(tmp_path / "white.png", spec(1, 3, 8, 8), Preprocessing(fit=fit))
    assert found[0, :, 4, 4].tolist() == [1.0] * 3
    assert found[0, 0, 0, 4] == (0.0 if fit == "pad" else 1.0)
