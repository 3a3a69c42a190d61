"""Engines that do not load, contexts that do not fit, runtimes that only run."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from enginescope.backends.tensorrt.run.session import must_be_runnable
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.records.run.job import Subject
from tests.backends.tensorrt.driving import build, codes, job, measure, opened, report, with_engine
from tests.fakes import models


def engine_file(path: Path, to: Path, **options: str) -> Path:
    made = report(build(job(path, engine_cache=str(to.parent / "cache"), **options)))
    to.write_bytes(Path(made.engine).read_bytes())
    return to


def test_an_engine_file_is_measured_as_it_is_and_must_be_a_plan(each, perceptron, tmp_path) -> None:
    path = engine_file(perceptron, tmp_path / "net.plan")
    found = measure(job(path))
    assert found.plan.name == "net"
    assert list(found.files) == ["net.graph.json"]
    for content in (b"", b"garbage", b"PK\x03\x04 a zip file, perhaps a model"):
        path.write_bytes(content)
        with pytest.raises(UnsupportedError, match="cannot load") as caught:
            measure(job(path))
        assert "is it a TensorRT plan" in (caught.value.hint or "")
    path.unlink()
    with pytest.raises(UsageError, match="No such file"):
        measure(job(path))


@pytest.mark.parametrize(("builds", "runs"), [("8.6.0", "10.16.1"), ("11.4.0", "8.6.0")])
def test_an_engine_of_another_version_says_so(use, perceptron, tmp_path, builds, runs) -> None:
    use(builds)
    path = engine_file(perceptron, tmp_path / "net.plan")
    use(runs)
    with pytest.raises(UnsupportedError, match=f"TensorRT {runs}.* cannot load") as caught:
        measure(job(path))
    assert "stdVersionRead" in str(caught.value)
    assert "version_compatible=1" in (caught.value.hint or "")


def test_a_version_compatible_plan_runs_on_a_later_one(use, perceptron, tmp_path) -> None:
    use("8.6.0")
    path = engine_file(perceptron, tmp_path / "net.plan", version_compatible="1")
    use("10.16.1")
    found = measure(job(path))
    assert found.plan is None
    assert "W-NO-PLAN" in codes(found)
    assert found.files == {}


def test_only_models_and_engines_run() -> None:
    with pytest.raises(UnsupportedError, match="neither a model nor a plan"):
        must_be_runnable(job(Path("a.engine"), subject=Subject(name="s", kind="synthetic")))
    with pytest.raises(BackendError, match="its engine was not built"):
        must_be_runnable(job(Path("a.onnx")))


# ways to allocate


def test_ways_to_allocate_and_weights_that_do_not_stream(each, perceptron, engines) -> None:
    for way in ("static", "profile"):
        one = with_engine(job(perceptron, allocation=way), engines)
        if not each.trt.__version__.startswith("8"):
            assert len(measure(one).samples[0])
            continue
        with pytest.raises(UnsupportedError, match="allocates statically"):
            measure(one)
    one = with_engine(job(perceptron, weight_streaming_budget="auto"), engines)
    with pytest.raises(UnsupportedError, match=r"no streamable weights|is older"):
        measure(one)


def test_memory_cache_and_temporary_files_of_a_session(use, perceptron, engines) -> None:
    use()
    with pytest.raises(UnsupportedError, match="not offered"):
        measure(with_engine(job(perceptron, allocation="runtime"), engines))
    with opened(with_engine(job(perceptron, persistent_cache_ratio="0.5"), engines)) as session:
        assert session.contexts[0].persistent_cache_limit == 16 << 20
    options = {"tempdir": "/somewhere", "tempfile_controls": "in_memory:deny,temporary:allow"}
    with opened(with_engine(job(perceptron, **options), engines)) as session:
        assert session._runtime.temporary_directory == "/somewhere"
        assert session._runtime.tempfile_control_flags == 2
    for wrong in ("in_memory:perhaps", "attic:allow"):
        with pytest.raises(UsageError, match=f"tempfile_controls={wrong}"):
            measure(with_engine(job(perceptron, tempfile_controls=wrong), engines))


def test_no_context_without_a_reason_is_out_of_memory(
    use, perceptron, engines, monkeypatch
) -> None:
    fake = use()
    one = with_engine(job(perceptron), engines)
    monkeypatch.setattr(fake.trt.ICudaEngine, "create_execution_context", lambda *_: None)
    with pytest.raises(MemoryError, match="no reason"):
        measure(one)

    def refuses(engine, *_):
        engine._error("Error Code 3: API Usage Error (something else)")

    monkeypatch.setattr(fake.trt.ICudaEngine, "create_execution_context", refuses)
    with pytest.raises(BackendError, match="something else"):
        measure(one)
    assert fake.device.memory.live() == ()


def test_a_budget_for_streamed_weights(use, perceptron, engines) -> None:
    use()
    streamed = {"weight_streaming": "1", "strongly_typed": "1"}
    budgets = {"auto": 48, "off": 48, "50%": 24, "16": 16, "1KiB": 48}
    for budget, nbytes in budgets.items():
        one = job(perceptron, **streamed, weight_streaming_budget=budget)
        with opened(with_engine(one, engines)) as session:
            assert session.engine.weight_streaming_budget_v2 == nbytes
            assert session.device_memory().streamable_weights_bytes == 48


# refitting


def test_weights_of_another_model(each, perceptron, tmp_path, engines) -> None:
    one = with_engine(job(perceptron, refit="1"), engines)
    before = measure(one).answers[0].data
    model = onnx.load(perceptron)
    weights = onnx.numpy_helper.to_array(model.graph.initializer[0])
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights * 2, "w"))
    other = tmp_path / "other.onnx"
    onnx.save(model, other)
    spec = replace(one.backend, options={"refit": "1", "refit_from": str(other)})
    refitted = replace(one, backend=spec)
    if each.trt.__version__.startswith("8"):
        with pytest.raises(UnsupportedError, match="refit_from"):
            measure(refitted)
        return
    np.testing.assert_allclose(measure(refitted).answers[0].data, before * 2, rtol=1e-6)


def test_an_engine_that_cannot_be_refitted(use, perceptron, tmp_path, engines) -> None:
    use()
    with pytest.raises(UnsupportedError, match="not refittable"):
        measure(with_engine(job(perceptron, refit_from=str(perceptron)), engines))
    with pytest.raises(UsageError, match="no such file"):
        measure(with_engine(job(perceptron, refit="1", refit_from="absent.onnx"), engines))
    image = models.image(tmp_path / "image.onnx")
    found = with_engine(job(perceptron, refit="1", refit_from=str(image)), engines)
    assert len(measure(found).samples[0])  # a model without weights fits anything
