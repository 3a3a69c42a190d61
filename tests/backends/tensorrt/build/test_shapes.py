"""Dynamic shapes, profiles, shapes as values, and shapes that only values decide."""

import numpy as np
import pytest

from enginescope.backends.tensorrt.build.profiles import NetworkInput, Span, spans_of
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.formats.trtexec.trtexec_flags import read_options
from enginescope.records.run.job import DimSize, InputFile, InputShape, Workload
from enginescope.runner.inputs.inputs import make_feeds
from enginescope.runner.model_inputs import settled_workload
from tests.backends.tensorrt import driving
from tests.fakes import models
from tests.runner.test_model_inputs import encoder

X = NetworkInput(name="x", shape=(None, 4))
IDS = NetworkInput(name="ids", shape=(2,), is_shape_tensor=True)
FIXED = NetworkInput(name="fixed", shape=(1, 3))


def spans(*inputs: NetworkInput, load: Workload | None = None, **options: str):
    return spans_of(inputs, read_options(options), load or Workload())


def test_a_bound_that_is_missing_is_its_neighbours() -> None:
    (only,), notices = spans(X, opt_shapes="x:3x4")
    assert only == {"x": Span(low=(3, 4), opt=(3, 4), high=(3, 4))}
    assert notices == ()
    (only,), _ = spans(X, min_shapes="x:1x4", max_shapes="x:8x4")
    assert only == {"x": Span(low=(1, 4), opt=(8, 4), high=(8, 4))}
    # without shapes for the build, those of the workload count
    (only,), notices = spans(X, load=Workload(shapes=(InputShape(name="x", dims=(6, 4)),)))
    assert only["x"].opt == (6, 4)
    assert notices == ()
    (only,), notices = spans(X, load=Workload(batch=5))
    assert only["x"].high == (5, 4)
    assert notices == ()


def test_what_nobody_says_is_one_and_noticed() -> None:
    (only,), (notice,) = spans(X, IDS, FIXED)
    assert only == {
        "x": Span(low=(1, 4), opt=(1, 4), high=(1, 4)),
        "ids": Span(low=(1, 1), opt=(1, 1), high=(1, 1)),
    }
    assert notice.code == "W-BUILD-SHAPE"
    assert "x 1x4, ids 1x1 only" in notice.message
    for option in ("--dim NAME=SIZE", "--opt-shape x:"):
        assert option in notice.message
    assert spans(FIXED) == ((), ())  # a model without dynamic inputs needs no profile


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"opt_shapes": "y:1x4"}, "no input called 'y'"),
        ({"opt_shapes": "x:1x4x1"}, "the model expects ?x4"),
        ({"min_shapes": "x:3x4", "opt_shapes": "x:2x4"}, "not in ascending order"),
        ({"min_shapes": "x:1x4;x:2x4", "opt_shapes": "x:2x4"}, "unequal numbers"),
        ({"min_shapes": "ids:1", "opt_shapes": "ids:1x2"}, "2 values"),
        ({"opt_shapes": "ids:1x2x3"}, "2 values"),
    ],
)
def test_shapes_that_cannot_be_are_refused(options, words) -> None:
    with pytest.raises(UsageError, match=words.replace("?", r"\?")):
        spans(X, IDS, **options)


def test_shapes_for_fixed_dimensions_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"the model has fixed dimensions: \?x4"):
        spans(X, IDS, opt_shapes="x:1x5")
    with pytest.raises(UsageError, match="no dynamic input"):
        spans(FIXED, opt_shapes="fixed:1x3")


def of_profile(one, index: str, **more):
    spec = replace(one.backend, options={**one.backend.options, "profile_index": index})
    return replace(one, backend=spec, workload=driving.workload(**more))


def test_each_profile_runs_at_its_optimum_and_within_its_bounds(each, perceptron, engines) -> None:
    """Two profiles: a batch of 1, and of 2 to 8, best 4."""
    sizes = {"min_shapes": "x:1x4;x:2x4", "opt_shapes": "x:1x4;x:4x4", "max_shapes": "x:1x4;x:8x4"}
    engine = driving.with_engine(driving.job(perceptron, **sizes), engines)
    for index, more, batch in (
        ("0", {}, 1),
        ("1", {}, 4),
        ("1", {"shapes": driving.shapes(x=(7, 4))}, 7),
        ("1", {"batch": 2}, 2),
        ("1", {"batch": 8, "mode": replace(driving.THROUGHPUT, streams=2)}, 8),
    ):
        one = of_profile(engine, index, **more)
        found = driving.measure(one)
        assert found.batch == batch
        assert found.inputs[0].shape == (batch, 4)
        np.testing.assert_allclose(
            found.answers[0].data, driving.expected(perceptron, one)[0], rtol=1e-6
        )
    for index, batch in (("0", 2), ("1", 1), ("1", 9)):
        one = of_profile(engine, index, shapes=driving.shapes(x=(batch, 4)))
        with pytest.raises(UsageError, match=f"shape {batch}x4 for input x") as caught:
            driving.measure(one)
        assert "--opt-shape" in (caught.value.hint or "")
    with pytest.raises(UsageError, match=r"profile_index=2.*2 optimization profiles, from 0"):
        driving.measure(of_profile(engine, "2"))
    # inputs of one batch
    path = models.two_inputs(engines / "two.onnx")
    one = driving.with_engine(driving.job(path, workload=driving.workload(batch=3)), engines)
    found = driving.measure(one)
    assert found.batch == 3
    np.testing.assert_allclose(found.answers[0].data, driving.expected(path, one)[0], rtol=1e-6)


