"""What is said of measured runs from Python; tests/one_way compares it with the command line."""

import string

import pytest

import enginescope as es
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import BackendError, EnginescopeError, StoreError, UsageError
from enginescope.core.record import replace
from enginescope.judge.verdict import VerdictKind
from enginescope.records.progress import RoundPlan
from enginescope.records.run.job import StopRule, Subject, TelemetryRule, WarmUp, Workload
from enginescope.records.tensor import DataType, Tensor
from enginescope.records.verdict.gate import GateOutcome
from enginescope.store.archive import Store
from enginescope.store.machine_records import FLOORS
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.in_turn import COMPARISON, in_turn, job, process

pytestmark = pytest.mark.usefixtures("in_process")

QUICK = Workload(warmup=WarmUp(time_ms=1, iterations=1, limit_ms=20), stop=StopRule(iterations=50))


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    return Store()


@pytest.fixture
def interleaved(store) -> str:
    """The tag of a stored comparison."""
    for side in in_turn(1.05):
        for run in side:
            store.save(run, tags=("net", f"cmp-{COMPARISON}"))
    return f"cmp-{COMPARISON}"


@pytest.fixture
def pair(store) -> tuple[str, str]:
    """The ids of two runs with the tags ``a`` and ``b``."""
    runs = (process(1.0), process(1.2, seed=3))
    for run, tag in zip(runs, ("a", "b"), strict=True):
        store.save(run, tags=[tag])
    return runs[0].id, runs[1].id


def test_runs_in_hand() -> None:
    a, b = ([RunView(run) for run in side] for side in in_turn(1.05))
    found = es.compare(a, b, names=("old", "new"))
    assert found.verdict.kind is VerdictKind.SLOWER
    assert found.verdict.estimate.ratio == pytest.approx(1.05, rel=0.01)
    assert [one.name for one in found.sides] == ["old", "new"]
    assert repr(found).startswith("<MeasuredComparison B is slower")
    shown = found._repr_html_()
    assert "B is slower" in shown
    assert "First inference" in shown or "Load" in shown
    assert "I-NOT-IN-TURN" not in [one.code for one in es.compare(a[0], b[0]).notices]
    apart = es.compare(RunView(process(1.0)), RunView(process(1.2)))
    assert "I-NOT-IN-TURN" in [one.code for one in apart.notices]
    assert es.compare(a, b, threshold_pct=10).verdict.kind is VerdictKind.SAME


def test_names_of_a_store(store, interleaved) -> None:
    assert es.compare(interleaved, store=store.path).comparison == COMPARISON
    folders = [store.folder_of(one.id) for one in store.rows()[:2]]
    assert es.compare(*folders).pairs
    with pytest.raises(UsageError, match="alone cannot be compared"):
        es.compare(folders[0], store=store.path / "another")
    with pytest.raises(UsageError, match="3 names for 2 sides"):
        es.compare(*folders, names=("a", "b", "c"))


def test_a_gate_on_a_comparison_and_on_runs(interleaved) -> None:
    assert not es.gate(baseline=interleaved).is_passed
    assert es.gate(baseline=interleaved, max_regression_pct=20).is_passed
    a, b = ([RunView(run) for run in side] for side in in_turn(1.05))
    loose = es.gate(b, baseline=a, max_regression_pct={"latency": 20.0, "load": 1.0})
    assert {row.metric for row in loose.rows} == {"latency", "load"}
    assert not loose.is_passed
    with pytest.raises(UsageError, match="no metric 'latensy'"):
        es.gate(b, baseline=a, max_regression_pct={"latensy": 1.0})
    with pytest.raises(UsageError, match="all of them are the baseline's"):
        es.gate(a, baseline=a)


@pytest.mark.parametrize("pct", [-1.0, float("nan"), 1001.0])
def test_a_percentage_out_of_range_is_refused(pair, pct: float) -> None:
    with pytest.raises(UsageError, match="not a percentage from 0 to 1,000"):
        es.gate("b", baseline="a", max_regression_pct=pct)
    with pytest.raises(UsageError, match="threshold"):
        es.compare("a", "b", threshold_pct=min(pct, 101.0))


