"""The order of layers by error, the Pareto front, and the model to propose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from enginescope.analysis.bisection.precision_proposals import front
from enginescope.core.record import replace
from enginescope.judge.comparison.hodges_lehmann import student_paired_shift
from enginescope.judge.samples import Interval
from enginescope.judge.verdict import RatioEstimate
from enginescope.records.verdict.sensitivity import (
    ConvertedModel,
    FrontPoint,
    LayerTime,
    SensitiveLayer,
)

#: Fewer samples do not show whether two errors differ.
_FEWEST_SAMPLES = 3
_MISS = 0.05

#: Return whether the times of two cumulative models clearly differ; ``None``: not known.
Distinct = Callable[[int, int], bool | None]


def saved_time(base_ms: float, value_ms: float, ratio: RatioEstimate, rounds: int) -> LayerTime:
    """Return what a model saves of FP32's time.

    Args:
        ratio: Its time ÷ FP32's.
    """
    ends, saved = ratio.interval, None
    if ends is not None:
        low, high = base_ms * (1 - ends.high), base_ms * (1 - ends.low)
        saved = Interval(low=low, high=high, confidence=ends.confidence)
    saved_ms = base_ms * (1 - ratio.ratio)
    return LayerTime(value_ms=value_ms, ratio=ratio, saved_ms=saved_ms, saved=saved, rounds=rounds)


def badness(model: ConvertedModel) -> float:
    """Return the error of outputs; infinite where it is not finite or not known."""
    return math.inf if model.error is None else model.error


def ranked(layers: Sequence[SensitiveLayer]) -> tuple[SensitiveLayer, ...]:
    """Return layers with their ranks, the largest error first.

    Layers have one rank whose errors the samples do not distinguish from the first of the rank:
    Student's interval of the paired logarithms, at 95 % for all comparisons together. Layers
    without an error come last.
    """
    known = [layer for layer in layers if layer.alone.state == "compared"]
    known.sort(key=lambda layer: -badness(layer.alone))
    others = [layer for layer in layers if layer not in known]
    confidence = 1 - _MISS / max(1, len(known) - 1)
    ordered: list[SensitiveLayer] = []
    head: SensitiveLayer | None = None
    for place, layer in enumerate(known, start=1):
        differs = head is None or errors_differ(head.alone, layer.alone, confidence=confidence)
        if differs is None:
            return (*known, *others)
        if head is None or differs:
            head = replace(layer, rank=place)
        ordered.append(replace(layer, rank=head.rank))
    return (*ordered, *others)


def errors_differ(a: ConvertedModel, b: ConvertedModel, *, confidence: float) -> bool | None:
    """Return whether the samples distinguish two errors; ``None`` of fewer than three samples."""
    if len(a.sample_errors) < _FEWEST_SAMPLES or len(a.sample_errors) != len(b.sample_errors):
        return None
    if a.error is None or b.error is None:
        return (a.error is None) is not (b.error is None)
    pairs = [
        (error, other)
        for error, other in zip(a.sample_errors, b.sample_errors, strict=True)
        if error is not None and other is not None
    ]
    if any(error == 0 or other == 0 for error, other in pairs) or len(pairs) < _FEWEST_SAMPLES:
        return any(error != other for error, other in pairs)
    logs = np.log(pairs)
    shift = student_paired_shift(logs[:, 0] - logs[:, 1], confidence=confidence)
    return bool(shift.low is not None and shift.high is not None and shift.low * shift.high > 0)


def conversion_order(layers: Sequence[SensitiveLayer]) -> tuple[tuple[str, ...], bool]:
    """Return the order in which to convert layers: the least error per time saved first.

    A layer whose time is not measured comes by its error among those that save no time, which
    follow the others.

    Returns:
        names: Of layers whose error is known.
        is_by_time: Whether any layer saves time beyond noise; else errors alone give the order.
    """
    known = [layer for layer in layers if layer.alone.state == "compared"]

    def key(layer: SensitiveLayer) -> tuple[bool, bool, float]:
        error, time = badness(layer.alone), layer.alone.time
        fails = layer.alone.passes is False
        if time is None or not time.is_gain:
            return fails, True, error
        return fails, False, error / time.saved_ms

    known.sort(key=key)
    return tuple(layer.name for layer in known), any(not key(layer)[1] for layer in known)


def prefix_sizes(count: int) -> tuple[int, ...]:
    """Return how many layers to convert in the models that are measured: quarters and all."""
    return tuple(sorted({max(1, round(count * part / 4)) for part in (1, 2, 3, 4) if count}))


def front_of(models: Sequence[ConvertedModel], distinct: Distinct) -> tuple[FrontPoint, ...]:
    """Return the models that no other one is both faster and closer to FP32 than, fastest first.

    Args:
        models: FP32 first, whose time is 1.
    """
    points = [
        (_time(model, at), model.error if model.is_finite is not False else None)
        for at, model in enumerate(models)
    ]
    numbers = sorted(front(points), key=lambda at: points[at][0] or 0.0)
    return tuple(
        FrontPoint(number=at, is_distinct=distinct(numbers[place - 1], at) if place else None)
        for place, at in enumerate(numbers)
    )


def _time(model: ConvertedModel, number: int) -> float | None:
    if model.time is not None:
        return model.time.ratio.ratio
    return None if number else 1.0


def proposed(models: Sequence[ConvertedModel], distinct: Distinct) -> int | None:
    """Return the model to use: the fastest that passes, where one is faster than FP32.

    Of those that are not clearly slower than the fastest, the one with most layers converted. If
    none is faster than FP32, errors alone decide: most layers converted.

    Args:
        models: FP32 first, which is not proposed.
    """
    passing = [at for at, model in enumerate(models) if at and model.passes]
    if not passing:
        return None
    timed = [at for at in passing if models[at].time is not None]
    if any((time := models[at].time) is not None and time.is_gain for at in timed):
        fastest = min(timed, key=lambda at: _time(models[at], at) or 0.0)
        passing = [at for at in timed if at == fastest or distinct(fastest, at) is not True]
    return max(passing, key=lambda at: len(models[at].layers))
