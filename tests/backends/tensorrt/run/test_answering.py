"""Samples answered by an engine of the stand-in, against NumPy."""

import numpy as np
import pytest

from enginescope.backends.base import Feeds
from enginescope.backends.tensorrt.backend import TrtBackend
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.records.run.job import Job
from tests.backends.tensorrt.driving import job, shapes, with_engine, workload
from tests.fakes import models

GENERATOR = np.random.default_rng(0)


def opened(one: Job):
    backend = TrtBackend()
    backend.prepare()
    return backend.open_for_answers(one)


def feeds(**arrays) -> Feeds:
    return Feeds(arrays=arrays, batch=1, shapes={name: one.shape for name, one in arrays.items()})


def test_samples_of_one_shape_and_of_others_are_answered(each, perceptron, tmp_path) -> None:
    dims = {"min_shapes": "x:1x4", "opt_shapes": "x:4x4", "max_shapes": "x:8x4"}
    built = with_engine(job(perceptron, **dims), tmp_path / "engines")
    session = opened(built)
    try:
        for rows in (2, 2, 5, 5, 1):
            x = GENERATOR.standard_normal((rows, 4)).astype(np.float32)
            (found,) = session.answer(feeds(x=x))
            assert (found.name, found.shape) == ("y", (rows, 3))
            np.testing.assert_allclose(found.data, np.maximum(x @ models.WEIGHTS, 0), 1e-5)
        inputs, outputs = session.bindings()
        assert [(one.name, one.shape) for one in inputs] == [("x", (None, 4))]
        assert outputs[0].name == "y"
    finally:
        session.close()


def test_outputs_of_unknown_size_follow_their_values(each, tmp_path) -> None:
    built = with_engine(job(models.non_zero(tmp_path / "m.onnx")), tmp_path / "engines")
    session = opened(built)
    try:
        for count in (3, 0, 6, 1):
            x = np.zeros(6, np.float32)
            x[:count] = 1
            (found,) = session.answer(feeds(x=x))
            assert found.data.tolist() == [list(range(count))]
    finally:
        session.close()


def test_memory_does_not_grow_with_samples(use, tmp_path, perceptron) -> None:
    fake = use()
    one = job(perceptron, workload=workload(shapes=shapes(x=(2, 4))))
    session = opened(with_engine(one, tmp_path / "engines"))
    try:
        x = np.ones((2, 4), np.float32)
        session.answer(feeds(x=x))
        before = fake.cuda.cudaMemGetInfo()
        for _ in range(20):
            session.answer(feeds(x=x))
        assert fake.cuda.cudaMemGetInfo() == before
    finally:
        session.close()


def test_an_engine_that_was_not_built_is_refused(use, perceptron) -> None:
    use()
    with pytest.raises(BackendError, match="was not built"):
        opened(job(perceptron))


def test_an_engine_with_an_implicit_batch_is_refused(
    use, perceptron, tmp_path, monkeypatch
) -> None:
    fake = use("8.6.0")
    one = job(perceptron, workload=workload(shapes=shapes(x=(2, 4))))
    built = with_engine(one, tmp_path / "engines")
    monkeypatch.setattr(fake.trt.ICudaEngine, "has_implicit_batch_dimension", True)
    with pytest.raises(UnsupportedError, match="implicit batch"):
        opened(built)