def test_a_shape_that_is_an_input_is_fed_as_built(each, tmp_path, engines) -> None:
    path = models.expanded(tmp_path / "expanded.onnx")
    sizes = {"min_shapes": "shape:1x3", "opt_shapes": "shape:4x3", "max_shapes": "shape:8x3"}
    one = driving.with_engine(driving.job(path, **sizes), engines)
    found = driving.measure(one)
    assert found.answers[0].shape == (4, 3)
    np.testing.assert_allclose(found.answers[0].data, driving.expected(path, one)[0])
    assert [tensor.location for tensor in found.inputs] == ["Device", "Host"]
    asked = replace(one, workload=driving.workload(shapes=driving.shapes(shape=(6, 3))))
    assert driving.measure(asked).answers[0].shape == (6, 3)
    wrong = replace(one, workload=driving.workload(shapes=driving.shapes(shape=(6, 3, 1))))
    with pytest.raises(UsageError, match="2 values"):
        driving.measure(wrong)


@pytest.mark.parametrize(
    "mode", [driving.LATENCY, driving.THROUGHPUT], ids=["latency", "throughput"]
)
def test_outputs_whose_size_only_the_values_tell(each, tmp_path, engines, mode) -> None:
    path = models.non_zero(tmp_path / "where.onnx")
    file = tmp_path / "x.npy"
    np.save(file, np.array([0, 1, 0, 2, 3, 0], np.float32))
    load = driving.workload(mode=mode, files=(InputFile(name="x", path=str(file)),))
    one = driving.with_engine(driving.job(path, workload=load, stamps="0"), engines)
    found = driving.measure(one)
    assert found.mode.cuda_graph is False
    assert "I-NO-CUDA-GRAPH" in driving.codes(found)
    (answer,) = found.answers
    assert answer.data.tolist() == [[1, 3, 4]]
    assert found.outputs[0].shape == (1, 3)
    assert found.device_memory.buffer_bytes == 6 * 4 + 3 * answer.data.itemsize
    np.save(file, np.zeros(6, np.float32))  # no values at all
    (answer,) = driving.measure(one).answers
    assert answer.shape == (1, 0)
    assert answer.data.size == 0


def test_memory_that_an_output_cannot_get_is_out_of_memory(use, tmp_path, engines) -> None:
    use()
    one = driving.with_engine(driving.job(models.non_zero(tmp_path / "where.onnx")), engines)
    with driving.opened(one) as session:
        session.bind(make_feeds(session.input_specs, one.workload))
        session.lanes[0].grown["y"].take = lambda nbytes: 0
        with pytest.raises(MemoryError, match="OutOfMemory"):
            session.step()


@pytest.mark.parametrize(
    ("method", "result", "words"),
    [
        ("infer_shapes", ["x"], "nothing is known of x"),
        ("set_tensor_address", False, "binding x: TensorRT refused it"),
    ],
)
def test_what_a_context_refuses_names_its_tensor(
    use, perceptron, engines, monkeypatch, method, result, words
) -> None:
    use()
    one = driving.with_engine(driving.job(perceptron), engines)
    with driving.opened(one) as session:
        monkeypatch.setattr(type(session.contexts[0]), method, lambda *_: result)
        with pytest.raises(BackendError, match=words):
            session.bind(make_feeds(session.input_specs, one.workload))


def test_a_named_dimension_becomes_the_shape_that_an_engine_is_built_for(tmp_path) -> None:
    model = encoder(tmp_path / "net.onnx")
    inputs = [NetworkInput(name=one, shape=(None, None)) for one in ("ids", "types", "mask")]
    both = Workload(dims=(DimSize(name="batch", size=2), DimSize(name="seq", size=7)))
    (only,), notices = spans(*inputs, load=settled_workload([model], both))
    assert only["ids"].opt == (2, 7)
    assert notices == ()
    one = settled_workload([model], Workload(dims=both.dims[1:]))
    (only,), (notice,) = spans(*inputs, load=one)
    assert only["ids"].opt == (1, 7)
    assert "ids 1x7, types 1x7, mask 1x7" in notice.message
