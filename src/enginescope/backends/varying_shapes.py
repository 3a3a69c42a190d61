"""Requests whose shapes vary within a session: between shapes of a sweep, and in a decode loop.

Shapes come in random order, several times each, so that drift of the machine is not taken for an
effect of the shape.

Each next token is the one with the largest logit, as in greedy search.
"""

import gc
import random
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from time import perf_counter, perf_counter_ns
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from enginescope.backends.base import Arrays, Feeds, InputSpec, LoadedModel, Measured, ProgressSink
from enginescope.backends.loop import Recorder, TimedRecorder
from enginescope.backends.profile_bounds import hinting_at_inputs
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.core.process_control import gc_paused
from enginescope.core.record import Record, replace
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
from enginescope.probe.host import CpuLossMeter, LoadMeter, peak_rss_bytes
from enginescope.records.progress import Progress
from enginescope.records.run.job import InputShape, Job, ShapeRule
from enginescope.records.run.run import ShapeOutcome, ShapeVisit

#: Requests after the first one of a visit, at least.
_LEAST_LATER = 3


class Choice(NamedTuple):
    """The optimization profile for a shape, or why no profile has it."""

    profile: int | None = None
    why: str | None = None


class ChangingSession(LoadedModel, Protocol):
    """A loaded model whose shape can be changed."""

    @property
    def why_no_graph(self) -> str | None:
        """Why a CUDA graph could not be captured."""

    def choice(self, feeds: Feeds) -> Choice:
        """Return the optimization profile that runs this shape."""

    def change(self, point: int, feeds: Feeds) -> dict[str, float]:
        """Change to a shape; return what its parts took, in ms, by name.

        Raises:
            BackendError, UsageError, MemoryError: The model cannot be run with this shape.
        """

    def first(self) -> float:
        """Answer the first request after a change; return what it took, in ms."""

    def settle(self) -> dict[str, float]:
        """Do what follows the first request, such as the capture of a CUDA graph; as `change`."""

    def recorder(self) -> Recorder:
        """Return a recorder of requests of the present shape."""


@runtime_checkable
class Changing(Protocol):
    """A backend that can run one loaded model with several shapes."""

    def open_for_changes(self, job: Job) -> ChangingSession:
        """Load the model in this process.

        Raises:
            UnsupportedError: This machine or build cannot load it, or it runs one shape only.
        """


def measure_changes(
    rule: ShapeRule, session: ChangingSession, fed: Sequence[Feeds], progress: ProgressSink
) -> Measured:
    """Visit every shape of `rule` several times in random order.

    A shape that no optimization profile has, or that the model rejects, is named and not visited
    again.

    Args:
        fed: Inputs of each point.

    Raises:
        BackendError: No shape could be run.
    """
    choices = [session.choice(feeds) for feeds in fed]
    why = [choice.why for choice in choices]
    visits: list[ShapeVisit] = []
    order = visit_order(len(fed), rule)
    seen: dict[int, None] = {}
    gc.collect()
    meter, losses = LoadMeter(), CpuLossMeter()
    with gc_paused():
        # the first inference of a process is slow whatever its shape: it is no visit
        for at, point in enumerate((order[len(fed) - 1], *order)):
            if why[point] is not None:
                continue
            done = Progress(phase="steady_state", samples=at, fraction=at / len(order))
            pause = partial(progress, done)
            try:
                visit = _visit(session, point, fed[point], rule, pause)
            except (BackendError, UsageError, MemoryError) as error:
                why[point] = str(error) or "out of memory"
                visits = [earlier for earlier in visits if earlier.point != point]
                continue
            is_change = bool(seen) and point != next(reversed(seen))
            if at:
                visits.append(replace(visit, is_new=point not in seen, is_change=is_change))
            seen.pop(point, None)
            seen[point] = None
    if not visits:
        raise BackendError("no shape of the sweep can be run", why=next(filter(None, why), None))
    return Measured(
        peak_memory_bytes=peak_rss_bytes(),
        other_load_cores=meter.other_cores(),
        cpu_loss=losses.loss(),
        providers=session.providers,
        notices=session.notices(),
        shapes=ShapeOutcome(
            visits=tuple(visits),
            inputs=tuple(_dynamic(session.input_specs, feeds) for feeds in fed),
            profiles=tuple(choice.profile for choice in choices),
            why=tuple(why),
            why_no_graph=session.why_no_graph,
        ),
    )


def visit_order(points: int, rule: ShapeRule) -> list[int]:
    """Return every point `rule.visits` times, in random order, and none twice in a row."""
    draw = random.Random(rule.seed)  # noqa: S311 - an order to be repeated, no secret
    order: list[int] = []
    for _ in range(rule.visits):
        following = draw.sample(range(points), points)
        if order and points > 1 and following[0] == order[-1]:
            following.append(following.pop(0))
        order += following
    return order


def _visit(
    session: ChangingSession, point: int, fed: Feeds, rule: ShapeRule, pause: Callable[[], None]
) -> ShapeVisit:
    """Change to a shape and issue its requests; the last one follows a pause like the first."""
    pause()
    parts = session.change(point, fed)
    with hinting_at_inputs(fed.random_integers):
        first_ms = session.first()
    parts = {**parts, **session.settle()}
    recorder = session.recorder()
    begin = perf_counter()
    recorder.run(_LEAST_LATER)
    each_ms = 1e3 * (perf_counter() - begin) / _LEAST_LATER
    fitting = int(rule.visit_ms / max(each_ms, 1e-6))
    if more := max(0, min(rule.requests - 1, fitting) - _LEAST_LATER):
        recorder.run(more)
    times = recorder.times_ms(_LEAST_LATER + more)
    pause()
    recorder.run(1)
    return ShapeVisit(
        point=point,
        parts_ms=parts,
        first_ms=first_ms,
        later_ms=tuple(map(float, times)),
        same_ms=float(recorder.times_ms(1)[0]),
    )


def _dynamic(specs: Sequence[InputSpec], fed: Feeds) -> tuple[InputShape, ...]:
    names = (spec.name for spec in specs if any(not isinstance(dim, int) for dim in spec.shape))
    return tuple(InputShape(name=name, dims=tuple(fed.shapes[name])) for name in names)


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
        prompt = f"a prompt of {self.length} tokens after a past of {self.before}"
        message = f"a request is {prompt}, and {tokens} generated tokens; layers are not timed"
        evidence = {"prompt": self.length, "past": self.before, "tokens": tokens}
        return Notice("I-DECODE", message, evidence)


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
        hint = "export the decoder with past keys and values, or omit decode"
        raise UnsupportedError(f"{model} cannot generate tokens", why=f"it has {named}", hint=hint)
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
