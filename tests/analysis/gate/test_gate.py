"""Two sets of runs: what got worse than is allowed."""

import numpy as np
import pytest

from enginescope.analysis.gate.gate import gate
from enginescope.analysis.verdicts.compared_figures import GATE_METRICS, check_metric
from enginescope.analysis.verdicts.history import histories
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.verdict import Reason, VerdictKind
from enginescope.records.environment import Environment, Host
from enginescope.records.plan.build import BuildReport
from enginescope.records.progress import RoundPosition
from enginescope.records.verdict.gate import GateOutcome, GateTerms, Limit
from enginescope.render.verdicts.gate_answer import details
from tests.analysis.gated_runs import CRASH, crashed, job, process, processes, with_device_latency

UNSTEADY = (0.0, 0.09, -0.08, 0.04, 0.05)


def terms(*limits: tuple[str, float], **more) -> GateTerms:
    made = tuple(Limit(metric=name, regression_pct=pct) for name, pct in limits)
    return GateTerms(**({"limits": made} if made else {}), **more)


def outcomes(report) -> list[tuple[str, str | None, str]]:
    return [(row.model, row.metric, row.outcome.value) for row in report.rows]


def only(report):
    (row,) = report.rows
    return row


def test_one_regression_one_new_failure_one_improvement() -> None:
    names = {name: job(f"{name}.onnx") for name in ("slower", "fails", "faster", "same")}
    baseline = [run for one in names.values() for run in processes(4.0, of=one)]
    current = [
        *processes(4.2, of=names["slower"], first=60),
        crashed(60, of=names["fails"]),
        *processes(3.6, of=names["faster"], first=60),
        *processes(4.002, of=names["same"], first=60),
    ]
    report = gate(baseline, current, name="main")
    assert not report.is_passed
    assert outcomes(report) == [
        ("slower.onnx", "latency", "regression"),
        ("fails.onnx", None, "new failure"),
        ("faster.onnx", "latency", "improvement"),
        ("same.onnx", "latency", "no regression"),
    ]
    assert [report.fails(row) for row in report.rows] == [True, True, False, False]
    assert report.rows[0].verdict.estimate.ratio == pytest.approx(1.05, abs=0.002)
    assert "segmentation fault" in report.rows[1].why


def test_a_set_against_itself_and_less_than_the_limit_is_no_regression() -> None:
    report = gate(processes(4.0), processes(4.0, first=60))
    assert report.is_passed
    assert only(report).outcome is GateOutcome.NO_REGRESSION
    report = gate(processes(4.0), processes(4.04, first=60))
    assert only(report).outcome is GateOutcome.NO_REGRESSION
    tight = gate(processes(4.0), processes(4.04, first=60), terms(("latency", 0.5)))
    assert only(tight).outcome is GateOutcome.REGRESSION
    better = (-0.06, -0.05, -0.011, -0.01, 0.0)
    row = only(gate(processes(4.0), processes(4.0, first=60, apart=better)))
    assert row.outcome is GateOutcome.NO_REGRESSION
    assert row.verdict.estimate.interval.low < 1 / 1.02


@pytest.mark.parametrize(
    ("policy", "passes"), [("pass", True), ("measure", False), ("fail", False)]
)
def test_what_is_inconclusive_counts_as_asked(policy, passes) -> None:
    report = gate([process(4.0)], [process(4.1, 60)], terms(inconclusive=policy))
    assert only(report).outcome is GateOutcome.INCONCLUSIVE
    assert report.is_passed is passes


def test_a_job_or_a_figure_that_is_missing_is_lost_or_new() -> None:
    report = gate([*processes(4.0), process(1.0, of=job("b"))], processes(4.0, first=60))
    assert outcomes(report)[0] == ("b", None, "lost coverage")
    assert not report.is_passed
    # It was two rows, `lost coverage` and `still failing`.
    before = [*processes(4.0, of=job(transfers=True)), crashed(5)]
    report = gate(before, [crashed(60), crashed(61)])
    assert [row.outcome for row in report.rows] == [GateOutcome.NEW_FAILURE]
    assert (report.jobs, only(report).why[:25]) == (1, "2 of 2 processes failed: ")
    limits = terms(("peak_memory", 2))
    before = processes(4.0, peak_memory_bytes=100)
    row = only(gate(before, processes(4.0, first=60), limits))
    assert row.outcome is GateOutcome.LOST
    row = only(gate(processes(4.0, first=60), before, limits))
    assert row.outcome is GateOutcome.NO_BASELINE
    same = processes(4.0), processes(4.0, first=60)
    report = gate(same[0], [*same[1], process(1.0, of=job("b"))])
    assert report.is_passed
    assert ("b", None, "new") in outcomes(report)
    report = gate(same[0], [*same[1], crashed(of=job("b"))])
    assert ("b", None, "new failure") in outcomes(report)


