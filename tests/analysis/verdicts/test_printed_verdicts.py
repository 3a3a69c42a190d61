"""Figures that a tool printed: where a difference lies, and never that it is more than noise."""

import pytest

from enginescope.analysis.verdicts.evidence_levels import change_pct, printed_cause
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, compare_sides
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.verdict import EvidenceLevel, Reason, VerdictKind
from enginescope.records.environment import Device, Environment
from enginescope.records.plan.build import LogMessage, ToolReport
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.records.samples import ReportedSummary
from enginescope.render.verdicts.verdict_phrases import headline_sentence, kind_text, why_text
from tests.analysis.in_turn import named, process


def printed(
    per_s: float | None = 1000.0,
    gpu_ms: float | None = 1.0,
    *,
    mean_ms: float | None = None,
    copies_ms: float | None = 0.1,
    gpu: str = "GPU",
    said: str | None = None,
) -> Run:
    """A run as the log of trtexec gives one: a summary, no samples."""
    stated = {"gpu_compute": gpu_ms, "h2d": copies_ms, "enqueue": 0.5}
    summaries = tuple(
        ReportedSummary(metric=metric, median_ms=value, mean_ms=mean_ms or value)
        for metric, value in stated.items()
        if value is not None
    )
    messages = (LogMessage(level="warning", text=said),) if said else ()
    tool = ToolReport(
        tool="trtexec", throughput_per_s=per_s, summaries=summaries, messages=messages
    )
    environment = Environment(devices=(Device(name=gpu),))
    return replace(process(1.0), samples=(), tool=tool, environment=environment)


def test_printed_figures_are_the_lowest_level_of_evidence_and_decide_nothing() -> None:
    found = compared(printed(), printed(990.0))
    assert {one.evidence for one in found.pairs[0].verdicts} == {EvidenceLevel.PRINTED}
    found = compared(printed(), printed(500, 2.0))
    (pair,) = found.pairs
    assert [one.metric for one in pair.verdicts] == ["throughput", "gpu_compute", "enqueue", "h2d"]
    for verdict in pair.verdicts:
        assert verdict.kind is VerdictKind.INCONCLUSIVE
        assert (verdict.reason, verdict.estimate) == (Reason.PRINTED_ONLY, None)
        assert kind_text(verdict) == "printed figures only"
    assert not found.is_decided
    assert change_pct(pair.headline) == pytest.approx(-50)
    assert "--exportTimes" in (why_text(pair.headline) or "")
    assert headline_sentence(pair) == (
        "Printed figures of B against A: throughput −50.0 %, GPU compute time +100 %, "
        "enqueue time 0.00 %: the GPU is slower"
    )


def compared(a: Run, b: Run) -> MeasuredComparison:
    return compare_sides(named((a,), (b,)))


CAUSES = {
    "the host is slower, not the GPU": [printed(870, 1.004), printed(870, 1.0, copies_ms=0.05)],
    "the host is faster, not the GPU": [printed(1200, 0.996)],
    "the host or the copies are slower, not the GPU": [printed(870, 1.0, copies_ms=0.2)],
    "the GPU is slower": [printed(870, 1.15)],
    "the GPU is faster": [printed(1200, 0.8)],
    "the GPU is faster, but the throughput does not follow": [printed(1001, 0.8)],
    "the GPU is faster, the host slower": [printed(870, 0.8)],
    "no difference above 1 %": [printed(1004, 0.996)],
    None: [printed(None, 1.2), printed(870, None)],
}


@pytest.mark.parametrize("cause", CAUSES)
def test_the_throughput_and_the_gpu_apart_tell_the_cause(cause: str | None) -> None:
    for b in CAUSES[cause]:
        (pair,) = compared(printed(), b).pairs
        assert printed_cause(pair.verdicts) == cause
        assert headline_sentence(pair).endswith(f": {cause}" if cause else " %")


def test_a_side_with_samples_is_compared_by_its_medians() -> None:
    sampled = process(1.0)
    metric = sampled.samples[0].metric
    tool = ToolReport(tool="t", summaries=(ReportedSummary(metric=metric, median_ms=2.0),))
    (pair,) = compared(sampled, replace(sampled, samples=(), tool=tool)).pairs
    assert pair.headline.reason is Reason.PRINTED_ONLY
    assert (pair.headline.a, pair.headline.b) == (pytest.approx(1.0, rel=0.1), 2.0)


def test_other_gpus_failed_runs_and_sides_with_nothing_in_common_are_not_compared() -> None:
    (pair,) = compared(printed(), printed(gpu="Other")).pairs
    assert pair.headline.kind is VerdictKind.INCOMPARABLE
    assert "GPU: GPU → Other" in headline_sentence(pair)
    outcome = Outcome(kind=OutcomeKind.FAILED, message="trtexec says FAILED")
    failed = replace(printed(870), outcome=outcome)
    with pytest.raises(UsageError, match="B has no run that succeeded") as caught:
        compared(printed(), failed)
    assert caught.value.why == "trtexec says FAILED"
    bare = ToolReport(tool="t", summaries=(ReportedSummary(metric="h2d"),))
    with pytest.raises(UsageError, match="no figure in common"):
        compared(printed(gpu_ms=None, copies_ms=None), replace(printed(), tool=bare))


def test_notices_of_a_long_tail_and_of_the_log() -> None:
    bound = "* Throughput may be bound by Enqueue Time rather than GPU Compute"
    found = compared(printed(mean_ms=2.0), printed(870, 1.004, mean_ms=2.12, said=bound))
    notices = {one.code: one for one in measured_notices(found)}
    assert notices["W-PRINTED-MEAN"].message.startswith(
        "GPU compute time of B: median +0.40 %, mean +6.0 %"
    )
    assert "in B " in notices["I-ENQUEUE-BOUND"].message
    assert notices["I-ENQUEUE-BOUND"].evidence == {"sides": ["B"]}
    quiet = {one.code for one in measured_notices(compared(printed(), printed(870, 1.004)))}
    assert not quiet & {"W-PRINTED-MEAN", "I-ENQUEUE-BOUND"}
