import json

import msgspec
import pytest

from enginescope.analysis.bisection import precision_proposals
from enginescope.analysis.bisection.error_growth import BeyondRange, Bisected, started
from enginescope.core.record import replace
from enginescope.judge.samples import Interval
from enginescope.render.base.text import answer_lines, as_text, label_row
from enginescope.render.bisection.bisect_answer import (
    bisect_data,
    error_growth,
    growth_row,
    inside_part,
    precision_data,
    precision_part,
    start_text,
    suggestion_text,
    why_text,
)
from enginescope.render.html.answer_page import Part
from tests.analysis.bisection.test_precision_proposals import bisected, error


def overflown() -> Bisected:
    return bisected(
        error("a", 1e-3),
        error("b", 0.5, over=True, peak=122_070.0, nan=2),
        error("c", 0.3, over=True),
        error("d", 0.2, over=True),
    )


def text(part: Part, width: int) -> str:
    lines = [label_row(part.label, part.answer), *answer_lines(part, width)]
    return "".join(as_text(one, width=width) for one in lines)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_screen_has_the_start_its_cause_and_what_follows(width) -> None:
    shown = text(inside_part(overflown(), "s"), width)
    assert max(map(len, shown.splitlines())) <= width
    for words in ("starts at  side/b (Relu), tensor b_out", "122,070", "65,504", "not finite"):
        assert words in shown
    assert ("|reference|" in shown) == (width >= 80)


def test_each_cause_has_its_words() -> None:
    fine = error("a", 1e-3)
    grown = bisected(error("a", 0.008), error("b", 0.011, over=True))
    assert "no single layer: its inputs have 0.008 already" in why_text(grown)
    nan = bisected(fine, error("b", 0.5, over=True, nan=3))
    assert why_text(nan) == "3 NaN of 10; its inputs have 0.001"
    away = bisected(fine, error("b", 0.5, over=True))
    assert why_text(away) == "err ÷ spread 0.5, at most 0.01; its inputs have 0.001"
    peak = bisected(fine, replace(error("b", 0.5, over=True), over="peak"))
    assert why_text(peak).startswith("largest error ÷ spread 0.5, at most 0.25")
    shape = bisected(fine, replace(error("b", 0.5, over=True), over="shape"))
    assert shape.cause == "unlike"
    assert "shape" in why_text(shape)
    within = bisected(fine, error("b", 1e-3))
    assert start_text(within) == "the 2 compared tensors are within their limits"
    gone = replace(within, cause="gone")
    assert "disappears" in start_text(gone)
    assert "fuses" in why_text(gone)
    late = bisected(error("a", 1e-3, peak=7e4), error("b", 0.5, over=True, nan=2))
    # the reader shows it, and the node that computes it is the start
    assert late.first == "a_out"
    assert why_text(late).startswith("overflow: its values go up to 70,000 in the reference")
    weight = BeyondRange(tensor="w", kind="weight", node="side/b", operator="Relu", peak=9.8e7)
    heavy = started(replace(away, beyond=(weight,)))
    assert why_text(heavy).startswith("overflow: weight w goes up to 9.8e+07 in the reference")


def changed(found: Bisected, tensor: str, **changes) -> Bisected:
    steps = tuple(
        replace(step, **changes) if step.tensor == tensor else step for step in found.steps
    )
    return replace(found, steps=steps)


def test_what_was_not_compared_has_no_figure() -> None:
    found = bisected(error("a", 1e-3), error("b", 0.5, over=True))
    nothing = changed(found, "b_out", inputs=(), inputs_error=None, not_compared=("p", "q"))
    assert why_text(nothing) == "err ÷ spread 0.5, at most 0.01; p, q were not compared"
    assert start_text(nothing).startswith(
        "side/b (Relu), tensor b_out, or before it: p, q were not compared"
    )
    part = changed(found, "b_out", not_compared=("p",))
    assert why_text(part).endswith(
        "p was not compared; the nearest compared tensors before it have 0.001"
    )
    odd = changed(found, "b_out", inputs_error=float("inf"))
    assert why_text(odd).endswith("its inputs have NaN or infinities")
    zeros = changed(found, "b_out", inputs_error=None)
    assert "the reference is 0 there" in why_text(zeros)
    rows = {
        name: growth_row(each.first_step, each)[4]
        for name, each in (("none", nothing), ("part", part), ("odd", odd), ("zeros", zeros))
    }
    assert rows == {"none": "—", "part": "≥ 0.001", "odd": "not finite", "zeros": "—"}
    data = bisect_data(nothing)["first"]
    assert data["inputs_error_to_spread"] is None
    assert data["inputs_not_compared"] == ("p", "q")


def test_a_replaced_operator_is_said_with_both_kinds() -> None:
    found = bisected(error("a", 1e-3), error("b", 0.5, over=True))
    pair = replace(found.first_step.pair, reference_operator="Sigmoid")
    shown = changed(found, "b_out", pair=pair)
    assert why_text(shown).startswith(
        f"side/b is Sigmoid in {found.reference}, Relu in {found.side}; err ÷ spread 0.5"
    )
    assert bisect_data(shown)["first"]["reference_operator"] == "Sigmoid"
    cast = changed(found, "b_out", pair=replace(pair, reference_operator="Cast"))
    assert why_text(cast).startswith("err ÷ spread")