def test_the_same_backend_of_two_pythons_is_two_jobs() -> None:
    other, here = job(spec="trt:fp16@trt86"), job(spec="trt:fp16")
    baseline = processes(1.0, of=here) + processes(2.0, of=other)
    report = gate(baseline, processes(1.0, of=here) + processes(2.2, of=other), terms())
    assert [(row.job, row.outcome.value) for row in report.rows] == [
        ("net.onnx · trt:fp16@trt86 · batch 1", "regression"),
        ("net.onnx · trt:fp16 · batch 1", "no regression"),
    ]
    assert sorted(one.label for one in histories(baseline)) == [
        "net.onnx · trt:fp16 · batch 1",
        "net.onnx · trt:fp16@trt86 · batch 1",
    ]
    sides = processes(1.0), processes(1.0, of=job(spec="ort-cpu@ort116"))
    said = [one.message for one in only(gate(*sides)).notices]
    assert any("environment: none → ort116" in one for one in said)


def test_what_failed_before_is_no_new_failure_unless_all_processes_fail_now() -> None:
    still = gate([crashed()], [crashed(60)])
    assert (still.is_passed, only(still).outcome) == (True, GateOutcome.STILL_FAILING)
    fixed = gate([crashed()], processes(4.0, first=60))
    assert (fixed.is_passed, only(fixed).outcome) == (True, GateOutcome.FIXED)
    report = gate(processes(4.0), [*processes(4.0, first=60), crashed(70)])
    assert [row.outcome.value for row in report.rows] == ["new failure", "no regression"]
    assert report.rows[0].why.startswith("1 of 6 processes failed")
    assert gate([*processes(4.0), crashed(8)], [*processes(4.0, first=60), crashed(70)]).is_passed
    assert not gate([*processes(4.0), crashed(8)], [crashed(70)]).is_passed  # now all of them do


@pytest.mark.parametrize("is_loaded", [True, False])
def test_a_job_that_now_always_crashes_is_a_new_failure_where_it_crashed_once(is_loaded) -> None:
    """The baseline measured it all the same: passing would hide that nothing runs any more."""
    loaded, unloaded = process(4.0, 8, outcome=CRASH, samples=()), crashed(8)
    before, now = (loaded, crashed(70)) if is_loaded else (unloaded, replace(loaded, id="later"))
    report = gate([*processes(4.0), before], [now])
    assert (report.is_passed, only(report).outcome) == (False, GateOutcome.NEW_FAILURE)


def test_why_a_row_is_inconclusive_is_said_once() -> None:
    row = only(gate(processes(4.0), processes(4.0, first=60)))
    assert row.verdict is not None
    why = "the clock has steps of 8 % of the median"
    verdict = replace(
        row.verdict, kind=VerdictKind.INCONCLUSIVE, reason=Reason.CLOCK_STEP, detail=why
    )
    (said,) = details(replace(row, outcome=GateOutcome.INCONCLUSIVE, verdict=verdict, why=why))
    assert said.startswith(f"{why}, more than the difference")


def test_other_conditions_fail_unless_they_are_meant_by_a_known_name() -> None:
    elsewhere = Environment(host=Host(cpu_model="EPYC", cores_usable=2))
    sides = processes(4.0), processes(4.0, first=60, environment=elsewhere)
    report = gate(*sides)
    assert only(report).outcome is GateOutcome.INCOMPARABLE
    assert "Xeon, 2 cores → EPYC, 2 cores" in only(report).why
    assert details(only(report))[-1].endswith("add --across cpu")
    assert not report.is_passed
    assert gate(*sides, terms(across=("cpu",))).is_passed
    with pytest.raises(UsageError, match="--across gpus"):
        gate(processes(4.0), processes(4.0, first=60), terms(across=("gpus",)))
    with pytest.raises(UsageError, match="no metric 'p98'"):
        check_metric("p98")
    assert {"latency", "p99", "throughput", "engine_size", "gpu_compute"} <= set(GATE_METRICS)


