"""ONNX Runtime's CUDA and TensorRT providers on a real GPU, held against its CPU provider.

``ENGINESCOPE_GPU_ORT``: the backends to test, such as ``ort-trt``; by default those this ONNX
Runtime was built with. ``ENGINESCOPE_GPU_ORT_OPTIONS``: options they need here, such as
``leftover=cpu&trt_tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT&trt_builder_optimization_level=1``.
"""

import os
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import helper

from enginescope.analysis.runs.run_view import RunView
from enginescope.backends.onnxruntime.providers.providers import NAMED
from enginescope.core.record import replace
from enginescope.records.run.job import InputShape
from enginescope.records.run.run import OutcomeKind, Run
from tests.backends.onnxruntime import models
from tests.gpu.conftest import SHORT, Measuring, model_files, ok
from tests.gpu.test_measuring import difference, reference

OPTIONS = os.environ.get("ENGINESCOPE_GPU_ORT_OPTIONS", "")
VERSION = tuple(map(int, onnxruntime.__version__.split(".")[:2]))
#: What FP16, and TF32 in convolutions of FP32, may differ by from FP32 on the CPU.
TOLERANCE = {"fp16": 0.02, None: 0.005}


def names() -> list[str]:
    asked = os.environ.get("ENGINESCOPE_GPU_ORT")
    if asked:
        return asked.split(",")
    if not Path("/dev/nvidia0").exists():
        return []
    built_with = onnxruntime.get_available_providers()
    return [one.backend for one in NAMED.values() if one.on_cuda and one.name in built_with]


PROVIDERS = {one.backend: one for one in NAMED.values()}
BACKENDS = [(name, precision) for name in names() for precision in (None, "fp16")]
IDS = [f"{name}:{precision}" if precision else name for name, precision in BACKENDS]
every = pytest.mark.parametrize(("name", "precision"), BACKENDS, ids=IDS)
pytestmark = pytest.mark.skipif(
    not BACKENDS, reason="no NVIDIA GPU, or an ONNX Runtime without its providers"
)
on_tensorrt = pytest.mark.skipif(
    "ort-trt" not in names(), reason="this ONNX Runtime has no TensorRT provider to test"
)


def spec(name: str, precision: str | None = None, **more: str) -> str:
    own = [f"{key}={value}" for key, value in more.items()]
    options = "&".join(part for part in (OPTIONS, *own) if part)
    head = f"{name}:{precision}" if precision else name
    return f"{head}?{options}" if options else head


def same_answers(run: Run, model: Path, precision: str | None = None) -> None:
    assert run.answers
    for answer, wanted in zip(run.answers, reference(model, run.job.workload), strict=True):
        assert difference(answer.data, wanted) < TOLERANCE[precision], answer.name


@every
@pytest.mark.parametrize("model", [None, *model_files()], ids=lambda one: one.stem if one else "-")
def test_times_with_and_without_copies(measure, samples, model, name, precision) -> None:
    model = model or samples[0]
    run = ok(measure(model, spec(name, precision)))
    assert run.providers[0] == PROVIDERS[name].name
    whole, resident = run.series("latency"), run.series("device_latency")
    assert len(whole) == len(resident)
    medians = [float(np.median(one.values_ms)) for one in (resident, whole)]
    assert 0 < medians[0] < 1.2 * medians[1]
    assert run.job.workload.mode.transfers is True
    assert RunView(run).throughput is not None
    same_answers(run, model, precision)
    ways = [one.evidence["way"] for one in run.notices if one.code == "I-PRECISION"]
    wanted = "switch" if precision in PROVIDERS[name].switches else "converter"
    assert ways == ([wanted] if precision else [])


@every
def test_memory_and_which_provider_ran_what(measure, samples, name, precision) -> None:
    run = ok(measure(samples[0], spec(name, precision)))
    assert run.peak_memory_bytes
    if run.device_memory is not None:  # in a container NVML may not know our process
        assert run.device_memory.process_peak_bytes
    if VERSION >= (1, 30):
        assert any(one.in_use_peak_bytes for one in run.arenas)
    own = PROVIDERS[name].name
    assert own in {one.provider for one in run.profile.layers}
    if VERSION < (1, 24):
        assert run.placement == ()
        return
    share = next(one for one in run.placement if one.provider == own)
    assert share.nodes > 0.5 * sum(one.nodes for one in run.placement)
    assert sum(share.operators.values()) == share.nodes


