"""Engines built and measured on the stand-in, of each version."""

from contextlib import closing

import numpy as np
import pytest

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.backends.base import Feeds
from enginescope.backends.tensorrt.backend import TrtBackend
from enginescope.core.errors import (
    BackendError,
    MissingDependencyError,
    UnsupportedError,
    UsageError,
)
from enginescope.records.run.job import BackendSpec, Job
from tests.backends.tensorrt.driving import (
    COUNT,
    LATENCY,
    THROUGHPUT,
    codes,
    expected,
    job,
    measure,
    metrics,
    report,
    series,
    with_engine,
    workload,
)
from tests.backends.tensorrt.driving import build as built
from tests.fakes import models

MODES = {
    "latency": (LATENCY, {"latency", "enqueue", "h2d", "gpu_compute", "d2h"}),
    "throughput": (THROUGHPUT, {"trtexec_latency", "enqueue", "gpu_compute"}),
}


def test_an_engine_answers_as_onnx_runtime_does(each, perceptron, engines) -> None:
    one = with_engine(job(perceptron, workload=workload(batch=5)), engines)
    found = measure(one)
    (answer,) = found.answers
    (wanted,) = expected(perceptron, one)
    np.testing.assert_allclose(answer.data, wanted, rtol=1e-6)
    assert found.batch == 5
    assert found.inputs[0].shape == (5, 4)
    assert found.outputs[0].shape == (5, 3)
    assert [layer.name for layer in found.plan.layers] == ["product", "activation"]
    assert found.devices[0].name == "Fake H200"
    assert found.device_memory.buffer_bytes == 4 * (5 * 4 + 5 * 3)
    available = TrtBackend().availability()
    assert available.usable
    assert available.detail == f"TensorRT {each.trt.__version__} on Fake H200"
    assert list(found.files) == ["perceptron.graph.json"]


@pytest.mark.parametrize("kind", MODES)
def test_each_mode_gives_its_metrics(each, perceptron, engines, kind) -> None:
    mode, wanted = MODES[kind]
    found = measure(with_engine(job(perceptron, workload=workload(mode=mode)), engines))
    assert metrics(found) == wanted
    assert {len(one) for one in found.samples} == {COUNT}
    assert found.mode.cuda_graph is True
    assert (found.wall_ms is None) == (kind == "latency")
    assert all((one.values_ms > 0).all() for one in found.samples)
    if kind == "throughput":
        assert np.median(series(found, "gpu_compute")) == pytest.approx(0.2, rel=0.02)


def test_layers_are_timed_in_a_pass_of_their_own(each, perceptron, engines, monkeypatch) -> None:
    monkeypatch.setattr("enginescope.backends.tensorrt.profile_pass.ENOUGH_MS", 1.0)
    found = measure(with_engine(job(perceptron, layer_profile=True), engines))
    assert found.profile.source == "tensorrt"
    assert found.profile.iterations == 20
    assert [one.name for one in found.profile.layers] == ["product", "activation"]
    assert sum(one.share_pct for one in found.profile.layers) == pytest.approx(100)
    sum_ms = layer_times(found.profile).sum_ms
    assert sum_ms == pytest.approx(0.2, rel=0.01)  # FAKE_TENSORRT_COMPUTE_US
    assert [one.name for one in found.phases][-1] == "layer_profile"


def test_what_a_build_says_of_itself(each, perceptron, engines) -> None:
    found = built(job(perceptron, engine_cache=str(engines), workspace="1MiB"))
    made = report(found)
    assert made.tensorrt == each.trt.__version__
    assert made.options == {"workspace": "1MiB"}
    assert made.layers == 2
    assert not made.from_cache
    assert made.build_ms is not None
    assert found.plan is not None
    assert found.devices[0].name == "Fake H200"
    assert codes(found) == {"W-BUILD-SHAPE"}
    assert made.notices == found.notices


