"""What honest conversions and broken ones come to, for every tolerance that is shipped."""

import numpy as np
import pytest

from enginescope.analysis.accuracy.binding_check import Bindings, OutputPairing, binding_differences
from enginescope.analysis.accuracy.output_diff import farthest_by_output
from enginescope.analysis.errors import output_tolerance
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.records.suite.suite import Checking
from enginescope.records.tensor import DataType, Tensor
from tests.analysis.answers import codes, cross_wave, limits, side, tensor, wave

#: What rounding in each precision costs a deep network: RMSE ÷ spread, as measured or above it.
HONEST = {"fp32": 3e-6, "tf32": 4e-3, "fp16": 4e-3, "bf16": 0.03, "int8": 0.11, "fp8": 0.1}


def scores(samples: int = 4, shape=(1, 1000)):
    """Outputs that resemble each other, as those of one model do."""
    generator = np.random.default_rng(0)
    common = generator.standard_normal(shape)
    own = [0.5 * generator.standard_normal(shape) for _ in range(samples)]
    return [(2.6 * (common + one)).astype(np.float32) for one in own]


@pytest.mark.parametrize("name", list(output_tolerance.TOLERANCES))
def test_the_same_answers_pass_and_a_scaled_constant_fails(name) -> None:
    reference = np.full((1, 64), 0.7, np.float32)
    assert not side([reference], [(1.01 * reference).astype(np.float32)], name).passes
    reference = scores(4)
    found = side(reference, [a.copy() for a in reference], name)
    assert found.passes
    assert found.outputs[0].figures.max_abs_error == 0
    assert found.outputs[0].ranks.top1_pct == 100


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
    assert side([a], [b], limits("int8", mismatch_pct=1.0)).passes
    assert side([a], [b], limits("int8", atol=1.0)).passes
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
    noise = np.random.default_rng(9).uniform(reference[0].min(), reference[0].max(), (1, 1000))
    found = side(reference, [noise], limits(atol=20.0))
    assert found.passes
    assert "W-TOLERANCE-LOOSE" in {one.code for one in found.outputs[0].notices}
    assert side(reference, reference, limits(atol=1e-3)).outputs[0].notices == ()
    broken = reference[0].copy()
    broken[0, 17] = np.nan
    found = side(reference, [broken], limits("fp4", atol=1e9, mismatch_pct=1e9))
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
    candidate[1][0, 0, 0, 0] = np.nan  # graver than any error
    samples = side(reference, candidate, "int8").samples
    assert [one.sample for one in farthest_by_output(samples)] == [1]


def test_tolerances_are_read_with_names_and_equal_bindings_have_no_differences() -> None:
    assert output_tolerance.parse_tolerance("1e-3") == output_tolerance.ToleranceOption(
        output=None, value=1e-3
    )
    for text, value in (("a:0:2", 2.0), ("a:0:0", 0.0)):
        option = output_tolerance.ToleranceOption(output="a:0", value=value)
        assert output_tolerance.parse_tolerance(text) == option
    for text in ("x", "-1", "nan", "inf", ":1", "scores:"):
        with pytest.raises(UsageError):
            output_tolerance.parse_tolerance(text)
    options = [
        output_tolerance.ToleranceOption(output=name, value=value)
        for name, value in (("y", 0.5), (None, 0.1))
    ]
    of_all = {"rtol": tuple(options[1:]), "mismatch_pct": tuple(options[1:])}
    asked = output_tolerance.request_of(Checking(rtol=0.1, mismatch_pct=0.1))
    assert asked == output_tolerance.ToleranceRequest(**of_all)
    asked = output_tolerance.ToleranceRequest(rtol=tuple(options))
    base = output_tolerance.tolerance_named("fp32")
    assert output_tolerance.tolerance_for("y", base, asked).rtol == 0.5
    assert output_tolerance.tolerance_for("x", base, asked).rtol == 0.1
    assert output_tolerance.widest(["fp32", "int8", "fp16"]) == "int8"
    with pytest.raises(UsageError, match="fp17"):
        output_tolerance.tolerance_named("fp17")
    reference, side = (bindings(DataType.FP32, one) for one in (DataType.FP32, DataType.INT64))
    (found,) = binding_differences(reference, side)
    assert (found.role, found.what, found.blocks) == ("output", "type", False)
    assert binding_differences(bindings(DataType.FP32), bindings(DataType.FP32)) == ()
    reference = bindings(DataType.FP32)
    wide = replace(reference.outputs[0], shape=(1, 4))
    side = Bindings(inputs=(), outputs=(wide, replace(wide, name="z")))
    differences = [(one.name, one.what) for one in binding_differences(reference, side)]
    assert differences == [("x", "missing"), ("y", "shape"), ("z", "extra")]
    pairing = OutputPairing()
    given = [tensor(wave(50), "a"), tensor(cross_wave(50), "b")]
    pairing.add(given, [tensor(wave(50) + 0.1, "A"), tensor(cross_wave(50), "B")])
    assert {(one.side, one.reference) for one in pairing.pairs()} == {("A", "a"), ("B", "b")}


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
