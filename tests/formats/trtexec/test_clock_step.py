import numpy as np
import pytest

from enginescope.formats.trtexec.exported_times import clock_step_ms, on_the_clock


def printed(values: np.ndarray) -> np.ndarray:
    return np.array([float(f"{value:.6g}") for value in values])


@pytest.mark.parametrize("power", [10, 11, 12, 14])
def test_the_step_of_printed_floats(power) -> None:
    ticks = np.random.default_rng(1).integers(600, 640, 400)
    exact = ticks * 2.0**-power
    assert clock_step_ms(printed(exact)) == 2.0**-power
    np.testing.assert_array_equal(on_the_clock(printed(exact)), exact)


def test_the_end_of_the_run_decides() -> None:
    rng = np.random.default_rng(2)
    early = rng.integers(2000, 2100, 300) * 2.0**-14
    late = rng.integers(500, 530, 300) * 2.0**-12
    assert clock_step_ms(printed(np.concatenate([early, late]))) == 2.0**-12


def test_no_step_shows() -> None:
    values = np.random.default_rng(3).normal(4.0, 0.1, 500)
    assert clock_step_ms(values) is None
    np.testing.assert_array_equal(on_the_clock(values), values)


@pytest.mark.parametrize("values", [[], [0.5] * 100, [0.0] * 100, [0.25, 0.5, 0.75]])
def test_too_little_to_tell(values) -> None:
    assert clock_step_ms(np.array(values)) is None


def test_six_digits_are_coarser_than_any_step() -> None:
    values = np.random.default_rng(4).integers(10**5, 10**6, 200).astype(float)
    assert clock_step_ms(values * 1e3) is None or clock_step_ms(values * 1e3) == 1.0
