import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx.helper import make_node

from enginescope.analysis.graph.plan_graph import plan_graph
from enginescope.analysis.layers.layer_table import attribute
from enginescope.backends.base import Measured
from enginescope.backends.onnxruntime.backend import OrtBackend, cpu, cuda, tensorrt
from enginescope.backends.onnxruntime.providers.opening import setup_of
from enginescope.backends.onnxruntime.providers.providers import CPU, NAMED
from enginescope.backends.onnxruntime.session import OrtSession
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.record import replace
from enginescope.records.progress import Progress
from enginescope.records.run import job as jobs
from enginescope.records.run.job import Job, StopRule, Subject, WarmUp, Workload
from enginescope.records.tensor import DataType
from enginescope.runner.inputs.inputs import make_feeds
from tests.backends.onnxruntime import models
from tests.backends.onnxruntime.gpu_runtime import CUDA, TENSORRT, GpuRuntime

QUICK = Workload(warmup=WarmUp(time_ms=1, iterations=1, limit_ms=20), stop=StopRule(iterations=15))
VERSION = tuple(map(int, onnxruntime.__version__.split(".")[:2]))
HAS_ASSIGNMENT = VERSION >= (1, 24)


def job_for(path: Path, workload: Workload = QUICK, **options: str) -> Job:
    subject = Subject(name=path.name, kind="onnx", path=str(path))
    spec = jobs.BackendSpec(name="ort-cpu", options=options)
    return Job(subject=subject, backend=spec, workload=workload)


def executed(job: Job, backend: OrtBackend | None = None, sink=lambda _: None) -> Measured:
    return (backend or cpu()).execute(job, lambda specs: make_feeds(specs, job.workload), sink)


def measured(path: Path, workload: Workload = QUICK, backend: OrtBackend | None = None) -> Measured:
    return executed(job_for(path, workload), backend)


def with_workload(**changes: Any) -> Workload:
    return Workload(warmup=QUICK.warmup, stop=QUICK.stop, **changes)


def opened(job: Job) -> OrtSession:
    return OrtSession(onnxruntime, job, setup_of(onnxruntime, job, CPU, None))


def test_a_model_is_measured(convnet) -> None:
    seen: list[Progress] = []
    result = executed(job_for(convnet), sink=seen.append)
    assert len(result.samples[0]) == 15
    assert result.providers == ("CPUExecutionProvider",)
    (image,), (scores,) = result.inputs, result.outputs
    assert (image.shape, image.dtype) == ((1, 3, 96, 96), DataType.FP32)
    assert (scores.shape, result.batch) == ((1, 100), 1)
    assert [one.code for one in result.notices] == ["I-DYNAMIC-SHAPE"]
    assert seen[0].phase == "load"
    if HAS_ASSIGNMENT:
        (share,) = result.placement
        assert share.provider == "CPUExecutionProvider"
        assert share.nodes > 20


def test_layer_times_and_the_executed_graph_come_from_a_separate_pass(convnet) -> None:
    result = measured(convnet)
    assert result.profile.source == "onnxruntime"
    assert result.profile.iterations >= 5
    kinds = {layer.kind for layer in result.profile.layers}
    assert "Gemm" in kinds
    assert "Conv" in kinds or "FusedConv" in kinds
    assert {layer.provider for layer in result.profile.layers} == {"CPUExecutionProvider"}
    found = attribute(result.plan, result.profile)
    assert found.unmatched == ()
    assert all(one.timing is not None for one in found.layers)
    assert len(plan_graph(result.plan).edges) >= len(result.plan.layers)
    assert None not in [one.shape for layer in result.plan.layers for one in layer.outputs]


