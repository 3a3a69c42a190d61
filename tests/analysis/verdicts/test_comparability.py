import math
from io import StringIO

import numpy as np
import pytest
from rich.console import Group

from enginescope.analysis.gate.gate import gate
from enginescope.analysis.verdicts.comparability import differences
from enginescope.analysis.verdicts.job_identity import sessions_of, shift_between
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.comparison.run_to_run import ASSUMED_SD, session_shift
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import Reason, VerdictKind
from enginescope.records.environment import ClockLock, Device, Environment
from enginescope.records.run.job import Job, Mode
from enginescope.records.run.run import Run
from enginescope.records.verdict.gate import GateOutcome
from enginescope.render.base.text import notice_lines, show
from enginescope.render.verdicts.gate_answer import details
from tests.analysis.gated_runs import process
from tests.analysis.in_turn import in_turn, job, named

HELD = ClockLock(sm_mhz=1305, memory_mhz=3201)
BASE = ClockLock()
UNKNOWN = Mode(in_flight=None)


def run(lock: ClockLock | None, provider: str = "TensorrtExecutionProvider", **changes) -> Run:
    environment = Environment(devices=(Device(name="H200", driver="580", clock_lock=lock),))
    providers = (provider,) if provider else ()
    return process(1.0, environment=environment, providers=providers, **changes)


@pytest.mark.parametrize(
    ("a", "b", "texts"),
    [
        (HELD, None, ("SM 1,305 MHz, memory 3,201 MHz", "not locked")),
        (BASE, HELD, ("SM base clock", "SM 1,305 MHz, memory 3,201 MHz")),
        (HELD, ClockLock(sm_mhz=1305), ("SM 1,305 MHz, memory 3,201 MHz", "SM 1,305 MHz")),
    ],
)
def test_clocks_that_were_not_held_alike(a, b, texts) -> None:
    (found,) = differences([run(a)], [run(b)])
    assert (found.key, found.a, found.b) == ("clocks", *texts)
    assert differences([run(a)], [run(b)], across=["clocks"]) == ()
    # Clocks that were alike, or took no part, are no difference.
    assert differences([run(HELD)], [run(HELD)]) == ()
    assert differences([run(None)], [run(None)]) == ()
    cpu = "CPUExecutionProvider"
    assert differences([run(HELD, cpu)], [run(None, cpu)]) == ()
    assert differences([run(HELD)], [run(None, origin="imported")]) == ()


@pytest.mark.parametrize(
    ("key", "a", "b", "text"),
    [
        ("mode", Mode(kind="latency"), Mode(kind="throughput"), "mode: latency → throughput"),
        ("in-flight", Mode(), Mode(in_flight=4), "queries in flight: 1 → 4"),
        ("streams", Mode(streams=1), Mode(streams=2), "streams: 1 → 2"),
        ("transfers", Mode(transfers=True), Mode(transfers=False), "transfers: timed → not timed"),
        ("graph", Mode(cuda_graph=True), Mode(cuda_graph=False), "CUDA graph: on → off"),
        ("spin", Mode(spin_wait=False), Mode(spin_wait=True), "waiting: blocking → spinning"),
        ("cache", Mode(cold=True), Mode(cold=False), "L2 cache: flushed → warm"),
        ("loop", Mode(loop="native"), Mode(loop="python"), "timing loop: native → python"),
    ],
)
def test_how_requests_were_issued(key: str, a: Mode, b: Mode, text: str) -> None:
    job = run(BASE).job
    loads = [replace(job.workload, mode=mode) for mode in (a, b)]
    sides = [[run(BASE, job=replace(job, workload=load))] for load in loads]
    (found,) = differences(*sides)
    assert (found.key, str(found)) == (key, text)
    unknown = [run(BASE, job=replace(job, workload=replace(job.workload, mode=UNKNOWN)))]
    assert (differences(sides[0], unknown), differences(*sides, across=[key])) == ((), ())


def test_a_condition_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="--across clock: no condition of that name") as caught:
        differences([run(BASE)], [run(BASE)], across=["clock"])
    assert "clocks" in caught.value.hint