def test_what_the_command_line_refuses_is_refused(pair) -> None:
    for said, call in (
        (
            "nothing to compare",
            lambda: es.gate("b", baseline="a", max_regression_pct={"engine_size": 2}),
        ),
        ("inconclusive 'never'", lambda: es.gate("b", baseline="a", inconclusive="never")),
        ("last 0", lambda: es.history("net.onnx", last=0)),
        ("sitting_s nan", lambda: es.history("net.onnx", sitting_s=float("nan"))),
        (r"no runs of nett\.onnx", lambda: es.history("nett.onnx")),
        ("no engine_size in the runs", lambda: es.history("net.onnx", metric="engine_size")),
        (
            "no engine_size in the runs",
            lambda: es.history([RunView(process(1.0))], metric="engine_size"),
        ),
        ("2 sides, 1 without runs", lambda: es.compare("a", [])),
    ):
        with pytest.raises(UsageError, match=said):
            call()


def test_several_names_are_one_side_and_plans_alone_are_no_measurement(store, pair) -> None:
    again = process(1.0, seed=5)
    store.save(again)
    found = es.compare(["a", again.id], "b")
    assert [[run.id for run in side.runs] for side in found.sides] == [
        [pair[0], again.id],
        [pair[1]],
    ]
    for run, tag in ((run_a(), "p"), (run_b(), "q")):
        store.save(run, tags=[tag])
    with pytest.raises(UsageError, match="p is not measured"):
        es.compare("p", "q")


def test_a_side_of_several_jobs_is_refused(store, pair) -> None:
    runs = (process(1.0), process(3.0, seed=2, job=job("trt", "fp16")))
    for run in runs:
        store.save(run, tags=["mixed"])
    for side in ("mixed", [RunView(run) for run in runs]):
        with pytest.raises(UsageError, match="2 jobs"):
            es.compare(pair[0], side)
    with pytest.raises(StoreError):
        es.compare(pair[0], "absent")


def test_a_run_of_no_comparison_under_its_tag_is_skipped_with_a_warning(store, interleaved) -> None:
    store.save(process(1.0), tags=[interleaved])
    with pytest.warns(UserWarning, match="skipped: 1 runs that are not of"):
        found = es.compare(interleaved)
    assert [(side.label, len(side.runs)) for side in found.sides] == [("A", 12), ("B", 12)]


def test_the_27th_side_is_refused_before_anything_is_measured(store) -> None:
    runs = [RunView(process(1.0, seed=at)) for at in range(27)]
    assert [side.label for side in es.compare(*runs[:26]).sides] == list(string.ascii_uppercase)
    backends = [f"fake?latency_us={at}" for at in range(27)]
    for call in (lambda: es.compare(*runs), lambda: es.bench_interleaved(__file__, on=backends)):
        with pytest.raises(UsageError, match="27 sides") as caught:
            call()
        assert "26" in f"{caught.value} {caught.value.hint}"
    assert store.rows() == ()


def test_a_damaged_noise_floor_is_skipped_with_a_warning(store, pair) -> None:
    (store.path / FLOORS.file).write_text("{")
    for call in (lambda: es.compare("a", "b"), lambda: es.gate("b", baseline="a")):
        with pytest.warns(UserWarning, match="noise floors are skipped"):
            call()


def test_a_recorded_comparison_is_judged_as_it_was_measured(store) -> None:
    """It was measured with ``--across shapes --threshold 3``."""
    plan = RoundPlan(rounds=60, threshold_pct=3.0, across=("shapes",))
    wide = Tensor(name="x", dtype=DataType.FP32, shape=(1, 9))
    across = f"cmp-{COMPARISON}"
    for side, runs in zip("AB", in_turn(0.98), strict=True):
        for run in runs:
            inputs = run.inputs if side == "A" else (wide,)
            store.save(
                replace(run, turn=replace(run.turn, plan=plan), inputs=inputs), tags=[across]
            )
    found = es.compare(across)
    assert (found.threshold_pct, found.verdict.kind) == (3.0, VerdictKind.SAME)
    assert es.compare(across, threshold_pct=1).verdict.kind is VerdictKind.FASTER
    assert es.compare(across, across=("gpu",)).verdict.kind is VerdictKind.INCOMPARABLE
    report = es.gate(baseline=across)
    assert GateOutcome.INCOMPARABLE not in {row.outcome for row in report.rows}
    assert report.is_passed