def test_options_and_precisions_that_do_not_exist_are_refused_before_anything_starts() -> None:
    backend = TrtBackend()
    for precision, options, words in (
        ("fp61", {}, "no precision 'fp61'"),
        ("fp32", {}, "without a precision"),
        ("int8+fp8", {}, "does not mix"),
        (None, {"workspac": "1"}, "no option 'workspac'"),
        (None, {"workspace": "much"}, "a size"),
        (None, {"tf32": "yes"}, "0 or 1"),
        (None, {"max_aux_streams": "two"}, "a whole number"),
        (None, {"persistent_cache_ratio": "2"}, "from 0 to 1"),
        (None, {"sparsity": "some"}, "disable or enable or force"),
        (None, {"tactic_sources": "CUDNN"}, "names with + or -"),
        (None, {"opt_shapes": "x:ax3"}, "NAME:1x3"),
        (None, {"opt_shapes": "x"}, "NAME:1x3"),
        (None, {"memory_pools": "workspace:big"}, "a size"),
        (None, {"timing_cache": ""}, "a value"),
        (None, {"weight_streaming_budget": "half"}, "a size"),
    ):
        with pytest.raises(UsageError) as caught:
            backend.check(BackendSpec(name="trt", precision=precision, options=options))
        assert words in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("fault", ["no_gpu", "no_driver"])
def test_a_machine_without_a_gpu_is_told_in_one_line(use, monkeypatch, fault) -> None:
    use("10.16.1", fault)
    with pytest.raises(MissingDependencyError, match="no NVIDIA GPU") as caught:
        TrtBackend().require(BackendSpec(name="trt"))
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    found = TrtBackend().availability()
    assert not found.usable
    assert "looking for a GPU" in found.detail
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # the GPU is hidden
    with pytest.raises(MissingDependencyError) as caught:
        TrtBackend().require(BackendSpec(name="trt"))
    assert "CUDA_VISIBLE_DEVICES is ''" in (caught.value.hint or "")


def test_the_device_of_the_option_is_taken_and_one_that_does_not_exist_refused(
    use, perceptron, engines
) -> None:
    fake = use(FAKE_CUDA_DEVICES="2")
    TrtBackend().require(BackendSpec(name="trt", options={"device": "1"}))
    for device, words in (("2", "shows 2"), ("-1", "0 or more")):
        with pytest.raises(UsageError, match=words):
            TrtBackend().require(BackendSpec(name="trt", options={"device": device}))
    measure(with_engine(job(perceptron, device="1"), engines))
    assert fake.device.current == 1


# samples answered by an engine, against NumPy


def answering(one: Job):
    backend = TrtBackend()
    backend.prepare()
    return closing(backend.open_for_answers(one))


def feeds(**arrays) -> Feeds:
    return Feeds(arrays=arrays, batch=1, shapes={name: one.shape for name, one in arrays.items()})


def test_samples_of_one_shape_and_of_others_are_answered(each, perceptron, tmp_path) -> None:
    dims = {"min_shapes": "x:1x4", "opt_shapes": "x:4x4", "max_shapes": "x:8x4"}
    generator = np.random.default_rng(0)
    with answering(with_engine(job(perceptron, **dims), tmp_path / "engines")) as session:
        for rows in (2, 2, 5, 5, 1):
            x = generator.standard_normal((rows, 4)).astype(np.float32)
            (found,) = session.answer(feeds(x=x))
            assert (found.name, found.shape) == ("y", (rows, 3))
            np.testing.assert_allclose(found.data, np.maximum(x @ models.WEIGHTS, 0), 1e-5)
        before = each.cuda.cudaMemGetInfo()
        for _ in range(20):
            session.answer(feeds(x=x))
        assert each.cuda.cudaMemGetInfo() == before
        inputs, outputs = session.bindings()
        assert [(one.name, one.shape) for one in inputs] == [("x", (None, 4))]
        assert outputs[0].name == "y"


def test_outputs_of_unknown_size_follow_their_values(each, tmp_path) -> None:
    built = with_engine(job(models.non_zero(tmp_path / "m.onnx")), tmp_path / "engines")
    with answering(built) as session:
        for count in (3, 0, 6, 1):
            x = np.zeros(6, np.float32)
            x[:count] = 1
            (found,) = session.answer(feeds(x=x))
            assert found.data.tolist() == [list(range(count))]


def test_an_engine_that_cannot_answer_is_refused(use, perceptron, tmp_path, monkeypatch) -> None:
    fake = use("8.6.0")
    with pytest.raises(BackendError, match="was not built"):
        answering(job(perceptron))
    built = with_engine(job(perceptron), tmp_path / "engines")
    monkeypatch.setattr(fake.trt.ICudaEngine, "has_implicit_batch_dimension", True)
    with pytest.raises(UnsupportedError, match="implicit batch"):
        answering(built)
