"""Samples answered by an engine of the stand-in, against NumPy."""

from contextlib import closing

import numpy as np
import pytest

from enginescope.backends.base import Feeds
from enginescope.backends.tensorrt.backend import TrtBackend
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.records.run.job import Job
from tests.backends.tensorrt.driving import job, with_engine
from tests.fakes import models


def opened(one: Job):
    backend = TrtBackend()
    backend.prepare()
    return closing(backend.open_for_answers(one))


def feeds(**arrays) -> Feeds:
    return Feeds(arrays=arrays, batch=1, shapes={name: one.shape for name, one in arrays.items()})


def test_samples_of_one_shape_and_of_others_are_answered(each, perceptron, tmp_path) -> None:
    dims = {"min_shapes": "x:1x4", "opt_shapes": "x:4x4", "max_shapes": "x:8x4"}
    generator = np.random.default_rng(0)
    with opened(with_engine(job(perceptron, **dims), tmp_path / "engines")) as session:
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
    with opened(built) as session:
        for count in (3, 0, 6, 1):
            x = np.zeros(6, np.float32)
            x[:count] = 1
            (found,) = session.answer(feeds(x=x))
            assert found.data.tolist() == [list(range(count))]


def test_an_engine_that_cannot_answer_is_refused(use, perceptron, tmp_path, monkeypatch) -> None:
    fake = use("8.6.0")
    with pytest.raises(BackendError, match="was not built"):
        opened(job(perceptron))
    built = with_engine(job(perceptron), tmp_path / "engines")
    monkeypatch.setattr(fake.trt.ICudaEngine, "has_implicit_batch_dimension", True)
    with pytest.raises(UnsupportedError, match="implicit batch"):
        opened(built)