@pytest.mark.parametrize("name", ["net.onnx", "./net.onnx", "models/net.onnx"])
def test_a_history_takes_a_path_and_prefers_the_exact_name(store, name: str) -> None:
    other = replace(job(), subject=Subject(name="net.onnx.old", kind="onnx"))
    for run in (process(1.0), process(1.0, seed=1), process(2.0, seed=2, job=other)):
        store.save(run)
    assert [len(found.points) for found in es.history(name, sitting_s=0)] == [2]


def test_a_history_of_a_store_and_of_runs_warns_of_a_damaged_run(store, interleaved) -> None:
    (whole,) = es.history("net.onnx", sitting_s=0)
    assert len(whole.points) == 24
    (of_runs,) = es.history([RunView(run) for run in in_turn(1.0)[0]], sitting_s=0)
    assert len(of_runs.points) == 12
    damaged = store.rows()[0].id
    (store.runs_folder / damaged / "run.json").write_text("{")
    with pytest.warns(UserWarning, match=f"skipped: run {damaged}: .* delete {damaged} removes"):
        (left,) = es.history("net.onnx", sitting_s=0)
    assert len(left.points) == 23


@pytest.mark.parametrize(
    "measure", [es.bench, es.noise_floor, lambda *a, **k: es.bench_interleaved(a[0], a[0], **k)]
)
def test_an_engine_is_measured_on_tensorrt(tmp_path, measure) -> None:
    engine = tmp_path / "x.engine"
    engine.write_bytes(b"ftrt" + bytes(64))
    with pytest.raises(EnginescopeError) as caught:
        measure(engine, store=tmp_path)
    assert "ort-cpu" not in str(caught.value)
    assert "not an ONNX model" not in str(caught.value)


def test_a_run_of_a_commit_that_was_named(tmp_path) -> None:
    run = es.bench(__file__, on="fake", workload=QUICK, commit="v1.2 rc", store=tmp_path)
    assert run.run.environment.commit.id == "v1.2 rc"
    assert Store(tmp_path).load(run.id).environment.commit.short == "v1.2 rc"
    usual = es.bench(__file__, on="fake", workload=QUICK)
    assert usual.run.environment.commit is None or usual.run.environment.commit.id != "v1.2 rc"


@pytest.mark.parametrize(
    ("given", "depth"),
    [("clock", "clock"), ("full", "full"), ("off", "off"), (TelemetryRule(depth="off"), "off")],
)
def test_how_much_is_asked_of_the_gpu(given, depth) -> None:
    run = es.bench(__file__, on="fake", workload=QUICK, telemetry=given).run
    assert run.job.telemetry.depth == depth


@pytest.mark.slow
def test_measuring_in_turn(tmp_path) -> None:
    short = Workload(warmup=QUICK.warmup, stop=StopRule(iterations=8))  # too few to be disturbed
    found = es.bench_interleaved(
        __file__, on=("fake", "fake?latency_us=280"), workload=short, rounds=8, store=tmp_path
    )
    assert len(found.sides[0].measured) >= 8
    assert es.compare(f"cmp-{found.comparison}", store=tmp_path).verdict == found.verdict
    assert es.noise_floor(__file__, on="fake", workload=short, rounds=8, store=tmp_path).rounds >= 8
    with pytest.raises(BackendError, match="died of SIGSEGV"):
        es.bench_interleaved(
            __file__, on=("fake", "fake?fault=segfault"), workload=short, store=tmp_path
        )
