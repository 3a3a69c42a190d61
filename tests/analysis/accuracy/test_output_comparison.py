"""What honest conversions and broken ones come to, for every tolerance that is shipped."""

import numpy as np
import pytest

from enginescope.analysis.accuracy.binding_check import Bindings, binding_differences
from enginescope.analysis.errors.output_tolerance import (
    TOLERANCES,
    ToleranceOption,
    ToleranceRequest,
    parse_tolerance,
    tolerance_for,
    tolerance_named,
    widest,
)
from enginescope.core.errors import UsageError
from enginescope.records.tensor import DataType, Tensor
from tests.analysis.answers import codes, side

SHIPPED = tuple(TOLERANCES)
#: What rounding in each precision costs a deep network: RMSE ÷ spread, as measured or above it.
HONEST = {"fp32": 3e-6, "tf32": 4e-3, "fp16": 4e-3, "bf16": 0.03, "int8": 0.11, "fp8": 0.1}


def scores(samples: int = 4, shape=(1, 1000), offset: float = 0.0, seed: int = 0):
    """Outputs that resemble each other, as those of one model do."""
    generator = np.random.default_rng(seed)
    common = generator.standard_normal(shape)
    own = [0.5 * generator.standard_normal(shape) for _ in range(samples)]
    return [(2.6 * (common + one) + offset).astype(np.float32) for one in own]


def noise_like(arrays, seed: int = 9):
    generator = np.random.default_rng(seed)
    return [generator.uniform(a.min(), a.max(), a.shape).astype(a.dtype) for a in arrays]


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("samples", [1, 4])
@pytest.mark.parametrize("factor", [1.01, 1 / 1.01])
def test_a_scale_of_one_percent_is_named(name, samples, factor) -> None:
    reference = scores(samples)
    found = side(reference, [(factor * a).astype(np.float32) for a in reference], name)
    assert codes(found) & {"slope", "systematic-scale"}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_same_answers_pass_and_a_scaled_constant_and_swapped_halves_fail(name) -> None:
    reference = np.full((1, 64), 0.7, np.float32)
    assert not side([reference], [(1.01 * reference).astype(np.float32)], name).passes
    reference = scores(1)
    assert not side(reference, [np.roll(reference[0], 500)], name).passes
    batch = scores(1, shape=(4, 50))
    assert not side(batch, [batch[0][[1, 0, 3, 2]]], name).passes
    reference = scores(4)
    found = side(reference, [a.copy() for a in reference], name)
    assert found.passes
    assert found.outputs[0].figures.max_abs_error == 0
    assert found.outputs[0].ranks.top1_pct == 100


@pytest.mark.parametrize("name", SHIPPED)
def test_swapped_samples_fail(name) -> None:
    """Though the outputs differ by less than what INT8 may."""
    generator = np.random.default_rng(3)
    common = generator.standard_normal((1, 1000))
    reference = [
        (common + 0.03 * generator.standard_normal((1, 1000))).astype(np.float32) for _ in range(6)
    ]
    for order in ((1, 0, 3, 2, 5, 4), (1, 2, 3, 4, 5, 0), (5, 0, 1, 2, 3, 4), (0, 1, 3, 2, 4, 5)):
        found = side(reference, [reference[at] for at in order], name)
        assert "other-samples" in codes(found), order


@pytest.mark.parametrize(("name", "size"), HONEST.items())
def test_rounding_of_its_own_precision_passes_and_of_a_coarser_one_does_not(name, size) -> None:
    reference, generator = scores(4), np.random.default_rng(5)

    def rounded(part):
        return [
            (a + part * a.std() * generator.standard_normal(a.shape)).astype(np.float32)
            for a in reference
        ]

    assert side(reference, rounded(size), name).passes
    assert not side(reference, rounded(max(20 * size, 2e-3)), name).passes


def test_integers_must_be_equal_and_ties_are_no_change() -> None:
    a = np.arange(100)
    b = a.copy()
    b[7] += 1
    assert codes(side([a], [b], "int8")) == {"unequal"}
    one = (ToleranceOption(output="y", value=1.0),)
    by_share = tolerance_for("y", tolerance_named("int8"), ToleranceRequest(mismatch_pct=one))
    assert side([a], [b], by_share).passes
    by_size = tolerance_for("y", tolerance_named("int8"), ToleranceRequest(atol=one))
    assert side([a], [b], by_size).passes
    assert codes(side([a > 50], [b > 6], "int8")) == {"unequal"}
    assert side([np.float32(2)], [np.float32(2)], "fp32").passes
    assert not side([np.float32(2)], [np.float32(2.03)], "fp16").passes
    empty = np.zeros((0, 4), np.float32)
    assert codes(side([empty], [empty], "fp32")) == {"nothing-compared"}
    assert side([empty, np.ones((3, 4))], [empty, np.ones((3, 4))], "fp32").passes
    assert codes(side([empty], [np.zeros((1, 4), np.float32)], "fp32")) == {"shape"}
    a = np.array([[1, 3, 3, 0, 0, 0]], np.float32)
    b = np.array([[1, 3, 3.0001, 0, 0, 0]], np.float32)
    ranks = side([a], [b], "fp16").outputs[0].ranks
    assert (ranks.rows, ranks.top1, ranks.top5) == (1, 1, 1)
    worse = np.array([[9, 0, 1, 0, 0, 0]], np.float32)
    assert side([a], [worse], "fp16").outputs[0].ranks.top1 == 0


