"""ONNX Runtime's answers: plain runs, whatever types the outputs have."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.onnxruntime.options import dtype_of
from enginescope.backends.onnxruntime.providers.missing import translated
from enginescope.backends.onnxruntime.providers.opening import Setup
from enginescope.backends.onnxruntime.requests import RAW, host_value
from enginescope.backends.onnxruntime.session import OrtSession
from enginescope.formats.tensors.answer_files import tensor_of
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Job
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import Tensor


class OrtAnswers:
    """A session that answers samples of any shape."""

    def __init__(self, ort: Any, job: Job, setup: Setup) -> None:
        self._ort = ort
        self._opened = OrtSession(ort, job, setup)
        self._session = self._opened.session
        self.input_specs: tuple[InputSpec, ...] = self._opened.input_specs
        self.providers: tuple[str, ...] = self._opened.providers

    def bindings(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return inputs and outputs as the model declares them."""
        return (
            tuple(_tensor(one) for one in self._session.get_inputs()),
            tuple(_tensor(one) for one in self._session.get_outputs()),
        )

    def answer(self, feeds: Feeds) -> tuple[TensorValues, ...]:
        """Return the outputs for these inputs."""
        names = [one.name for one in self._session.get_outputs()]
        with translated("running the model"):
            if all(spec.dtype not in RAW for spec in self.input_specs):
                values = self._session.run(None, dict(feeds.arrays))
            else:
                types = {spec.name: spec.type_text for spec in self.input_specs}
                given = {
                    name: host_value(self._ort, array, types[name], feeds.shapes.get(name))
                    for name, array in feeds.arrays.items()
                }
                values = [one.numpy() for one in self._session.run_with_ort_values(None, given)]
        flat = [
            part for name, value in zip(names, values, strict=True) for part in _parts(name, value)
        ]
        return tuple(tensor_of(name, array) for name, array in flat)

    def notices(self) -> tuple[Notice, ...]:
        """Nothing: nothing is timed."""
        return ()

    def close(self) -> None:
        """Release nothing: ONNX Runtime does so with a session that nobody refers to."""
        self._opened.close()


def _tensor(argument: Any) -> Tensor:
    shape = tuple(dim if isinstance(dim, int) and dim >= 0 else None for dim in argument.shape)
    dtype = dtype_of(argument.type)
    return Tensor(name=argument.name, shape=shape if dtype is not None else None, dtype=dtype)


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return an output as tensors: a sequence's members by number, a map's keys and values."""
    if value is None:  # an optional that holds nothing
        return []
    if isinstance(value, dict):
        keys = sorted(value)
        made = [(f"{name}.keys", np.asarray(keys))]
        return [*made, (f"{name}.values", np.asarray([value[key] for key in keys]))]
    if isinstance(value, list):
        return [part for at, one in enumerate(value) for part in _parts(f"{name}[{at}]", one)]
    return [(name, np.asarray(value))]