def test_nodes_without_names_have_their_times(tmp_path) -> None:
    pool = {"kernel_shape": [2, 2]}
    nodes = [
        make_node("MaxPool", ["x"], ["1"], **pool),
        make_node("Sin", ["1"], ["2"]),
        make_node("MaxPool", ["2"], ["y"], **pool),
    ]
    ends = [models.info("x", 1, 1, 8, 8)], [models.info("y", 1, 1, 6, 6)]
    run = measured(models.write(tmp_path / "unnamed.onnx", nodes, *ends))
    found = attribute(run.plan, run.profile)
    assert found.unmatched == ()
    assert [one.timing.kind for one in found.layers] == ["MaxPool", "Sin", "MaxPool"]
    assert [(one.onnx_nodes, one.outputs[0].shape) for one in run.plan.layers] == [
        (("node_of_1",), (1, 1, 7, 7)),
        (("node_of_2",), (1, 1, 7, 7)),
        (("node_of_y",), (1, 1, 6, 6)),
    ]


def test_layer_times_can_be_left_out(convnet) -> None:
    assert executed(replace(job_for(convnet), layer_profile=False)).profile is None


def test_a_step_computes_what_a_plain_run_computes(convnet) -> None:
    session = opened(job_for(convnet))
    feeds = make_feeds(session.input_specs, with_workload(batch=3))
    session.bind(feeds)
    session.step()
    session.settle()
    binding = session._host._binding
    buffer = binding.get_outputs()[0].data_ptr()
    session.step()
    value = binding.get_outputs()[0]
    plain = onnxruntime.InferenceSession(str(convnet)).run(None, dict(feeds.arrays))
    np.testing.assert_allclose(value.numpy(), plain[0], rtol=1e-5, atol=1e-5)
    assert value.data_ptr() == buffer  # allocated once


def test_session_options_reach_the_session(convnet) -> None:
    threads = {"intra_op_num_threads": "1", "execution_mode": "sequential"}
    others = {"graph_optimization_level": "disable", "enable_mem_pattern": "0"}
    options = opened(job_for(convnet, **threads, **others)).session.get_session_options()
    assert options.intra_op_num_threads == 1
    assert options.graph_optimization_level.name == "ORT_DISABLE_ALL"
    assert options.enable_mem_pattern is False


@pytest.mark.parametrize(("given", "threads"), [({}, 2), ({"intra_op_num_threads": "1"}, 1)])
def test_threads_of_a_pinned_job_stay_on_its_cores(convnet, given, threads) -> None:
    """Left to itself the runtime pins a thread to each physical core of the whole machine."""
    session = opened(
        replace(job_for(convnet, **given), conditions=jobs.Conditions(pinned_cores=(0, 1)))
    )
    assert session.session.get_session_options().intra_op_num_threads == threads
    assert opened(job_for(convnet)).session.get_session_options().intra_op_num_threads == 0


def test_data_dependent_outputs(tmp_path) -> None:
    assert measured(models.nonzero(tmp_path / "m.onnx")).outputs[0].shape == (1, 16)


def test_strings(tmp_path) -> None:
    result = measured(models.strings(tmp_path / "m.onnx"))
    assert (result.outputs[0].dtype, result.outputs[0].shape) == (DataType.STRING, (3,))
    assert "I-NOT-BOUND" in {one.code for one in result.notices}


def test_sequences(tmp_path) -> None:
    result = measured(models.sequence(tmp_path / "m.onnx"))
    assert result.outputs[0].shape is None
    (notice,) = [one for one in result.notices if one.code == "I-OUTPUT-ALLOCATED"]
    assert notice.evidence == {"outputs": ["y"]}


def test_bfloat16_inputs(tmp_path) -> None:
    if not hasattr(onnxruntime.OrtValue, "ortvalue_from_numpy_with_onnx_type"):
        with pytest.raises(UnsupportedError, match="BF16 cannot be fed"):
            measured(models.bfloat16(tmp_path / "m.onnx"))
        return
    assert measured(models.bfloat16(tmp_path / "m.onnx")).inputs[0].dtype is DataType.BF16


CUT_OFF = "are not a valid ONNX model (truncated?)"


