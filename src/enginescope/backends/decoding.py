"""A decode loop: the model on the prompt, then once for each token, ``present`` fed to ``past``.

Each next token is the one with the largest logit, as in greedy search.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from time import perf_counter_ns

import numpy as np

from enginescope.backends.base import Arrays
from enginescope.backends.loop import TimedRecorder
from enginescope.core.errors import UnsupportedError
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_inputs import (
    HAS_PAST,
    is_mask,
    is_past,
    is_positions,
    is_segments,
    is_tokens,
    presents_of,
)
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array, Samples

Shape = tuple[int, ...]


class Prompt(Record, frozen=True, kw_only=True):
    """The first inputs of a decode loop, and which shapes and values follow.

    Attributes:
        shapes: Shapes of all inputs.
        ids: Input that holds the ids of the tokens.
        rows: Sequences in a request.
        length: Tokens of each sequence.
        before: Tokens of the past before them.
    """

    shapes: Mapping[str, Shape]
    ids: str
    rows: int
    length: int
    before: int

    def shapes_after(self, number: int) -> dict[str, Shape]:
        """Return the shapes of all inputs after `number` generated tokens."""
        if number == 0:
            return dict(self.shapes)
        total = self.before + self.length + number
        return {name: self._grown(name, shape, total) for name, shape in self.shapes.items()}

    def _grown(self, name: str, shape: Shape, total: int) -> Shape:
        if is_past(name):
            return (*shape[:-2], total - 1, shape[-1])
        if is_mask(name):
            return (*shape[:-1], total)
        if name == self.ids or is_positions(name) or is_segments(name):
            return (*shape[:-1], 1)
        return shape

    def values_after(self, number: int, chosen: Array, first: Arrays) -> dict[str, Array]:
        """Return the values that differ from those of the prompt, past keys and values aside.

        Args:
            number: Tokens generated so far, at least one.
            chosen: The last of them, for each row.
            first: Values of the prompt.
        """
        total = self.before + self.length + number
        changed: dict[str, Array] = {}
        for name, values in first.items():
            if name == self.ids:
                step = chosen.reshape(-1, 1)
            elif is_mask(name):
                step = np.ones((self.rows, total))
            elif is_positions(name):
                step = np.full((self.rows, 1), total - 1)
            elif is_segments(name):
                step = values[:, -1:]
            elif name == HAS_PAST:
                step = np.ones_like(values)
            else:
                continue
            changed[name] = np.ascontiguousarray(step, dtype=values.dtype)
        return changed

    def notice(self, tokens: int) -> Notice:
        return Notice(
            "I-DECODE",
            f"a request is a prompt of {self.length} tokens after a past of "
            f"{self.before}, and {tokens} generated tokens; layers are not timed",
            {"prompt": self.length, "past": self.before, "tokens": tokens},
        )


def prompt_of(shapes: Mapping[str, Shape], integers: Iterable[str]) -> Prompt:
    """Return the prompt that inputs of these shapes hold.

    Args:
        shapes: Shapes of all inputs, at least one of them a past.
        integers: Inputs that can hold ids, where no name says which does.
    """
    others = (name for name in integers if not (is_mask(name) or is_positions(name)))
    ids = next(filter(is_tokens, shapes), None) or next(others, None)
    if ids is None or len(shapes[ids]) != 2:
        raise UnsupportedError("no tokens to generate", why="no input holds ids of tokens")
    rows, length = shapes[ids]
    before = next(shape[-2] for name, shape in shapes.items() if is_past(name))
    return Prompt(shapes=shapes, ids=ids, rows=rows, length=length, before=before)


def require_presents(
    model: str, inputs: Iterable[str], outputs: Iterable[str]
) -> tuple[dict[str, str], str]:
    """Return the output that feeds each past input, and the output that holds the logits."""
    pasts, outputs = [name for name in inputs if is_past(name)], list(outputs)
    presents = presents_of(pasts, outputs)
    lacking = [name for name in pasts if name not in presents]
    if lacking or not presents:
        named = f"no present output for {lacking[0]}" if lacking else "no past_* input"
        raise UnsupportedError(
            f"{model} cannot generate tokens",
            why=f"it has {named}",
            hint="export the decoder with past keys and values, or omit decode",
        )
    rest = [name for name in outputs if name not in presents.values()]
    return presents, "logits" if "logits" in rest else rest[0]


def largest(logits: Array, rows: int) -> Array:
    """Return the next token of each row; logits of one or of all tokens, words last."""
    return np.asarray(logits.reshape(rows, -1, logits.shape[-1])[:, -1].argmax(-1))


class DecodeLoop:
    """Requests of a decode loop, one run of the model per token.

    Args:
        run: Runs the model after so many generated tokens, of which it gets the last for each row
            (``None``: on the prompt); returns the next one for each row.

    Attributes:
        generated: Tokens of the last request: an array with one of each row for each step.
        first_ns, last_ns: When its first and its last token were known.
    """

    def __init__(self, tokens: int, run: Callable[[int, Array | None], Array]) -> None:
        self.tokens = tokens
        self._run = run
        self.generated: list[Array] = []
        self.first_ns = self.last_ns = 0

    def request(self) -> None:
        self.generated = []
        chosen: Array | None = None
        for number in range(self.tokens):
            chosen = self._run(number, chosen)
            self.last_ns = perf_counter_ns()
            self.generated.append(chosen)
            if number == 0:
                self.first_ns = self.last_ns


class DecodeRecorder(TimedRecorder):
    """Whole requests, and when the first token of each was known."""

    def __init__(self, loop: DecodeLoop) -> None:
        super().__init__()
        self._loop = loop
        self._firsts = array("q")  # nanoseconds from the start

    def run(self, count: int, untimed: int = 0) -> None:
        loop = self._loop
        self.issued += untimed + count
        for _ in range(untimed):
            loop.request()
        begin = perf_counter_ns()
        for _ in range(count):
            started = perf_counter_ns()
            loop.request()
            self._starts.append(started)
            self._firsts.append(loop.first_ns - started)
            self._times.append(loop.last_ns - started)
        self.wall_ms += (perf_counter_ns() - begin) / 1e6

    def samples(self) -> tuple[Samples, ...]:
        """Return ``latency``, ``time_to_first_token`` and ``time_per_token``, in milliseconds."""
        whole, first = self.times_ms(), np.frombuffer(self._firsts, dtype=np.int64) / 1e6
        rest = (whole - first) / (self._loop.tokens - 1)
        series = {"latency": whole, "time_to_first_token": first, "time_per_token": rest}
        return self._series(series)
