"""The command line and Python take the same decisions."""

import json
import string
from pathlib import Path

import pytest

import enginescope as es
from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.main import main
from enginescope.core.errors import EnginescopeError, StoreError, UsageError
from enginescope.core.record import replace
from enginescope.judge.verdict import VerdictKind
from enginescope.records.progress import RoundPlan
from enginescope.records.run.job import Subject
from enginescope.records.tensor import DataType, Tensor
from enginescope.records.verdict.gate import GateOutcome
from enginescope.store.archive import Store
from enginescope.store.machine_records import FLOORS
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.in_turn import COMPARISON, in_turn, job, process


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return Store()


def pair(store: Store) -> tuple[str, str]:
    runs = (process(1.0), process(1.2, seed=3))
    for run, tag in zip(runs, ("a", "b"), strict=True):
        store.save(run, tags=[tag])
    return runs[0].id, runs[1].id


def test_a_gate_with_nothing_compared_does_not_pass(store, capsys) -> None:
    pair(store)
    assert main(["gate", "--baseline", "a", "b", "--metric", "engine_size"]) == 2
    assert "nothing to compare" in capsys.readouterr().err
    with pytest.raises(UsageError, match="nothing to compare"):
        es.gate("b", baseline="a", max_regression_pct={"engine_size": 2})


@pytest.mark.parametrize("pct", [-1.0, float("nan"), 1001.0])
def test_a_limit_out_of_range_is_refused(store, pct: float) -> None:
    pair(store)
    assert main(["gate", "--baseline", "a", "b", f"--max-regression={pct}%"]) == 2
    with pytest.raises(UsageError, match="not a percentage from 0 to 1,000"):
        es.gate("b", baseline="a", max_regression_pct=pct)


def test_python_is_refused_what_the_command_line_refuses(store) -> None:
    pair(store)
    with pytest.raises(UsageError, match=r"inconclusive 'never'"):
        es.gate("b", baseline="a", inconclusive="never")
    with pytest.raises(UsageError, match="last 0"):
        es.history("net.onnx", last=0)
    with pytest.raises(UsageError, match="sitting_s nan"):
        es.history("net.onnx", sitting_s=float("nan"))
    with pytest.raises(UsageError, match="2 sides, 1 without runs"):
        es.compare("a", [])


def test_several_names_are_one_side_and_plans_alone_are_no_measurement(store) -> None:
    a, b = pair(store)
    again = process(1.0, seed=5)
    store.save(again)
    found = es.compare(["a", again.id], "b")
    assert [[run.id for run in side.runs] for side in found.sides] == [[a, again.id], [b]]
    for run, tag in ((run_a(), "p"), (run_b(), "q")):
        store.save(run, tags=[tag])
    with pytest.raises(UsageError, match="p is not measured"):
        es.compare("p", "q")


def test_a_run_of_no_comparison_under_its_tag_is_left_out_with_a_warning(store, capsys) -> None:
    tag = f"cmp-{COMPARISON}"
    for side in in_turn(1.05):
        for run in side:
            store.save(run, tags=[tag])
    store.save(process(1.0), tags=[tag])
    assert main(["compare", tag, "--json"]) == 0
    printed = capsys.readouterr()
    assert "skipped: 1 runs that are not of" in printed.err
    sides = json.loads(printed.out)["measured"]["sides"]
    assert [(side["label"], side["processes"]) for side in sides] == [("A", 12), ("B", 12)]


@pytest.mark.parametrize("pct", [-1.0, float("nan"), 101.0])
def test_a_threshold_out_of_range_is_refused(store, pct: float) -> None:
    pair(store)
    assert main(["compare", "a", "b", f"--threshold={pct}"]) == 2
    with pytest.raises(UsageError, match="threshold"):
        es.compare("a", "b", threshold_pct=pct)


