from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.answers import codes, side

REFERENCE = np.random.default_rng(0).standard_normal((3, 8, 40, 40)).astype(np.float32)


def eight_bits(values: np.ndarray) -> np.ndarray:
    step = np.abs(values).max() / 127
    return (step * np.rint(values / step)).astype(np.float32)


@pytest.mark.parametrize("row", ["fp64", "fp32", "tf32", "fp16", "bf16"])
def test_eight_bits_are_too_few_values_for_a_finer_row(row) -> None:
    found = side(list(REFERENCE[:, None]), list(eight_bits(REFERENCE)[:, None]), row)
    assert "few-values" in codes(found)
    (reason,) = (r for o in found.outputs for r in o.reasons if r.code == "few-values")
    assert reason.evidence["values"] <= 255


def test_eight_bits_are_enough_for_int8() -> None:
    assert side([REFERENCE], [eight_bits(REFERENCE)], "int8").passes


@pytest.mark.parametrize("values", [np.round(REFERENCE * 50) / 50, np.tile([0.5, 2.0], 4000)])
def test_a_reference_of_few_values_asks_for_no_more(values) -> None:
    assert side([values], [values], "fp16").passes


def test_bf16_has_few_values_in_a_narrow_range() -> None:
    narrow = np.random.default_rng(1).uniform(4, 8, (1, 20_000)).astype(np.float32)
    bits = (narrow.view(np.uint32) + 0x8000) & np.uint32(0xFFFF0000)
    assert side([narrow], [bits.view(np.float32)], "bf16").passes


def test_samples_are_counted_together() -> None:
    """Each sample has few values, but others than the next."""
    samples = [np.linspace(at, at + 1, 200)[None] for at in range(20)]
    assert side(samples, samples, "fp16").passes