LOST = Notice(code="W-NOT-FP16", message="not FP16: CPUExecutionProvider runs none of the 9 nodes")


def half(run: Run) -> Run:
    return replace(run, job=job(precision="fp16"), notices=(LOST,))


def test_what_was_measured_comes_before_how_well() -> None:
    fp32, fp16 = in_turn(0.9, jobs=(job(), job(precision="fp16")))
    fp16 = tuple(map(half, fp16))
    said = "ort-cpu:fp16 computes in FP32, as ort-cpu does (W-NOT-FP16); measure without :fp16"
    for sides in ((fp32, fp16), (fp16, fp32)):
        found = compare_sides(named(*sides))
        assert found.is_vain
        assert found.pairs[0].headline.kind is VerdictKind.INCOMPARABLE
        assert found.pairs[0].headline.detail == said
        assert measured_notices(found)[0].code == "W-NOT-FP16"
    loaded = Notice(code="W-LOAD", message="busy machine", evidence={"unstable": True})
    shown = StringIO()
    show(Group(*notice_lines((loaded, LOST))), shown)
    assert shown.getvalue().index("W-NOT-FP16") < shown.getvalue().index("W-LOAD")


@pytest.mark.parametrize(
    "other",
    [job("ort-dnnl"), job(intra_op_num_threads="1"), job(precision="int8"), job(precision="fp16")],
)
def test_another_change_beside_the_precision_is_compared_all_the_same(other: Job) -> None:
    first, fp16 = in_turn(0.9, jobs=(other, job(precision="fp16")))
    loaded = Notice(code="W-LOAD", message="busy machine")
    first = tuple(replace(run, notices=(loaded,)) for run in first)
    found = compare_sides(named(first, tuple(map(half, fp16))))
    assert found.pairs[0].headline.kind is VerdictKind.FASTER
    assert [one.code for one in measured_notices(found)][:2] == ["W-NOT-FP16", "W-LOAD"]


# Variation between sessions: what it is estimated from, and what a gate does with it.


def session(draw, day: int, sd: float = 0.01, *, factor: float = 1.0, **more) -> list[Run]:
    """Five processes of one day, which share a shift."""
    level = 4.0 * factor * np.exp(sd * draw.standard_normal())
    return [
        process(
            level * np.exp(0.005 * draw.standard_normal()),
            at,
            created=f"2026-{1 + day // 28:02}-{1 + day % 28:02}T10:{at:02}:00+00:00",
            n=11,  # too few for intervals of their own, which cost most of the time
            **more,
        )
        for at in range(5)
    ]


def test_unchanged_sessions_hardly_ever_fail_a_gate() -> None:
    draw = np.random.default_rng(1)
    failed = 0
    for _ in range(60):
        history = [run for day in range(12) for run in session(draw, day)]
        report = gate(session(draw, 12), session(draw, 13), history=history)
        failed += report.result == "failed"  # inconclusive ones are measured again
    assert failed <= 3  # 5 %; 10 fail if sessions count for nothing


def test_the_report_says_which_variation_was_used_and_the_interval_is_wider_by_it() -> None:
    draw = np.random.default_rng(2)
    history = [run for day in range(12) for run in session(draw, day)]
    base, now = session(draw, 12), session(draw, 13)
    report = gate(base, now, history=history)
    (notice,) = [one for one in report.notices if one.code == "I-SESSIONS"]
    assert "from 13 sessions" in notice.message
    assert notice.evidence["most_sd_pct"] == pytest.approx(1.0, abs=0.5)
    (notice,) = [one for one in gate(base, now).notices if one.code == "I-ASSUMED-SESSIONS"]
    assert "sessions 1 %, assumed" in notice.message
    assert "no earlier session" in notice.message
    draw = np.random.default_rng(3)
    history = [run for day in range(20) for run in session(draw, day, 0.03)]
    base, now = session(draw, 20, 0.0), session(draw, 21, 0.0, factor=1.04)
    steady = [run for day in range(20) for run in session(draw, day, 0.003)]
    assert gate(base, now, history=steady).rows[0].outcome is GateOutcome.REGRESSION
    assert gate(base, now, history=history).rows[0].outcome is GateOutcome.INCONCLUSIVE


