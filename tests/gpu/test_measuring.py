"""What is measured on a real GPU, held against itself and against ONNX Runtime."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.backends.base import InputSpec
from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.formats.importing.importer import import_artifacts
from enginescope.records.run.job import InputShape, Workload
from enginescope.records.run.run import OutcomeKind
from enginescope.records.tensor import DataType
from enginescope.runner.inputs.inputs import make_feeds
from tests.gpu.conftest import OPTIONS, SHORT, model_files, ok, spec


def reference(model: Path, workload: Workload) -> list[np.ndarray]:
    """What ONNX Runtime's CPU provider answers to the same feeds."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    types = {"tensor(float)": "FP32", "tensor(int64)": "INT64"}
    specs = []
    for one in session.get_inputs():
        more = {"dtype": DataType[types[one.type]], "type_text": one.type}
        specs.append(InputSpec(name=one.name, shape=tuple(one.shape), **more))
    return session.run(None, dict(make_feeds(tuple(specs), workload).arrays))


#: Below this FP16 has fewer and fewer digits, down to none: the smallest normal number.
FP16_TINY = float(np.finfo(np.float16).tiny)


def difference(answer: np.ndarray, wanted: np.ndarray) -> float:
    """Relative distance, ‖a − b‖ ÷ ‖b‖; ‖b‖ at least that of values that FP16 can hold."""
    a, b = answer.astype(np.float64).ravel(), wanted.astype(np.float64).ravel()
    scale = max(float(np.linalg.norm(b)), FP16_TINY * float(np.sqrt(b.size)))
    return float(np.linalg.norm(a - b)) / scale


MODES = {
    "latency-graph": {"kind": "latency", "cuda_graph": True},
    "latency-eager": {"kind": "latency", "cuda_graph": False},
    "throughput-graph": {"cuda_graph": True, "transfers": False},
    "throughput-eager-copies": {"cuda_graph": False, "transfers": True},
}
SUBJECTS = [pytest.param(one, id=one.stem) for one in model_files()] or [None]


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("model", SUBJECTS)
def test_times_plan_profile_and_answers(measure, samples, model, name) -> None:
    model = model or samples[0]
    many = {"kind": "throughput", "in_flight": 2}
    mode = MODES[name] if "kind" in MODES[name] else many | MODES[name]
    run = ok(measure(model, spec("fp16"), **mode))
    view = RunView(run)
    assert view.latency.median_ms > 0
    assert run.job.workload.mode.cuda_graph is mode["cuda_graph"]
    assert {one.name for one in run.profile.layers} <= {one.name for one in run.plan.layers}
    assert run.device_memory.buffer_bytes
    if mode["kind"] == "latency":
        assert 0 < view.round_trip.outside_ms < view.round_trip.whole_ms
    else:
        assert view.throughput is not None
        assert view.pipeline.gap_ms > -0.02 * view.pipeline.period_ms
    for answer, wanted in zip(run.answers, reference(model, run.job.workload), strict=True):
        assert difference(answer.data, wanted) < 0.02
        assert np.isfinite(answer.data.astype(np.float64)).all()


def test_the_second_call_takes_the_kept_engine(measure, samples) -> None:
    ok(measure(samples[0], spec("fp16")))
    again = ok(measure(samples[0], spec("fp16")))
    assert again.build.from_cache
    assert again.phase_ms("build") is None


def test_an_engine_file_is_measured_as_it_is(measure, samples, tmp_path) -> None:
    built = ok(measure(samples[0], spec("fp16"))).build
    engine = tmp_path / "net.plan"
    engine.write_bytes(Path(built.engine).read_bytes())
    run = ok(measure(engine, "trt"))
    assert run.build is None
    assert run.plan is not None


def test_a_cold_cache_is_slower(measure, samples) -> None:
    mode = {"kind": "throughput", "in_flight": 2, "transfers": False}
    warm = ok(measure(samples[1], spec("fp16"), **mode))
    cold = ok(measure(samples[1], spec("fp16"), cold=True, **mode))
    medians = [np.median(one.series("gpu_compute").values_ms) for one in (warm, cold)]
    assert medians[1] > medians[0]


