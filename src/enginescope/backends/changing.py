"""Change between shapes in one session: the first request of each against the later ones.

Shapes come in random order, several times each, so that drift of the machine is not taken for an
effect of the shape.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import NamedTuple, Protocol, runtime_checkable

from enginescope.backends.base import Feeds, InputSpec, LoadedModel, Measured, ProgressSink
from enginescope.backends.loop import Recorder
from enginescope.backends.profile_bounds import with_range_hint
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.gc_paused import gc_paused
from enginescope.core.record import replace
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
    meter, losses = LoadMeter(), CpuLossMeter()
    seen: dict[int, None] = {}
    gc.collect()
    meter.start()
    losses.start()
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
    try:
        first_ms = session.first()
    except BackendError as error:
        raise with_range_hint(error, fed.random_integers) from error
    parts = {**parts, **session.settle()}
    recorder = session.recorder()
    begin = perf_counter()
    recorder.run(_LEAST_LATER)
    each_ms = 1e3 * (perf_counter() - begin) / _LEAST_LATER
    fitting = int(rule.visit_ms / max(each_ms, 1e-6))
    more = max(0, min(rule.requests - 1, fitting) - _LEAST_LATER)
    if more:
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