def test_the_27th_side_is_refused(store, capsys) -> None:
    runs = [process(1.0, seed=at) for at in range(27)]
    for run in runs:
        store.save(run)
    ids = [run.id for run in runs]
    assert main(["compare", *ids[:26], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["measured"]
    assert [side["label"] for side in found["sides"]] == list(string.ascii_uppercase)
    for call in (lambda: main(["compare", *ids]), lambda: es.compare(*ids)):
        message = _message(call, capsys)
        assert "27 sides" in message
        assert "26" in message


def test_the_27th_job_is_refused_before_anything_is_measured(store, capsys) -> None:
    backends = [f"fake?latency_us={at}" for at in range(27)]
    asked = [word for backend in backends for word in ("--on", backend)]
    for call in (
        lambda: main(["bench", __file__, "--compare", *asked]),
        lambda: es.bench_interleaved(__file__, on=backends, store=store.path),
    ):
        assert "27 sides" in _message(call, capsys)
    assert store.rows() == ()


def _message(call, capsys) -> str:
    try:
        assert call() == 2
    except UsageError as error:
        return f"{error} {error.hint}"
    return capsys.readouterr().err


def test_a_damaged_noise_floor_is_left_out_with_a_warning(store, capsys) -> None:
    pair(store)
    (store.path / FLOORS.file).write_text("{")
    assert main(["compare", "a", "b"]) == 0
    assert "noise floors are skipped" in capsys.readouterr().err
    for call in (lambda: es.compare("a", "b"), lambda: es.gate("b", baseline="a")):
        with pytest.warns(UserWarning, match="noise floors are skipped"):
            call()


def test_a_history_takes_a_path_and_prefers_the_exact_name(store, capsys) -> None:
    other = replace(job(), subject=Subject(name="net.onnx.old", kind="onnx"))
    for run in (process(1.0), process(1.0, seed=1), process(2.0, seed=2, job=other)):
        store.save(run)
    for model in ("net.onnx", "./net.onnx", "models/net.onnx"):
        assert main(["history", model, "--sitting", "0", "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        found = es.history(model, sitting_s=0)
        assert len(found) == len(next(iter(v for v in shown.values() if isinstance(v, list)))) == 1
        assert len(found[0].points) == 2


def test_a_history_without_runs_or_figures_is_refused(store, capsys) -> None:
    pair(store)
    assert main(["history", "nett.onnx"]) == 2
    assert "no runs of nett.onnx" in capsys.readouterr().err
    with pytest.raises(UsageError, match=r"no runs of nett\.onnx"):
        es.history("nett.onnx")
    assert main(["history", "net.onnx", "--metric", "engine_size"]) == 2
    for runs in ("net.onnx", [RunView(process(1.0))]):
        with pytest.raises(UsageError, match="no engine_size in the runs"):
            es.history(runs, metric="engine_size")


@pytest.mark.parametrize(
    "measure", [es.bench, es.noise_floor, lambda *a, **k: es.bench_interleaved(a[0], a[0], **k)]
)
def test_an_engine_is_measured_on_tensorrt(store, tmp_path, measure) -> None:
    engine = tmp_path / "x.engine"
    engine.write_bytes(b"ftrt" + bytes(64))
    with pytest.raises(EnginescopeError) as caught:
        measure(engine, store=store.path)
    assert "ort-cpu" not in str(caught.value)
    assert "not an ONNX model" not in str(caught.value)


A100_PLAN = "trex-examples/resnet18-a100-fp16.engine.graph.json"


@pytest.mark.parametrize("verb", ["explore", "lint", "report"])
def test_another_gpu_than_the_files_name_is_warned_of(shared, store, capsys, verb: str) -> None:
    plan = str(shared / A100_PLAN)
    main([verb, plan, "--gpu", "H200"])
    captured = capsys.readouterr()
    page = Path("report").rglob("report.html") if verb == "report" else ()
    written = "".join(one.read_text(encoding="utf-8") for one in page)
    assert "W-GPU-DIFFERS" in captured.out + captured.err + written
    main(["explore", plan, "--gpu", "A100 80GB PCIe"])
    captured = capsys.readouterr()
    assert "W-GPU-DIFFERS" not in captured.out + captured.err


@pytest.mark.parametrize("read", [es.open_plan, es.lint])
def test_python_warns_of_another_gpu_too(shared, read) -> None:
    with pytest.warns(UserWarning, match="W-GPU-DIFFERS"):
        read(shared / A100_PLAN, gpu="H200")
    read(shared / A100_PLAN, gpu="A100 80GB PCIe")


def test_a_side_of_several_jobs_is_refused(store, capsys) -> None:
    first, _ = pair(store)
    runs = (process(1.0), process(3.0, seed=2, job=job("trt", "fp16")))
    for run in runs:
        store.save(run, tags=["mixed"])
    assert main(["compare", first, "mixed"]) == 2
    assert "2 jobs" in capsys.readouterr().err
    with pytest.raises(UsageError, match="2 jobs"):
        es.compare(first, "mixed")
    with pytest.raises(UsageError, match="2 jobs"):
        es.compare(first, [RunView(run) for run in runs])
    with pytest.raises(StoreError):
        es.compare(first, "absent")


@pytest.fixture
def across_shapes(store) -> str:
    """A comparison that was measured with ``--across shapes --threshold 3``."""
    plan = RoundPlan(rounds=60, threshold_pct=3.0, across=("shapes",))
    wide = Tensor(name="x", dtype=DataType.FP32, shape=(1, 9))
    for side, runs in zip("AB", in_turn(0.98), strict=True):
        for run in runs:
            turn = replace(run.turn, plan=plan)
            inputs = run.inputs if side == "A" else (wide,)
            store.save(replace(run, turn=turn, inputs=inputs), tags=[f"cmp-{COMPARISON}"])
    return f"cmp-{COMPARISON}"


def test_a_recorded_comparison_is_judged_as_it_was_measured(across_shapes, store, capsys) -> None:
    found = es.compare(across_shapes)
    assert (found.threshold_pct, found.verdict.kind) == (3.0, VerdictKind.SAME)
    assert main(["compare", across_shapes, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measured"]["threshold_pct"] == 3.0
    assert es.compare(across_shapes, threshold_pct=1).verdict.kind is VerdictKind.FASTER
    assert es.compare(across_shapes, across=("gpu",)).verdict.kind is VerdictKind.INCOMPARABLE
    report = es.gate(baseline=across_shapes)
    assert GateOutcome.INCOMPARABLE not in {row.outcome for row in report.rows}
    assert report.is_passed
