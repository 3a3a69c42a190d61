"""A decode loop on ONNX Runtime.

Keys and values stay where ONNX Runtime puts them; the logits of a step come to the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enginescope.backends.base import Feeds
from enginescope.backends.decoding import (
    DecodeLoop,
    DecodeRecorder,
    largest,
    prompt_of,
    require_presents,
)
from enginescope.backends.onnxruntime.options import dtype_of
from enginescope.backends.onnxruntime.providers.missing import translated
from enginescope.backends.onnxruntime.providers.opening import Setup
from enginescope.backends.onnxruntime.providers.providers import Provider
from enginescope.backends.onnxruntime.requests import host_value
from enginescope.backends.onnxruntime.session import OrtSession
from enginescope.core.errors import UnsupportedError
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array
from enginescope.records.run.job import Job, Mode
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import Tensor


def check_growing(provider: Provider, options: Mapping[str, str]) -> None:
    """Raise for a provider that would build an engine anew for each length of the past."""
    if provider.cache_options and not any(key.endswith("profile_max_shapes") for key in options):
        start = next(iter(provider.cache_options)).partition("_")[0]
        raise UnsupportedError(
            f"{provider.name} would build an engine for each token",
            why="no option gives the range of lengths",
            hint=f"{start}_profile_min_shapes, {start}_profile_opt_shapes and "
            f"{start}_profile_max_shapes",
        )


class DecodeSession(OrtSession):
    """A session of which each step generates tokens from the prompt that was bound.

    Attributes:
        loop: The requests, with the tokens of the last one.
    """

    def __init__(self, ort: Any, job: Job, setup: Setup) -> None:
        check_growing(setup.provider, job.backend.options)
        super().__init__(ort, job, setup)
        self.loop = DecodeLoop(job.workload.mode.decode or 0, self._run)
        self._outputs = {one.name: dtype_of(one.type) for one in self._session.get_outputs()}
        self._presents, self._logits = require_presents(
            job.subject.name, self._types, self._outputs
        )
        self._place = ("cuda", self._index) if setup.provider.on_cuda else ("cpu", 0)
        self._last: dict[str, Any] = {}
        if self._in_flight > 1 or self._asked.call:
            raise UnsupportedError("generating tokens", why="one request at a time generates them")
        if self._is_graph:
            raise UnsupportedError(
                "a CUDA graph cannot generate tokens",
                why="shapes grow with each",
                hint="--graph off",
            )

    @property
    def mode(self) -> Mode:
        return replace(super().mode, decode=self.loop.tokens)

    def bind(self, feeds: Feeds) -> None:
        """Keep the prompt, the past before it included."""
        self._arrays = feeds.arrays
        with translated("binding the inputs"):
            types = {spec.name: spec.type_text for spec in self.input_specs}
            self._first_values = {
                name: host_value(self._ort, values, types[name], feeds.shapes.get(name))
                for name, values in feeds.arrays.items()
            }
        shapes = {name: values.shape for name, values in feeds.arrays.items()}
        integers = (name for name, values in feeds.arrays.items() if values.dtype.kind == "i")
        self._prompt = prompt_of(shapes, integers)

    def _guarded(self) -> None:
        with translated("generating the first tokens"):
            self.loop.request()

    def _run(self, number: int, chosen: Array | None) -> Array:
        fed = self._first_values
        if chosen is not None:
            values = self._prompt.values_after(number, chosen, self._arrays)
            make = self._ort.OrtValue.ortvalue_from_numpy
            past = {name: self._last[present] for name, present in self._presents.items()}
            fed = {**fed, **past, **{name: make(one) for name, one in values.items()}}
        binding = self._session.io_binding()
        for name, value in fed.items():
            binding.bind_ortvalue_input(name, value)
        for name in self._outputs:
            binding.bind_output(name, *self._place)
        self._session.run_with_iobinding(binding)
        self._last = dict(zip(self._outputs, binding.get_outputs(), strict=True))
        return largest(self._last[self._logits].numpy(), self._prompt.rows)

    def settle(self) -> None:
        if self._memory is not None:
            self._memory.stop()
        self.step = self.loop.request

    def recorder(self) -> DecodeRecorder:
        return DecodeRecorder(self.loop)

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return the inputs of the prompt, and the outputs of the last token."""
        outputs = (
            Tensor(name=name, shape=tuple(self._last[name].shape()), dtype=dtype)
            for name, dtype in self._outputs.items()
        )
        return super().tensors()[0], tuple(outputs)

    def notices(self) -> tuple[Notice, ...]:
        return (*super().notices(), self._prompt.notice(self.loop.tokens))

    def answers(self) -> tuple[TensorValues, ...]:
        """Return nothing: outputs of a decode loop are not compared."""
        return ()