@every
@pytest.mark.parametrize("transfers", [True, False])
def test_one_way_alone(measure, samples, name, precision, transfers) -> None:
    run = ok(measure(samples[0], spec(name, precision), transfers=transfers))
    assert run.series("device_latency") is None
    assert run.job.workload.mode.transfers is transfers
    same_answers(run, samples[0], precision)


@every
def test_a_cuda_graph(measure, samples, name, precision) -> None:
    run = measure(samples[0], spec(name, precision), cuda_graph=True)
    if run.outcome.kind is OutcomeKind.UNSUPPORTED:
        assert "CUDA graph" in (run.outcome.message or "")
        return
    ok(run)
    assert run.job.workload.mode.cuda_graph is True
    assert run.series("device_latency") is not None
    same_answers(run, samples[0], precision)


@every
def test_dynamic_shapes(measure, samples, name, precision) -> None:
    """One after the other, in folders of their own."""
    image = InputShape(name="image", dims=(2, 3, 96, 96))
    keys = set()
    for shapes in ((), (image,)):
        run = ok(measure(samples[0], spec(name, precision), replace(SHORT, shapes=shapes)))
        assert run.outputs[0].shape == (2 if shapes else 1, 100)
        same_answers(run, samples[0], precision)
        keys.add(run.preparation.key if run.preparation else shapes)
    assert len(keys) == 2


def reduced(path: Path, width: int) -> Path:
    """Models of one graph name whose static shapes differ: issue 32254 of ONNX Runtime."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["squared"], name="square"),
        helper.make_node("ReduceSum", ["squared"], ["y"], name="sum", keepdims=1),
    ]
    return models.write(path, nodes, [models.info("x", 2, width)], [models.info("y", 1, 1)])


@every
def test_an_engine_of_another_shape_is_never_used(measure, tmp_path, name, precision) -> None:
    for width in (16, 64):
        (tmp_path / str(width)).mkdir()
        model = reduced(tmp_path / str(width) / "net.onnx", width)
        same_answers(ok(measure(model, spec(name, precision))), model, precision)


@on_tensorrt
def test_cold_and_warm(tmp_path, samples) -> None:
    measure = Measuring(tmp_path)
    cold = ok(measure(samples[0], spec("ort-trt", "fp16")))
    assert not cold.preparation.from_cache
    assert (cold.preparation.cache_files or 0) >= 1
    parts = [cold.phase_ms(one) for one in ("cold_load", "cold_first_inference")]
    again = [cold.phase_ms(one) for one in ("load", "first_inference")]
    assert sum(one or 0.0 for one in parts) > 2 * sum(one or 0.0 for one in again)
    warm = ok(measure(samples[0], spec("ort-trt", "fp16")))
    assert warm.preparation.from_cache
    assert warm.phase_ms("cold_load") is None
    assert warm.preparation.cold == cold.preparation.cold


@on_tensorrt
def test_fp16_by_conversion(measure, samples) -> None:
    pytest.importorskip("onnx_ir")
    run = ok(measure(samples[0], spec("ort-trt", "fp16", fp16_by="converter")))
    (notice,) = [one for one in run.notices if one.code == "I-PRECISION"]
    assert notice.evidence["tool"] == "onnxruntime.transformers.float16"
    same_answers(run, samples[0], "fp16")


@every
def test_a_model_that_the_provider_cannot_run(measure, tmp_path, name, precision) -> None:
    if precision:
        pytest.skip("there is nothing in it to convert")
    run = measure(models.strings(tmp_path / "strings.onnx"), spec(name))
    assert run.outcome.kind is OutcomeKind.UNSUPPORTED, run.outcome
    assert "took no node" in (run.outcome.message or "")
    assert run.samples == ()
