"""A decode loop: the model on the prompt, then once for each token, ``present`` fed to ``past``.

Each next token is the one of the largest logit, as greedy search has it. Keys and values stay where
ONNX Runtime puts them; the logits of a step come to the host.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from functools import partial
from time import perf_counter_ns
from typing import Any

import msgspec
import numpy as np

from enginescope.backends.base import Feeds
from enginescope.backends.onnxruntime.options import dtype_of
from enginescope.backends.onnxruntime.providers.missing import translated
from enginescope.backends.onnxruntime.providers.opening import Setup
from enginescope.backends.onnxruntime.providers.providers import Provider
from enginescope.backends.onnxruntime.requests import host_value
from enginescope.backends.onnxruntime.session import OrtSession
from enginescope.core.errors import UnsupportedError
from enginescope.formats.onnx.language_names import (
    HAS_PAST,
    is_mask,
    is_past,
    is_positions,
    is_segments,
    is_tokens,
    presents_of,
)
from enginescope.records.notice import Notice
from enginescope.records.run.job import Job, Mode
from enginescope.records.run.run import TensorValues
from enginescope.records.samples import Array, Samples, frozen
from enginescope.records.tensor import Tensor


def check_growing(provider: Provider, options: Mapping[str, str]) -> None:
    """Raise for a provider that would build an engine anew for each length of the past.

    Raises:
        UnsupportedError: It builds engines, and the options give them no range of shapes.
    """
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
        generated: Tokens of the last request: an array with one of each row for each step.
        first_ns, last_ns: When its first and its last token were known.
    """

    def __init__(self, ort: Any, job: Job, setup: Setup) -> None:
        check_growing(setup.provider, job.backend.options)
        super().__init__(ort, job, setup)
        self._tokens = job.workload.mode.decode or 0
        self._outputs = {one.name: dtype_of(one.type) for one in self._session.get_outputs()}
        self._presents = presents_of(self._types, self._outputs)
        self._place = ("cuda", self._index) if setup.provider.on_cuda else ("cpu", 0)
        self._last: dict[str, Any] = {}
        self.generated: list[Array] = []
        self.first_ns = self.last_ns = 0
        self._check(job.subject.name)

    def _check(self, model: str) -> None:
        lacking = [name for name in self._types if is_past(name) and name not in self._presents]
        if lacking or not self._presents:
            named = f"no present output for {lacking[0]}" if lacking else "no past_* input"
            raise UnsupportedError(
                f"{model} cannot generate tokens",
                why=f"it has {named}",
                hint="export the decoder with past keys and values, or omit decode",
            )
        if self._is_graph:
            raise UnsupportedError(
                "a CUDA graph cannot generate tokens",
                why="shapes grow with each",
                hint="--graph off",
            )

    @property
    def mode(self) -> Mode:
        """How requests are put."""
        return msgspec.structs.replace(super().mode, decode=self._tokens)

    def bind(self, feeds: Feeds) -> None:
        """Keep the prompt, the past before it included."""
        self._arrays = feeds.arrays
        with translated("binding the inputs"):
            self._prompt = {
                name: host_value(self._ort, values, self._types[name])
                for name, values in feeds.arrays.items()
            }
        ids = next((name for name in feeds.arrays if is_tokens(name)), None)
        others = (name for name in feeds.arrays if not is_mask(name) and not is_positions(name))
        plain = (name for name in others if feeds.arrays[name].dtype.kind == "i")
        self._ids = ids or next(plain, None)
        if self._ids is None or feeds.arrays[self._ids].ndim != 2:
            raise UnsupportedError("no tokens to generate", why="no input holds ids of tokens")
        self._rows, self._length = feeds.arrays[self._ids].shape
        past = next(feeds.arrays[name] for name in self._presents)
        self._before = past.shape[-2]

    def _guarded(self) -> None:
        with translated("generating the first tokens"):
            self._generate()

    def _generate(self) -> None:
        """Generate the tokens of a request; leave when the first and the last were known."""
        fed, self.generated = dict(self._prompt), []
        for number in range(self._tokens):
            outputs = self._run(fed)
            chosen = self._chosen(outputs)
            self.generated.append(chosen)
            self.last_ns = perf_counter_ns()
            if number == 0:
                self.first_ns = self.last_ns
            if number + 1 < self._tokens:
                fed = self._next(fed, outputs, chosen, number + 1)
        self._last = outputs

    def _run(self, fed: dict[str, Any]) -> dict[str, Any]:
        binding = self._session.io_binding()
        for name, value in fed.items():
            binding.bind_ortvalue_input(name, value)
        for name in self._outputs:
            binding.bind_output(name, *self._place)
        self._session.run_with_iobinding(binding)
        return dict(zip(self._outputs, binding.get_outputs(), strict=True))

    def _chosen(self, outputs: dict[str, Any]) -> Array:
        """Return the next token of each row."""
        presents = set(self._presents.values())
        name = "logits" if "logits" in outputs else next(x for x in outputs if x not in presents)
        logits = outputs[name].numpy()
        return np.asarray(logits.reshape(self._rows, -1, logits.shape[-1])[:, -1].argmax(-1))

    def _next(
        self, fed: dict[str, Any], outputs: dict[str, Any], chosen: Array, number: int
    ) -> dict[str, Any]:
        """Return the inputs of the next step: one token, after `number` generated ones."""
        total = self._before + self._length + number
        inputs = {name: outputs[present] for name, present in self._presents.items()}
        for name, values in self._arrays.items():
            if name == self._ids:
                step = chosen.reshape(-1, 1)
            elif is_mask(name):
                step = np.ones((self._rows, total))
            elif is_positions(name):
                step = np.full((self._rows, 1), total - 1)
            elif is_segments(name):
                step = values[:, -1:]
            elif name == HAS_PAST:
                step = np.ones_like(values)
            else:
                continue
            step = np.ascontiguousarray(step, dtype=values.dtype)
            inputs[name] = self._ort.OrtValue.ortvalue_from_numpy(step)
        return {**fed, **inputs}

    def settle(self) -> None:
        """After the first request: leave the step bare."""
        if self._memory is not None:
            self._memory.stop()
        self.step = self._generate

    def recorder(self) -> DecodeRecorder:
        """Return a new recorder of whole requests, first tokens and further tokens."""
        return DecodeRecorder(self, self._tokens)

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return the inputs of the prompt, and the outputs of the last token."""
        outputs = (
            Tensor(name=name, shape=tuple(self._last[name].shape()), dtype=dtype)
            for name, dtype in self._outputs.items()
        )
        return super().tensors()[0], tuple(outputs)

    def notices(self) -> tuple[Notice, ...]:
        """Return what a request consists of."""
        return (
            *super().notices(),
            Notice(
                code="I-DECODE",
                message=f"a request is a prompt of {self._length} tokens after a past of "
                f"{self._before}, and {self._tokens} generated tokens; layers are not timed",
                evidence={
                    "prompt": self._length,
                    "past": self._before,
                    "tokens": self._tokens,
                },
                level="info",
            ),
        )

    def answers(self) -> tuple[TensorValues, ...]:
        """Return nothing: outputs of a decode loop are not compared."""
        return ()


class DecodeRecorder:
    """Whole requests, and when the first token of each was known."""

    def __init__(self, session: DecodeSession, tokens: int) -> None:
        self._session, self._further = session, tokens - 1
        self._starts, self._firsts, self._ends = (array("q") for _ in range(3))  # nanoseconds
        self.issued = 0
        self.wall_ms = 0.0

    def __len__(self) -> int:
        """Return the number of requests so far."""
        return len(self._ends)

    def times_ms(self, last: int | None = None) -> Array:
        """Return the times of whole requests, or the last so many."""
        times = self._series(self._ends) - self._series(self._starts)
        shown: Array = (times if last is None else times[-last:]) / 1e6
        return shown

    def run(self, count: int, untimed: int = 0) -> None:
        """Time `count` requests, after `untimed` ones."""
        session, step = self._session, self._session.step
        self.issued += untimed + count
        for _ in range(untimed):
            step()
        begin = perf_counter_ns()
        for _ in range(count):
            self._starts.append(perf_counter_ns())
            step()
            self._firsts.append(session.first_ns)
            self._ends.append(session.last_ns)
        self.wall_ms += (perf_counter_ns() - begin) / 1e6

    def samples(self) -> tuple[Samples, ...]:
        """Return ``latency``, ``time_to_first_token`` and ``time_per_token``, in milliseconds."""
        starts, firsts, ends = map(self._series, (self._starts, self._firsts, self._ends))
        series = {
            "latency": ends - starts,
            "time_to_first_token": firsts - starts,
            "time_per_token": (ends - firsts) / self._further,
        }
        begun = frozen((starts - starts[0]) / 1e6 if starts.size else starts)
        make = partial(Samples, start_ms=begun)
        return tuple(
            make(metric=name, values_ms=frozen(values / 1e6)) for name, values in series.items()
        )

    @staticmethod
    def _series(times: array[int]) -> Array:
        series: Array = np.frombuffer(times, dtype=np.int64)
        return series
