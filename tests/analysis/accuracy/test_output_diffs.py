"""What the comparison of an output reports beside its limits: figures, samples, warnings."""

from typing import Any

import numpy as np
import pytest

from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.accuracy.output_diff import OutputDiff, OutputReason, SideDiff
from enginescope.analysis.errors.output_tolerance import tolerance_named
from enginescope.judge.notice import Notice
from enginescope.records.tensor import DataType
from tests.analysis.answers import codes, cross_wave, limits, side, tensor, wave


def compared(*samples: tuple[list[Any], list[Any]]) -> SideDiff:
    return side(*([tuple(one) for one in every] for every in zip(*samples, strict=True)), "fp16")


def warning(code: str, message: str, **evidence: Any) -> Notice:
    return Notice(code=code, message=message, evidence=evidence)


def notices(output: OutputDiff) -> dict[str, Notice]:
    return {notice.code: notice for notice in output.notices}


def test_the_output_has_its_types_shapes_and_counts() -> None:
    reference = [wave(4, 10), wave(3, 10), wave(4, 10)]
    candidate = [values.copy() for values in reference]
    candidate[1][0, :5] += 1
    found = side(reference, candidate, "fp16")
    (output,) = found.outputs
    assert found.label == "B"
    assert (output.reference_dtype, output.dtype) == (DataType.FP64, DataType.FP64)
    assert output.shapes == ((4, 10), (3, 10))
    assert (output.samples, output.tolerance) == (3, tolerance_named("fp16"))
    assert (output.zero_errors, sum(output.errors)) == (105, 5)
    assert (sum(output.ulps), output.figures.elements) == (110, 110)
    assert all(type(count) is int for count in (*output.errors, *output.ulps))
    assert side([np.arange(9)], [np.arange(9)], "fp16").outputs[0].ulps == ()
    assert side([wave(8)], [wave(8).astype(np.float32)], "fp16").outputs[0].ulps == ()
    arrays = [wave(count) for count in range(2, 30)]
    assert side(arrays, arrays, "fp16").outputs[0].shapes == tuple((n,) for n in range(2, 18))
    (output,) = side([wave(8)], [wave(8) + 0.5], "fp16").outputs
    assert output.figures.rmse == pytest.approx(0.5)
    assert (sum(output.errors), sum(output.ulps)) == (8, 8)


def test_each_sample_has_its_own_figures_and_reason() -> None:
    found = compared(
        ([tensor(wave(2, 50))], [tensor(wave(2, 50))]),
        ([tensor(wave(3, 50))], [tensor(wave(3, 50) + 0.5)]),
        ([tensor(wave(50))], []),
        ([], [tensor(wave(2, 9))]),
        ([tensor(wave(50))], [tensor(wave(49))]),
    )
    assert [(one.sample, one.name, one.output, one.shape, one.reason) for one in found.samples] == [
        (0, "sample 0", "y", (2, 50), None),
        (1, "sample 1", "y", (3, 50), "error"),
        (2, "sample 2", "y", (50,), "missing"),
        (3, "sample 3", "y", (2, 9), "extra"),
        (4, "sample 4", "y", (50,), "shape"),
    ]
    assert [one.figures and one.figures.elements for one in found.samples] == [
        100, 150, None, None, None,
    ]  # fmt: skip
    assert found.samples[1].figures.rmse == pytest.approx(0.5)
    (output,) = found.outputs
    assert output.samples == 2
    assert {"missing", "extra", "shape", "error"} <= codes(found)
    found = compared(([tensor(np.arange(5))], [tensor(np.arange(5) + 1)]))
    assert found.samples[0].reason == "unequal"
    assert compared(([tensor(wave(50))], [tensor(wave(50) * 1.001)])).samples[0].reason is None


def test_an_output_of_one_side_alone_has_no_figures_and_keeps_its_types() -> None:
    found = compared(
        ([tensor(wave(4), "lost")], [tensor(wave(4).astype(np.float32), "new")]),
        ([tensor(wave(4), "lost")], [tensor(wave(4).astype(np.float32), "new")]),
    )
    lost, new = found.outputs
    for output, reason in (
        (lost, ("missing", "this side has no output lost")),
        (new, ("extra", "the reference has no output new")),
    ):
        code, message = reason
        assert output.reasons == (OutputReason(code=code, message=message, evidence={"sample": 0}),)
        assert (output.samples, output.figures, output.errors, output.ulps) == (0, None, (), ())
        assert (output.channels, output.astray, output.told_apart) == (None, None, None)
        assert output.notices == ()
    assert (lost.reference_dtype, lost.dtype) == (DataType.FP64, None)
    assert (new.reference_dtype, new.dtype) == (None, DataType.FP32)
    pair = ([tensor(wave(4))], [tensor(wave(4).astype(np.float32))])
    lacks_candidate = compared(pair, ([tensor(wave(4))], [])).outputs[0]
    for output in (lacks_candidate, compared(pair, ([], pair[1])).outputs[0]):
        assert (output.reference_dtype, output.dtype) == (DataType.FP64, DataType.FP32)


