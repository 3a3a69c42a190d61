from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Group

from enginescope.analysis.verdicts.comparability import differences
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import VerdictKind
from enginescope.records.environment import ClockLock, Device, Environment
from enginescope.records.run.job import BackendSpec, Job, Mode, Subject
from enginescope.records.run.run import Run
from enginescope.render.base.text import notice_lines, show
from tests.analysis.in_turn import in_turn, job, named

HELD = ClockLock(sm_mhz=1305, memory_mhz=3201)
BASE = ClockLock()
UNKNOWN = Mode(in_flight=None)


def run(lock: ClockLock | None, provider: str = "TensorrtExecutionProvider", **changes) -> Run:
    device = Device(name="H200", driver="580", clock_lock=lock)
    parts = {
        "id": "a",
        "created": "",
        "origin": "measured",
        "job": Job(subject=Subject(name="m"), backend=BackendSpec(name="x")),
        "environment": Environment(devices=(device,)),
        "providers": (provider,) if provider else (),
    }
    return Run(**(parts | changes))


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


def test_the_same_clocks_are_no_difference() -> None:
    assert differences([run(HELD)], [run(HELD)]) == ()
    assert differences([run(None)], [run(None)]) == ()


def test_clocks_of_a_gpu_that_took_no_part() -> None:
    cpu = "CPUExecutionProvider"
    assert differences([run(HELD, cpu)], [run(None, cpu)]) == ()


def test_imported_runs_do_not_say() -> None:
    assert differences([run(HELD)], [run(None, origin="imported")]) == ()


@pytest.mark.parametrize(
    ("key", "a", "b", "text"),
    [
        ("mode", Mode(kind="latency"), Mode(kind="throughput"), "mode: latency against throughput"),
        ("in-flight", Mode(), Mode(in_flight=4), "queries in flight: 1 against 4"),
        ("streams", Mode(streams=1), Mode(streams=2), "streams: 1 against 2"),
        (
            "transfers",
            Mode(transfers=True),
            Mode(transfers=False),
            "transfers: timed against not timed",
        ),
        ("graph", Mode(cuda_graph=True), Mode(cuda_graph=False), "CUDA graph: on against off"),
        ("spin", Mode(spin_wait=False), Mode(spin_wait=True), "waiting: blocking against spinning"),
        ("cache", Mode(cold=True), Mode(cold=False), "L2 cache: flushed against warm"),
        ("loop", Mode(loop="native"), Mode(loop="python"), "timing loop: native against python"),
    ],
)
def test_how_requests_were_issued(key: str, a: Mode, b: Mode, text: str) -> None:
    job = run(BASE).job
    sides = [
        [run(BASE, job=replace(job, workload=replace(job.workload, mode=mode)))] for mode in (a, b)
    ]
    (found,) = differences(*sides)
    assert (found.key, str(found)) == (key, text)
    unknown = [run(BASE, job=replace(job, workload=replace(job.workload, mode=UNKNOWN)))]
    assert differences(sides[0], unknown) == ()
    assert differences(*sides, across=[key]) == ()


def test_a_condition_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="--across clock: no condition of that name") as caught:
        differences([run(BASE)], [run(BASE)], across=["clock"])
    assert "clocks" in caught.value.hint


LOST = Notice(code="W-NOT-FP16", message="not FP16: CPUExecutionProvider runs none of the 9 nodes")


def half(run: Run) -> Run:
    return replace(run, job=job(precision="fp16"), notices=(LOST,))


def test_fp16_that_is_computed_in_fp32_is_not_compared_with_fp32() -> None:
    fp32, fp16 = in_turn(0.9, jobs=(job(), job(precision="fp16")))
    fp16 = tuple(map(half, fp16))
    said = "ort-cpu:fp16 computes in FP32, as ort-cpu does (W-NOT-FP16); measure without :fp16"
    for sides in ((fp32, fp16), (fp16, fp32)):
        found = compare_sides(named(*sides))
        assert found.is_vain
        assert found.pairs[0].headline.kind is VerdictKind.INCOMPARABLE
        assert found.pairs[0].headline.detail == said
        assert measured_notices(found)[0].code == "W-NOT-FP16"


def test_what_was_measured_comes_before_how_well() -> None:
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