def test_an_overflow_of_the_converted_reference_and_other_starts_are_told_beside_the_start() -> (
    None
):
    loud = bisected(error("a", 1e-3, peak=1e5), error("b", 0.3, over=True), error("c", 0.2))
    assert (loud.first, loud.cause) == ("a_out", "overflow")
    found = started(changed(loud, "b_out", model_error=0.3, reaches_output=True))
    assert (found.first, found.cause) == ("b_out", "departs")
    assert (found.beside, found.overflowing) == ("a_out", "a_out")
    assert "and 0.3 in FP32 with the reference's inputs" in why_text(found)
    shown = text(inside_part(found, "s"), 200)
    assert "overflow: its values go up to 100,000 in the reference" in shown
    assert "the converted reference has it too" in shown
    assert shown.index("starts at") < shown.index("beside it")
    assert bisect_data(found)["beside"] == "a_out"
    found = bisected(
        error("a", 0.9, over=True), error("b", 1e-3), error("c", 0.5, over=True),
        error("d", 0.5, over=True),
    )  # fmt: skip
    assert found.first == "c_out"  # the larger error of a_out reaches no output
    assert dict(inside_part(found, "s").facts)["also over"] == "a_out (Conv, no output shows it)"


def test_the_picture_has_a_point_for_each_error_and_words_for_the_rest() -> None:
    chart = error_growth(
        bisected(error("a", 0.0), error("b", 1e-3), error("c", 0.5, over=True, nan=1)), "g"
    )
    (_, points) = chart.spec["layer"]
    rows = points["data"]["values"]
    assert [one["kind"] for one in rows] == ["within the limit", "where it starts"]
    assert rows[1]["error"] > 0.01  # drawn, although it has no number
    assert any("not drawn" in one for one in chart.subtitle)
    assert any("upper edge" in one for one in chart.subtitle)
    assert error_growth(bisected(error("a", 0.0)), "g") is None


def test_data_keeps_what_is_not_finite_apart_and_tells_the_front() -> None:
    found = overflown()
    steps = (replace(found.steps[0], own_error=float("inf")), *found.steps[1:])
    data = json.loads(msgspec.json.encode(bisect_data(replace(found, steps=steps))))
    assert data["first"]["tensor"] == "b_out"
    assert data["first_not_finite"] == "b_out"
    assert [one["own_is_finite"] for one in data["growth"]] == [False, None, None, None]
    assert data["growth"][0]["own_error_to_spread"] is None
    inside = inside_part(overflown(), "s")
    assert "own" not in inside.tables[0].known().headers
    assert [chart.key for chart in inside.charts] == ["s-growth"]
    data = json.loads(msgspec.json.encode(precision_data(trials())))
    assert [one["on_front"] for one in data["trials"]] == [False, True, True, False, True]
    assert data["suggested"]["kept_nodes"] == ["b"]


def trials() -> precision_proposals.PrecisionTrials:
    def one(kind, ms, size, *, passes, nodes=(), failure=None):
        return precision_proposals.PrecisionTrial(
            proposal=precision_proposals.Proposal(kind=kind, title=f"{kind} it is", nodes=nodes),
            specification=f"trt:fp16?keep_fp32={','.join(nodes)}" if nodes else "trt:fp16",
            passes=passes,
            error=size,
            latency_ms=ms,
            interval=None if ms is None else Interval(low=ms - 0.01, high=ms + 0.01),
            failure=failure,
        )

    return precision_proposals.PrecisionTrials(
        way="layers kept",
        samples=3,
        trials=(
            one("none", 1.0, None, passes=False),
            one("first", 1.2, 3e-4, passes=True, nodes=("b",)),
            one("operator", 1.6, 2e-4, passes=True, nodes=("b", "d")),
            one("block", None, None, passes=False, nodes=("a",), failure="no such layer"),
            one("all", 2.0, 0.0, passes=True),
        ),
    )


@pytest.mark.parametrize("width", [60, 80])
def test_trials_are_a_table_with_the_suggestion_above(width) -> None:
    shown = text(precision_part(trials(), "s"), width)
    assert max(map(len, shown.splitlines())) <= width
    assert "keep FP32  b (1.200 ms, err ÷ spread 0.0003)" in shown
    assert "that is    trt:fp16?keep_fp32=b" in shown
    assert "block it is: no such layer" in shown.replace("\n             ", " ")
    assert ("95 % CI ms" in shown) == (width >= 76)
    marked = [line for line in shown.splitlines() if line.endswith("◆")]
    assert len(marked) == 4  # the header, and three that nothing beats


def test_what_is_suggested_in_words() -> None:
    found = trials()
    assert "no proposal" in suggestion_text(replace(found, trials=found.trials[:1]))
    nothing = precision_proposals.PrecisionTrials(way="", why_none="it computes in fp32 already")
    assert suggestion_text(nothing) == "nothing to try: it computes in fp32 already"
    fast = replace(found.trials[-1], latency_ms=1.1, interval=None)
    same = replace(found, trials=(*found.trials[:2], fast))
    assert suggestion_text(same).startswith("everything: no smaller proposal passes")
    near = replace(fast, latency_ms=1.205, interval=Interval(low=1.2, high=1.21))
    like = replace(found, trials=(*found.trials[:2], near))
    assert suggestion_text(like).endswith("; everything in FP32 is no slower")
    slow = replace(same, trials=(found.trials[0], found.trials[1], found.trials[4]))
    assert not slow.latency_is_no_reason
    reason = "latency is not a reason for reduced precision on this backend"
    assert reason not in suggestion_text(slow)
    faster = replace(fast, latency_ms=0.9)
    assert suggestion_text(replace(found, trials=(found.trials[0], faster))).endswith(f"; {reason}")