def test_every_metric_has_its_own_limit_and_an_engine_size_is_exact() -> None:
    before = processes(4.0, peak_memory_bytes=100 << 20, n=1200)
    after = processes(4.12, first=60, peak_memory_bytes=100 << 20, n=1200)
    limits = terms(("latency", 2), ("p99", 5), ("throughput", 2), ("peak_memory", 2))
    found = {row.metric: row.outcome.value for row in gate(before, after, limits).rows}
    assert {name for name in found if found[name] == "regression"} == {"latency", "throughput"}
    assert {name for name in found if found[name] == "no regression"} == {"p99", "peak_memory"}

    def built(size: int) -> BuildReport:
        return BuildReport(engine="net.engine", engine_bytes=size)

    limits = terms(("engine_size", 2))
    grown = gate([process(4.0, build=built(1000))], [process(4.0, 60, build=built(1030))], limits)
    assert only(grown).outcome is GateOutcome.REGRESSION
    same = gate([process(4.0, build=built(1000))], [process(4.0, 60, build=built(1010))], limits)
    assert only(same).outcome is GateOutcome.NO_REGRESSION


def test_requests_without_copies_are_held_to_a_limit_of_their_own() -> None:
    """Copies that got faster hide a device that got slower from the latency alone."""
    before = [with_device_latency(one, 0.50) for one in processes(4.0)]
    after = [with_device_latency(one, 0.55) for one in processes(4.0, first=60)]
    limits = terms(("latency", 2), ("device_latency", 2))
    found = {row.metric: row.outcome.value for row in gate(before, after, limits).rows}
    assert found == {"latency": "no regression", "device_latency": "regression"}
    row = only(gate(processes(4.0), after, terms(("device_latency", 2))))
    assert row.outcome is GateOutcome.NO_BASELINE
    (series,) = histories([*before, *after], "device_latency", sitting_s=0)
    assert len(series.sure) == 1


def test_a_flaky_baseline_and_a_renamed_model_are_said() -> None:
    report = gate(processes(4.0, apart=UNSTEADY), processes(4.0, first=60, apart=UNSTEADY))
    (notice,) = [one for one in only(report).notices if one.code == "W-FLAKY-BASELINE"]
    assert notice.message.startswith("flaky baseline: its 5 processes vary by 6.")
    steady = gate(processes(4.0), processes(4.0, first=60, apart=UNSTEADY))
    assert "W-FLAKY-BASELINE" not in [one.code for one in only(steady).notices]
    one = process(4.0)
    values = one.samples[0].values_ms.copy()
    values[::3] *= 1.2
    two_levels = replace(one, samples=(replace(one.samples[0], values_ms=values),))
    codes = [each.code for each in only(gate([two_levels], [process(4.0, 60)])).notices]
    assert "W-FLAKY-BASELINE" in codes
    assert "W-BIMODAL" not in codes
    report = gate(
        processes(4.0, of=job("v1.onnx", sha="ab")),
        processes(4.0, of=job("v2.onnx", sha="ab"), first=60),
    )
    assert report.is_passed
    assert [one.message for one in report.notices if one.code == "I-RENAMED"] == [
        "v1.onnx of the baseline is v2.onnx now: the file is the same"
    ]


def turn(label: str, number: int) -> RoundPosition:
    return RoundPosition(comparison="c0", side=label, round=number, place=0)


def in_turn(label: str, factor: float, **more) -> list:
    """A side of a comparison whose rounds differ by far more than its sides."""
    levels = [1.0, 1.3, 0.8, 1.1, 0.9, 1.2, 1.05, 0.95, 1.15, 0.85, 1.0, 1.25]
    return [
        process(4.0 * level * factor, at, turn=turn(label, at), **more)
        for at, level in enumerate(levels)
    ]


