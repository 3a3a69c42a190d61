"""What ``shapes`` is asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.formats.arrival_trace import read_trace
from enginescope.judge.comparison.ratio import MOST_ROUNDS
from enginescope.services.measurement.jobs import MeasureRequest, check_bounds

BATCHES = (1, 2, 4, 8, 16, 32)
ROUNDS = 8
#: Student's t needs two rounds; of two it is so wide that it says nothing.
LEAST_ROUNDS = 3
VISITS = 3
LEAST_VISITS = 2
REQUESTS = 20
LEAST_REQUESTS = 4
GAIN_PCT = 10.0
MOST_SHAPES = 64
MOST_PROFILES = 16
_SIZE = re.compile(r"[1-9]\d{0,9}")
_SPAN = re.compile(r"(\d{1,10}):(\d{1,10})(?::(\d{1,10}))?")
_DIMS = re.compile(r"\d+(x\d+)+")


class Sweep(Record, frozen=True, kw_only=True):
    """What changes from shape to shape.

    Attributes:
        name: ``batch``, a named dimension, or an input.
        sizes: In ascending order; empty: `shapes`.
        shapes: Whole shapes of the input.
    """

    name: str
    sizes: tuple[int, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()


class ShapesRequest(MeasureRequest, frozen=True, kw_only=True):
    """A model and its shapes.

    Attributes:
        model: An ONNX model or an engine.
        sweep: Shapes to measure.
        backend: By default the usual one of the model.
        gain_pct: At the knee no larger shape has so much more throughput.
        weights: By label; ``None``: all shapes alike.
        trace: A file of sizes in the order in which they come, in place of weights.
        profiles: Optimization profiles to propose, at most.
        rounds: Fresh processes.
        visits: How often a process changes to each shape.
        requests: Of one visit.
        workload: Other inputs, seed and mode; its stop rule and warm-up are not used.
    """

    model: Path
    sweep: Sweep = Sweep(name="batch", sizes=BATCHES)
    backend: str | None = None
    gain_pct: float = GAIN_PCT
    weights: Mapping[str, float] | None = None
    trace: Path | None = None
    profiles: int = 1
    rounds: int = ROUNDS
    visits: int = VISITS
    requests: int = REQUESTS


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return ``1,2,4``, ``1:8`` or ``16:64:16`` as sizes in ascending order, each once.

    Raises:
        UsageError: Not of that form, not above 0, or too many.
    """
    sizes: set[int] = set()
    for part in text.split(","):
        span = _SPAN.fullmatch(part.strip())
        if span is not None:
            first, last, step = int(span[1]), int(span[2]), int(span[3] or 1)
            if not 0 < first <= last or not step or (last - first) // step >= MOST_SHAPES:
                raise UsageError(
                    f"sizes {part}", why=f"they are not 1 to {MOST_SHAPES} sizes above 0"
                )
            sizes |= {*range(first, last + 1, step)}
        elif _SIZE.fullmatch(part.strip()):
            sizes.add(int(part))
        else:
            raise UsageError(f"{text!r} is not a list of sizes", hint="1,2,4,8 or FROM:TO:STEP")
    return tuple(sorted(sizes))


def parse_sweep(text: str) -> Sweep:
    """Return ``seq=16,32``, ``seq=16:64:16`` or ``image=1x3x224x224,1x3x256x256``.

    Raises:
        UsageError: Not of that form.
    """
    name, equals, values = text.rpartition("=")
    if not equals or not name:
        raise UsageError(f"{text!r} is not NAME=SIZES", hint="as in seq=16,32,64")
    parts = [part.strip() for part in values.split(",")]
    if all(map(_DIMS.fullmatch, parts)):
        shapes = {tuple(map(int, part.split("x"))) for part in parts}
        ordered = sorted(shapes, key=lambda dims: (math.prod(dims), dims))
        return Sweep(name=name, shapes=tuple(ordered))
    return Sweep(name=name, sizes=parse_sizes(values))


def parse_weight(text: str) -> tuple[str, float]:
    """Return ``8=0.5`` as a label and its weight.

    Raises:
        UsageError: Not of that form.
    """
    label, _, number = text.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        weight = -1.0
    if not label or not 0 <= weight < float("inf"):
        raise UsageError(f"{text!r} is not SHAPE=WEIGHT", hint="as in 8=0.5")
    return label, weight


def read_shape_trace(path: Path) -> tuple[int, ...]:
    """Return the sizes of a file, one a line.

    Raises:
        UsageError, FormatError: As `read_trace`.
    """
    return tuple(read_trace(path, _size, noun="size", expected="a size above 0"))


def _size(text: str) -> int | None:
    return int(text) if _SIZE.fullmatch(text) else None


def check_shapes_request(request: ShapesRequest) -> None:
    """Raise `UsageError` where a request cannot be, before anything is run."""
    sweep = request.sweep
    labels = labels_of(sweep)
    if not 2 <= len(labels) <= MOST_SHAPES:
        raise UsageError(
            f"{len(labels)} shape{'' if len(labels) == 1 else 's'} of {sweep.name}",
            why=f"a sweep has 2 to {MOST_SHAPES}",
        )
    check_bounds(
        ("rounds", request.rounds, LEAST_ROUNDS, MOST_ROUNDS),
        ("visits", request.visits, LEAST_VISITS, MOST_ROUNDS),
        ("requests", request.requests, LEAST_REQUESTS, MOST_ROUNDS),
        ("profiles", request.profiles, 1, MOST_PROFILES),
    )
    if not 0 < request.gain_pct <= 100:
        raise UsageError(f"`gain` {request.gain_pct:g}", why="it is not between 0 and 100")
    _check_weights(request, labels)


def _check_weights(request: ShapesRequest, labels: tuple[str, ...]) -> None:
    weights = request.weights
    if request.trace is not None and request.sweep.shapes:
        raise UsageError(
            "`trace`", why="its lines are sizes, and the sweep has whole shapes", hint="`weight`"
        )
    if weights is None:
        return
    if request.trace is not None:
        raise UsageError("`weight` and `trace`", why="each alone gives the weights")
    unknown = next((label for label in weights if label not in labels), None)
    if unknown is not None:
        raise UsageError(f"weight of shape {unknown}", why=f"the sweep has {', '.join(labels)}")
    if not any(weight > 0 for weight in weights.values()):
        raise UsageError("weights", why="none is above 0")


def labels_of(sweep: Sweep) -> tuple[str, ...]:
    """Return the names of the shapes of a sweep."""
    if sweep.shapes:
        return tuple("x".join(map(str, dims)) for dims in sweep.shapes)
    return tuple(map(str, sweep.sizes))