def test_a_given_tolerance_takes_the_place_of_the_defaults_but_for_nan() -> None:
    reference = scores(1)
    twenty = (ToleranceOption(output=None, value=20.0),)
    loose = tolerance_for("y", tolerance_named("fp32"), ToleranceRequest(atol=twenty))
    found = side(reference, noise_like(reference), loose)
    assert found.passes
    assert "W-TOLERANCE-LOOSE" in {one.code for one in found.outputs[0].notices}
    tight = (ToleranceOption(output=None, value=1e-3),)
    sound = tolerance_for("y", tolerance_named("fp32"), ToleranceRequest(atol=tight))
    assert side(reference, reference, sound).outputs[0].notices == ()
    broken = reference[0].copy()
    broken[0, 17] = np.nan
    twenty = (ToleranceOption(output=None, value=1e9),)
    loose = tolerance_for(
        "y", tolerance_named("fp4"), ToleranceRequest(atol=twenty, mismatch_pct=twenty)
    )
    found = side(reference, [broken], loose)
    assert codes(found) == {"not-finite"}
    assert "[0, 17] of sample 0" in found.outputs[0].reasons[0].message


def test_the_worst_sample_and_channel_are_found() -> None:
    reference = scores(5, shape=(1, 8, 6, 6))
    candidate = [a.copy() for a in reference]
    candidate[3][0, 5] += 0.5
    found = side(reference, candidate, "int8")
    assert found.worst.sample == 3
    channels = found.outputs[0].channels
    assert (channels.axis, int(np.argmax(channels.rmse))) == (1, 5)
    assert channels.max_abs_error[5] == pytest.approx(0.5, rel=1e-5)
    assert found.outputs[0].figures.max_abs_sample == 3


def test_tolerances_are_read_with_names_and_equal_bindings_have_no_differences() -> None:
    assert parse_tolerance("1e-3") == ToleranceOption(output=None, value=1e-3)
    assert parse_tolerance("a:0:2") == ToleranceOption(output="a:0", value=2.0)
    for text in ("x", "-1", "nan", "inf", ":1", "scores:"):
        with pytest.raises(UsageError):
            parse_tolerance(text)
    asked = ToleranceRequest(
        rtol=(ToleranceOption(output="y", value=0.5), ToleranceOption(output=None, value=0.1))
    )
    base = tolerance_named("fp32")
    assert tolerance_for("y", base, asked).rtol == 0.5
    assert tolerance_for("x", base, asked).rtol == 0.1
    assert widest(["fp32", "int8", "fp16"]) == "int8"
    with pytest.raises(UsageError, match="fp17"):
        tolerance_named("fp17")
    reference, side = (bindings(DataType.FP32, one) for one in (DataType.FP32, DataType.INT64))
    (found,) = binding_differences(reference, side)
    assert (found.role, found.what, found.blocks) == ("output", "type", False)
    assert binding_differences(bindings(DataType.FP32), bindings(DataType.FP32)) == ()


# Differences of two models' inputs and outputs, and which of them stop a comparison.


def bindings(given: DataType | None, returned: DataType | None = DataType.FP32) -> Bindings:
    return Bindings(
        inputs=(Tensor(name="x", dtype=given, shape=(1, 3)),),
        outputs=(Tensor(name="y", dtype=returned, shape=(1, 3)),),
    )


@pytest.mark.parametrize(
    ("reference", "side", "blocks"),
    [
        (DataType.FP32, DataType.FP16, False),  # the same values, rounded
        (DataType.INT64, DataType.INT32, False),
        (DataType.FP32, DataType.INT64, True),
        (DataType.FP32, None, True),
    ],
)
def test_an_input_of_another_type_blocks_only_if_its_kind_differs(reference, side, blocks) -> None:
    (found,) = binding_differences(bindings(reference), bindings(side))
    assert (found.role, found.name, found.what) == ("input", "x", "type")
    assert found.blocks is blocks