@pytest.mark.parametrize("sd", [0.02, 0.05])
def test_sessions_that_nothing_is_known_of_hardly_ever_fail_a_gate(sd: float) -> None:
    """Had the assumed 1 % a known spread, sessions that differ by 2 % would fail one in five."""
    draw = np.random.default_rng(11)
    reports = [gate(session(draw, 0, sd), session(draw, 1, sd)) for _ in range(20)]
    assert [report.result for report in reports].count("failed") <= 1
    verdicts = [report.rows[0].verdict for report in reports]
    assert Reason.SESSIONS in {verdict.reason for verdict in verdicts if verdict}


def test_a_difference_that_no_session_makes_is_a_regression_and_an_open_row_asks_for_one() -> None:
    draw = np.random.default_rng(12)
    (row,) = gate(session(draw, 0), session(draw, 1, factor=1.6)).rows
    assert row.outcome is GateOutcome.REGRESSION
    draw = np.random.default_rng(13)
    (row,) = gate(session(draw, 0), session(draw, 1, factor=1.1)).rows
    assert (row.verdict.reason, row.verdict.more) == (Reason.SESSIONS, None)
    assert details(row) == [
        "sessions of the same work may differ as much; measure both sides in one session"
    ]


def test_sides_of_one_session_allow_for_none_and_a_session_ends_after_an_hour() -> None:
    draw = np.random.default_rng(4)
    base, other = session(draw, 0), session(draw, 0)
    assert shift_between(base, other, "latency", session(draw, 5)) is None
    mixed = shift_between(base, [*other, *session(draw, 1)], "latency", ())
    assert mixed.weight == pytest.approx(math.sqrt(0.5))
    draw = np.random.default_rng(5)
    base, now = (session(draw, 0, origin="imported") for _ in range(2))
    assert shift_between(base, now, "latency", ()).weight == pytest.approx(math.sqrt(2))
    draw = np.random.default_rng(6)
    runs = [*session(draw, 1), *session(draw, 0)]
    assert [len(group) for group in sessions_of(runs)] == [5, 5]
    assert sessions_of(runs)[0][0].created < sessions_of(runs)[1][0].created


def test_another_model_file_or_machine_is_no_history_and_a_size_has_no_variation() -> None:
    draw = np.random.default_rng(7)
    base, now = session(draw, 0), session(draw, 1)
    renamed = [run for day in range(2, 12) for run in session(draw, day, inputs=())]
    shift = shift_between(base, now, "latency", renamed)
    assert shift.sessions == 1
    assert shift.is_assumed
    draw = np.random.default_rng(8)
    sides = (session(draw, day, peak_memory_bytes=100 << 20) for day in range(2))
    shift = shift_between(*sides, "peak_memory", ())
    assert shift.sd == 0


def test_each_earlier_session_counts_for_the_variation_between_sessions() -> None:
    draw = np.random.default_rng(9)
    estimates = []
    for _ in range(60):
        shifts = 0.02 * draw.standard_normal((15, 1))
        levels = np.exp(shifts + 0.01 * draw.standard_normal((15, 5)))
        estimates.append(session_shift(list(levels), math.sqrt(2)).sd)
    assert np.sqrt(np.mean(np.square(estimates))) == pytest.approx(0.02, rel=0.15)
    draw = np.random.default_rng(10)
    levels = np.exp(0.003 * draw.standard_normal((20, 5)))
    levels[10:] *= 1.2
    assert session_shift(list(levels), 1.0).sd < 0.01
    alike = [session_shift([[1.0, 1.0]] * count, 1.0) for count in (1, 2, 5, 17)]
    assert [shift.freedom for shift in alike] == [1, 2, 5, 17]
    assert [shift.is_assumed for shift in alike] == [True, False, False, False]
    assert [shift.sd for shift in alike] == pytest.approx(
        [ASSUMED_SD / math.sqrt(count) for count in (1, 2, 5, 17)]
    )
    assert session_shift([[1.0], [1.1], [0.9]], 1.0).sd > ASSUMED_SD