@pytest.mark.parametrize(
    ("content", "why", "hint"),
    [
        (b"\x08\x07\xff\xff\xff", f"its 5.00 B {CUT_OFF}", "may be cut off"),
        (b"", f"its 0 B {CUT_OFF}", "may be cut off"),
        (b"version https://git-lfs.github.com/spec/v1\n", "pointer of Git LFS", "git lfs pull"),
    ],
)
def test_a_file_that_holds_no_model(tmp_path, content, why, hint) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(BackendError, match=re.escape(why)) as caught:
        measured(path)
    assert hint in (caught.value.hint or "")
    path.write_bytes(b"not a protobuf")
    with pytest.raises(BackendError, match=r"loading m\.onnx"):
        measured(path)


def test_indices_out_of_range_point_to_range(tmp_path) -> None:
    path = models.lookup(tmp_path / "m.onnx")
    with pytest.raises(BackendError) as caught:
        measured(path, with_workload(shapes=(jobs.InputShape(name="ids", dims=(1, 64)),)))
    for words in ("has random integers", "--range ids:0:99", "ranges of a suite's [[model]]"):
        assert words in (caught.value.hint or "")
    ranges = (jobs.InputRange(name="ids", low=0, high=9),)
    assert measured(models.lookup(tmp_path / "m.onnx"), with_workload(ranges=ranges)).samples


@pytest.mark.skipif(VERSION < (1, 24), reason="ONNX Runtime 1.23 pads a size of 1 without a word")
def test_a_size_of_1_that_the_model_refuses_points_to_its_dimension(tmp_path) -> None:
    path = models.mirrored(tmp_path / "m.onnx")
    with pytest.raises(BackendError) as caught:
        measured(path)
    assert "dynamic dimension n (`x` 1x1); to set a size: --dim n=SIZE" in (caught.value.hint or "")
    assert measured(path, with_workload(shapes=(jobs.InputShape(name="x", dims=(1, 8)),))).samples


@pytest.mark.parametrize("change", [{"opset": 99}, {"ir": 99, "opset": 99}])
def test_versions_that_this_build_cannot_read(tmp_path, change) -> None:
    with pytest.raises(UnsupportedError) as caught:
        measured(models.relu(tmp_path / "m.onnx", **change))
    assert "newer onnxruntime" in (caught.value.hint or "")


def test_engines_are_not_for_onnx_runtime(tmp_path) -> None:
    engine = Subject(name="m.engine", kind="engine", path="m.engine")
    with pytest.raises(UnsupportedError, match="not an ONNX model"):
        executed(replace(job_for(Path("m.engine")), subject=engine))


@pytest.mark.parametrize("backend", [cuda(), tensorrt()])
def test_a_provider_that_this_wheel_lacks(tmp_path, backend) -> None:
    if backend.provider.name in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime has it")
    with pytest.raises(UnsupportedError, match="is not in this ONNX Runtime"):
        measured(models.relu(tmp_path / "m.onnx"), backend=backend)
    assert not backend.availability().usable


@pytest.mark.parametrize("provider", [CUDA, TENSORRT])
def test_a_silent_fallback_is_unsupported_never_a_latency(tmp_path, monkeypatch, provider) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", GpuRuntime(without=(CUDA, TENSORRT)))
    backend = OrtBackend(NAMED[provider])
    with pytest.raises(UnsupportedError, match="fell back to CPUExecutionProvider"):
        measured(models.relu(tmp_path / "m.onnx"), backend=backend)


def test_a_provider_that_takes_no_node_is_unsupported(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", GpuRuntime(leaves=("Relu",)))
    with pytest.raises(UnsupportedError, match=r"took no node.*CPUExecutionProvider 1"):
        measured(models.relu(tmp_path / "m.onnx"), backend=cuda())


def test_the_runtime_is_not_installed(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    state = cpu().availability()
    assert not state.usable
    assert "onnxruntime is not available" in state.detail