def test_streams_and_sets_of_inputs(measure, samples) -> None:
    mode = {"kind": "throughput", "in_flight": 2, "streams": 3, "rotate": 4}
    run = ok(measure(samples[0], spec("fp16", stamps="1"), **mode))
    assert set(run.trace.stream.tolist()) == {0.0, 1.0, 2.0}
    assert (run.trace.compute_start >= run.trace.h2d_end - 1e-3).all()
    assert (run.trace.d2h_end >= run.trace.d2h_start).all()


def test_a_missing_precision_is_never_another_one(measure, samples) -> None:
    version = RunView(ok(measure(samples[0], spec()))).run.build.tensorrt
    if not version.startswith("8."):
        pytest.skip("TensorRT 8 has no bf16")
    run = measure(samples[0], spec("bf16"))
    assert run.outcome.kind is OutcomeKind.UNSUPPORTED
    assert "bf16" in run.outcome.message
    assert run.samples == ()


def test_several_profiles(measure, samples) -> None:
    dynamic = next((one for one in model_files() if "dynamic" in one.stem), None)
    if dynamic is None:
        pytest.skip("no model with dynamic shapes among ENGINESCOPE_GPU_MODELS")
    shapes = {"opt_shapes": "input:1x64;input:32x64", "profile_index": "1"}
    wide = replace(SHORT, shapes=(InputShape(name="input", dims=(32, 64)),))
    run = ok(measure(dynamic, spec("fp16", **shapes), wide))
    assert run.inputs[0].shape == (32, 64)
    assert run.job.workload.batch == 32
    other = replace(SHORT, shapes=(InputShape(name="input", dims=(7, 64)),))
    refused = measure(dynamic, spec("fp16", **shapes), other)
    assert refused.outcome.kind is OutcomeKind.FAILED
    assert "7x64" in refused.outcome.message


@pytest.mark.parametrize("graph", [True, False], ids=["graph", "eager"])
def test_trtexecs_files_hold_what_was_printed(samples, tmp_path, monkeypatch, capfd, graph) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "home"))
    # the backend's options that this TensorRT needs, as trtexec's flags
    pairs = [one.split("=", 1) for one in OPTIONS.split("&") if one]
    needs = [f"--tacticSources={value}" for key, value in pairs if key == "tactic_sources"]
    names = {"Times": "timing", "Profile": "profile", "LayerInfo": "graph"}
    files = {flag: tmp_path / f"net.engine.{word}.json" for flag, word in names.items()}
    arguments = [
        "trtexec",
        f"--onnx={samples[0]}",
        f"--saveEngine={tmp_path / 'net.engine'}",
        *(f"--export{flag}={path}" for flag, path in files.items()),
        *("--profilingVerbosity=detailed", "--separateProfileRun", "--dumpProfile", "--duration=1"),
        *(["--useCudaGraph"] if graph else []),
        *needs,
    ]
    assert main(arguments) == 0
    printed = capfd.readouterr().out
    assert "&&&& PASSED TensorRT.trtexec" in printed
    (tmp_path / "net.engine.profile.log").write_text(printed)
    for path in files.values():
        json.loads(path.read_text())  # strict
    found = import_artifacts([*files.values(), tmp_path / "net.engine.profile.log"])
    (run,) = found.runs
    assert not found.skipped
    view = RunView(run)
    assert not [one for one in view.notices if one.code == "W-SUMMARY-MISMATCH"]
    assert run.plan is not None
    assert run.profile is not None
    assert run.tool.throughput_per_s is not None
    ours = view.summary("gpu_compute")
    theirs = next(one for one in run.tool.summaries if one.metric == "gpu_compute")
    assert theirs.median_ms is not None
    assert ours.median_ms == pytest.approx(theirs.median_ms, rel=1e-5)
    assert Path(tmp_path / "net.engine").stat().st_size > 0
