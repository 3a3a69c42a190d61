"""Memory layouts against their definition, element by element."""

import numpy as np
import pytest

from enginescope.backends.tensorrt.run.engine import from_memory, is_known, to_memory

SHAPE = (2, 5, 3, 4)
VALUES = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE) + 1
DEEP = np.arange(2 * 5 * 2 * 3 * 2, dtype=np.float32).reshape(2, 5, 2, 3, 2) + 1


@pytest.mark.parametrize(("layout", "width"), [("HWC", 5), ("HWC8", 8), ("HWC16", 16)])
def test_channels_last(layout, width) -> None:
    memory = to_memory(VALUES, layout).ravel()
    assert memory.size == 2 * 3 * 4 * width
    for n, c, h, w in np.ndindex(SHAPE):
        assert memory[((n * 3 + h) * 4 + w) * width + c] == VALUES[n, c, h, w]
    assert memory.sum() == VALUES.sum()  # padding is zero


@pytest.mark.parametrize("width", [2, 4, 16, 32])
def test_channels_in_vectors(width) -> None:
    memory = to_memory(VALUES, f"CHW{width}").ravel()
    groups = -(-5 // width)
    assert memory.size == 2 * groups * 3 * 4 * width
    for n, c, h, w in np.ndindex(SHAPE):
        group, place = divmod(c, width)
        assert (
            memory[(((n * groups + group) * 3 + h) * 4 + w) * width + place] == VALUES[n, c, h, w]
        )
    assert memory.sum() == VALUES.sum()


def test_a_volume_has_its_channels_before_the_depth() -> None:
    memory = to_memory(DEEP, "DHWC8").ravel()
    vectors = to_memory(DEEP, "CDHW32").ravel()
    for n, c, d, h, w in np.ndindex(DEEP.shape):
        place = ((n * 2 + d) * 3 + h) * 2 + w
        assert memory[place * 8 + c] == DEEP[n, c, d, h, w]
        assert vectors[place * 32 + c] == DEEP[n, c, d, h, w]


@pytest.mark.parametrize(
    "layout", ["LINEAR", "HWC", "HWC8", "HWC16", "CHW2", "CHW4", "CHW16", "CHW32"]
)
def test_there_and_back(layout) -> None:
    assert is_known(layout)
    again = from_memory(to_memory(VALUES, layout).ravel(), SHAPE, layout)
    np.testing.assert_array_equal(again, VALUES)


@pytest.mark.parametrize("layout", ["DHWC", "DHWC8", "CDHW32"])
def test_there_and_back_with_a_depth(layout) -> None:
    again = from_memory(to_memory(DEEP, layout).ravel(), DEEP.shape, layout)
    np.testing.assert_array_equal(again, DEEP)


def test_what_is_not_known_stays_as_it_is() -> None:
    assert not is_known("DLA_HWC4")
    assert to_memory(VALUES, "DLA_HWC4") is VALUES