@pytest.mark.parametrize(
    ("reference", "candidate", "text"),
    [
        (np.zeros((2, 3)), np.zeros((3, 2)), "3×2, 2×3 in the reference (sample 0)"),
        (np.zeros(1), np.float64(0), "a scalar, 1 in the reference (sample 0)"),
    ],
)
def test_another_shape_is_named_beside_the_references(reference, candidate, text) -> None:
    (reason,) = side([reference] * 2, [candidate] * 2, "fp16").outputs[0].reasons
    evidence = {"sample": 0, "shape": [*candidate.shape], "reference": [*reference.shape]}
    assert reason == OutputReason(code="shape", message=text, evidence=evidence)


def test_another_kind_of_type_is_a_reason_and_another_width_a_warning() -> None:
    values = np.ones(4, np.float32)
    text, evidence = "INT64, FP32 in the reference", {"dtype": "INT64", "reference": "FP32"}
    reasons = side([values], [values.astype(np.int64)], "fp16").outputs[0].reasons
    assert reasons == (OutputReason(code="type", message=text, evidence=evidence),)
    (output,) = side([wave(8)], [wave(8).astype(np.float16)], "fp16").outputs
    text = "y is FP16, FP64 in the reference; compared by value"
    assert output.notices == (warning("W-OUTPUT-TYPE", text, dtype="FP16", reference="FP64"),)


def test_changed_best_classes_are_a_warning() -> None:
    reference = np.tile([0.0, 1, 2, 3, 4, 5], (2000, 1))
    candidate = reference.copy()
    candidate[:1200, 0] = 5.01
    (output,) = side([reference], [candidate], "fp16").outputs
    text = "y: the best class differs in 1,200 of 2,000 items"
    wanted = warning("W-BEST-CLASS", text, top1=800, top5=2000, items=2000)
    assert notices(output)["W-BEST-CLASS"] == wanted
    assert "W-BEST-CLASS" not in notices(side([reference], [reference], "fp16").outputs[0])


@pytest.mark.parametrize(
    ("count", "row", "text"),
    [
        (1, "int8", "y has 1 element over all samples"),
        (3, "int8", "y has 3 elements over all samples"),
        (4, "int8", None),
        (3, "fp32", None),
    ],
)
def test_few_elements_are_a_warning_where_the_limits_are_wide(count, row, text) -> None:
    """FP32 allows no more than the factor that is taken for a wrong scale."""
    values = np.arange(1.0, count + 1)
    notice = notices(side([values], [values], row).outputs[0]).get("W-FEW-ELEMENTS")
    advice = "a wrong scale looks like rounding; more samples distinguish them"
    assert notice == (text and warning("W-FEW-ELEMENTS", f"{text}: {advice}", elements=count))


def test_values_are_compared_where_the_type_resolves_them() -> None:
    (output,) = side([np.zeros((0, 4))], [np.zeros((0, 4))], "int8").outputs
    assert set(notices(output)) == {"W-NOTHING-COMPARED"}
    values = np.array([np.nan, 1.0, 2.0, 3.0, 4.0])
    assert "W-NOTHING-COMPARED" not in notices(side([values], [values], "fp16").outputs[0])
    # Their range is their own, so that FP16 resolves them.
    values = -1e-6 + 1e-9 * wave(400)
    (output,) = side([values], [values + 1e-10 * cross_wave(400)], "fp16").outputs
    assert output.passes
    assert output.notices == ()
    values, error = 1e-4 * (2 + wave(400)), 5e-6 * cross_wave(400)
    (alone,) = side([values], [values + error], "fp16").outputs
    assert [reason.code for reason in alone.reasons] == ["nothing-compared"]
    (output,) = side([values], [values + error], "fp16", [values - error]).outputs
    assert output.passes
    assert output.notices == ()


@pytest.mark.parametrize(("count", "expected"), [(1, False), (2, True), (50, True)])
def test_a_constant_output_is_a_warning(count, expected) -> None:
    values = np.full(count, 0.7)
    notice = notices(side([values], [values], "fp32").outputs[0]).get("W-CONSTANT-OUTPUT")
    text = (
        "y has one value in every element of every sample of the reference: inputs do not reach "
        "it, and agreement shows little"
    )
    assert notice == (warning("W-CONSTANT-OUTPUT", text, elements=count) if expected else None)