def test_sides_of_one_comparison_are_counterparts_and_taken_round_by_round() -> None:
    row = only(gate(in_turn("A", 1.0), in_turn("B", 1.05)))
    assert row.verdict.estimate.method == "rounds"
    assert row.verdict.estimate.interval.confidence > 0.95
    assert row.outcome is GateOutcome.REGRESSION
    row = only(gate(in_turn("A", 1.0), in_turn("B", 0.9, of=job("new.onnx", "trt:fp16"))))
    assert row.outcome is GateOutcome.IMPROVEMENT
    said = "; ".join(one.message for one in row.notices if one.code == "I-MEANT")
    assert "model: net.onnx → new.onnx" in said
    assert said.count("backend: ort-cpu → trt") == 1  # it was in two notices


def in_bursts(run):
    """The run as its own bursts make it: its fast half as before, the rest slow and scattered."""
    values = run.samples[0].values_ms.copy()
    draw = np.random.default_rng(run.turn.round)
    values[: int(0.52 * values.size)] *= 1.1 + draw.exponential(0.3, int(0.52 * values.size))
    return replace(run, samples=(Samples(metric="latency", values_ms=frozen(values)),))


def of_rounds(label: str) -> list:
    levels = np.exp(0.003 * np.random.default_rng(ord(label)).standard_normal(28))
    return [process(4.0 * level, at, turn=turn(label, at)) for at, level in enumerate(levels)]


@pytest.mark.parametrize("inconclusive", ["pass", "measure", "fail"])
def test_a_current_side_that_is_unstable_by_itself_fails(inconclusive: str) -> None:
    """Every second process of it is disturbed, and none of the baseline's."""
    a, b = of_rounds("A"), of_rounds("B")
    unsteady = [in_bursts(run) if run.turn.round % 2 else run for run in b]
    report = gate(a, unsteady, terms(("latency", 100.0), inconclusive=inconclusive))
    row = only(report)
    assert (row.outcome, report.is_passed) == (GateOutcome.UNSTABLE, False)
    disturbed = row.verdict.estimate.disturbed
    assert (disturbed.a, disturbed.b, disturbed.unstable) == (0, 14, "b")
    messages = {notice.code: notice.message for notice in row.notices}
    assert "the current side is unstable: 14 of 14 disturbed" in messages["W-UNSTABLE-SIDE"]


def test_an_unstable_baseline_is_named_and_does_not_fail_the_current_side() -> None:
    a, b = of_rounds("A"), of_rounds("B")
    unsteady = [in_bursts(run) if run.turn.round % 2 else run for run in a]
    row = only(gate(unsteady, b, terms(("latency", 100.0))))
    assert row.outcome is GateOutcome.NO_REGRESSION
    assert "the baseline is unstable" in " ".join(notice.message for notice in row.notices)


def told(report) -> set[str]:
    scatter = {"I-ASSUMED-SCATTER", "I-OWN-SCATTER", "I-FEW-PROCESSES"}
    return {one.code for one in report.notices} & scatter


@pytest.mark.parametrize(
    ("count", "outcome", "code"),
    [
        (1, "inconclusive", "I-ASSUMED-SCATTER"),
        (2, "inconclusive", "I-ASSUMED-SCATTER"),
        (3, "regression", "I-FEW-PROCESSES"),
        (5, "regression", "I-OWN-SCATTER"),
    ],
)
def test_processes_say_how_they_scatter_where_there_are_enough(count, outcome, code) -> None:
    report = gate(processes(4.0, count), processes(4.14, count, first=60))
    assert only(report).outcome.value == outcome
    assert told(report) == {code}  # which it was is said once, of all jobs
    assert only(report).notices == ()
    if code == "I-FEW-PROCESSES":
        (notice,) = [one for one in report.notices if one.code == code]
        assert notice.message == (
            "3 processes a side are too few for 95 % confidence by ranks: the ratio is that of "
            "the two medians, and the interval assumes "
            "normal distributions of equal variance on both sides (Student's t); 4 processes "
            "a side need no assumption"
        )


def test_each_job_has_the_scatter_of_its_own() -> None:
    alone, several = job("alone.onnx"), job("several.onnx")
    before = [process(4.0, of=alone), *processes(4.0, of=several)]
    report = gate(before, [process(4.14, 60, of=alone), *processes(4.14, first=60, of=several)])
    assert outcomes(report) == [
        ("several.onnx", "latency", "regression"),
        ("alone.onnx", "latency", "inconclusive"),
    ]
    assert told(report) == {"I-ASSUMED-SCATTER", "I-OWN-SCATTER"}
