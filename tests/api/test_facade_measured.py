"""What is said of measured runs, from Python as from the command line."""

import json
import subprocess
import sys

import pytest

import enginescope as es
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import BackendError, UsageError
from enginescope.judge.verdict import VerdictKind
from enginescope.records.run.job import StopRule, TelemetryRule, WarmUp, Workload
from enginescope.store.archive import Store
from tests.analysis.in_turn import COMPARISON, in_turn, process

pytestmark = pytest.mark.usefixtures("in_process")

QUICK = Workload(warmup=WarmUp(time_ms=1, iterations=1, limit_ms=20), stop=StopRule(iterations=50))


@pytest.fixture
def store(tmp_path) -> Store:
    made = Store(tmp_path / "store")
    for side in in_turn(1.05):
        for run in side:
            made.save(run, tags=("net", f"cmp-{COMPARISON}"))
    return made


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


def test_names_of_a_store_say_what_the_verb_says(store) -> None:
    found = es.compare(f"cmp-{COMPARISON}", store=store.path)
    assert found.comparison == COMPARISON
    command = [sys.executable, "-m", "enginescope", "compare", f"cmp-{COMPARISON}", "--json"]
    said = subprocess.run(
        [*command, "--store", str(store.path)], capture_output=True, check=True
    ).stdout
    (pair,) = json.loads(said)["measured"]["pairs"]
    headline = pair["verdicts"][0]
    assert headline["kind"] == found.verdict.kind.value
    assert headline["estimate"]["ratio"] == found.verdict.estimate.ratio
    folders = [store.folder_of(one.id) for one in store.rows()[:2]]
    assert es.compare(*folders).pairs
    with pytest.raises(UsageError, match="alone cannot be compared"):
        es.compare(folders[0])
    with pytest.raises(UsageError, match="3 names for 2 sides"):
        es.compare(*folders, names=("a", "b", "c"))


def test_a_gate_on_a_comparison_and_on_runs(store) -> None:
    assert not es.gate(baseline=f"cmp-{COMPARISON}", store=store.path).is_passed
    assert es.gate(baseline=f"cmp-{COMPARISON}", max_regression_pct=20, store=store.path).is_passed
    a, b = ([RunView(run) for run in side] for side in in_turn(1.05))
    loose = es.gate(b, baseline=a, max_regression_pct={"latency": 20.0, "load": 1.0})
    assert {row.metric for row in loose.rows} == {"latency", "load"}
    assert not loose.is_passed
    with pytest.raises(UsageError, match="no metric 'latensy'"):
        es.gate(b, baseline=a, max_regression_pct={"latensy": 1.0})
    with pytest.raises(UsageError, match="all of them are the baseline's"):
        es.gate(a, baseline=a)


def test_a_history_of_a_store_and_of_runs_warns_of_a_damaged_run(store) -> None:
    (of_store,) = es.history("net.onnx", sitting_s=0, store=store.path)
    assert len(of_store.points) == 24
    (of_runs,) = es.history([RunView(run) for run in in_turn(1.0)[0]], sitting_s=0)
    assert len(of_runs.points) == 12
    with pytest.raises(UsageError, match=r"no runs of other\.onnx"):
        es.history("other.onnx", store=store.path)
    (whole,) = es.history("net.onnx", sitting_s=0, store=store.path)
    damaged = store.rows()[0].id
    (store.runs_folder / damaged / "run.json").write_text("{")
    with pytest.warns(UserWarning, match=f"skipped: run {damaged}: .* delete {damaged} removes"):
        (left,) = es.history("net.onnx", sitting_s=0, store=store.path)
    assert len(left.points) == len(whole.points) - 1


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