def test_a_constant_is_a_warning_if_the_reference_has_a_type_of_fractions() -> None:
    values = np.full(50, 3)
    assert side([values], [values], "fp32").outputs[0].notices == ()
    varied = [np.full(50, 0.5), wave(50)]
    assert side(varied, varied, "fp32").outputs[0].notices == ()
    wide, narrow = np.full(50, 0.5), np.full(50, 0.5, np.float32)
    reference, candidate = tensor(wide), tensor(narrow, dtype=DataType.FP8)
    (output,) = compared(([reference], [candidate])).outputs
    assert "W-CONSTANT-OUTPUT" in notices(output)
    (output,) = compared(([candidate], [reference])).outputs
    assert "W-CONSTANT-OUTPUT" not in notices(output)


@pytest.mark.parametrize(
    ("count", "atol", "warns"),
    [(1000, 2.0, True), (1000, 1.9, False), (8, 2.0, True), (7, 2.0, False)],
)
def test_a_tolerance_that_passes_another_order_is_a_warning(count, atol, warns) -> None:
    values = np.append(wave(count - 1), 0.5)
    values[: count // 2] = 1.0
    values[count // 2 :] = -1.0
    notice = notices(side([values], [values], limits("fp16", atol=atol)).outputs[0]).get(
        "W-TOLERANCE-LOOSE"
    )
    text = (
        "the tolerance given for y would also pass the reference with its elements in another "
        "order: it shows nothing"
    )
    assert notice == (warning("W-TOLERANCE-LOOSE", text, control_mismatched=0) if warns else None)


def test_a_share_of_mismatches_that_another_order_has_is_a_warning() -> None:
    values = np.zeros(1000)
    values[:30] = 5.0  # 60 elements differ from those half the tensor away
    for share, warns in ((6.0, True), (5.9, False)):
        loose = limits("fp16", atol=1.0, mismatch_pct=share)
        assert ("W-TOLERANCE-LOOSE" in notices(side([values], [values], loose).outputs[0])) is warns
    strict, values = limits("fp16", atol=1.0), np.full(50, 0.7)
    assert set(notices(side([values], [values], strict).outputs[0])) == {"W-CONSTANT-OUTPUT"}
    values = np.zeros(1000)
    values[0] = 5.0
    assert side([values], [values], strict).outputs[0].notices == ()


ODD = np.array([[np.nan, -np.inf] * 4])


@pytest.mark.parametrize(
    ("reference", "candidate", "text"),
    [
        (np.zeros((0, 4)), np.zeros((0, 4)), "y is empty in every sample"),
        (ODD, ODD, "y is NaN or infinite in every element, on both sides"),
        (
            np.linspace(1e-9, 4e-9, 100),
            np.full(100, 2.5e-9),
            "every value of y is below what FP16 resolves (1e-09 … 4e-09)",
        ),
    ],
)
def test_an_output_that_shows_nothing_fails_and_says_why(reference, candidate, text) -> None:
    (output,) = side([reference], [candidate], "fp16").outputs
    assert output.reasons == (OutputReason(code="nothing-compared", message=text),)
    wanted = warning("W-NOTHING-COMPARED", f"{text}: nothing was compared", elements=reference.size)
    assert notices(output)["W-NOTHING-COMPARED"] == wanted
    allowed = side([reference], [candidate], "fp16", allow_nothing=True)
    assert allowed.passes
    assert "W-NOTHING-COMPARED" in notices(allowed.outputs[0])


def test_each_output_has_the_tolerance_of_its_name_without_limits_by_channel() -> None:
    values = np.repeat(wave(200)[:, None], 3, axis=1)
    channels = side([values], [values + 0.25], limits("fp16", atol=0.5)).outputs[0].channels
    assert (channels.rmse, channels.rmse_limit) == (pytest.approx((0.25,) * 3), ())
    (output,) = side([values], [values], "int8").outputs
    assert output.channels.rmse_limit == pytest.approx((0.45,) * 3)
    rows = {"boxes": tolerance_named("int8"), "scores": tolerance_named("fp16")}
    comparison = SideComparison("B", rows.__getitem__)
    outputs = [tensor(wave(9), name) for name in rows]
    comparison.add(0, "s", outputs, outputs[::-1])
    found = comparison.result().outputs
    assert {one.name: one.tolerance.name for one in found} == {"boxes": "int8", "scores": "fp16"}


def test_samples_are_counted_where_another_could_be_told_apart() -> None:
    same = [wave(50)] * 3
    (output,) = side(same, same, "fp16").outputs
    assert (output.astray, output.told_apart) == (None, None)
    other = [wave(50), cross_wave(50)]
    for samples in (other, [np.stack(other)]):  # items of a batch are samples
        (output,) = side(samples, samples, "fp16").outputs
        assert (output.astray, output.told_apart) == (0, 2)
