"""The worst sample as people see it: maps side by side where the output is one."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from enginescope.analysis.errors.output_numbers import flat_numbers, kind_of
from enginescope.core.record import Record
from enginescope.records.run.tensor_values import TensorValues
from enginescope.render.accuracy.validate_phrases import error_text
from enginescope.render.html.pixels import heat_png

#: Fewer rows or columns are no map; more are thinned out.
_LEAST, _MOST = 16, 512


class WorstAnswer(Record, frozen=True, kw_only=True, eq=False):
    """An output of a sample on both sides.

    Attributes:
        side: Its label.
        name: The sample's.
    """

    side: str
    sample: int
    name: str
    reference: TensorValues
    candidate: TensorValues


class Panel(Record, frozen=True, kw_only=True):
    """One map: a data URI, and what its colours go from and to."""

    title: str
    image: str
    range_text: str


class Panels(Record, frozen=True, kw_only=True):
    """Reference, candidate and error of an output, on one scale."""

    title: str
    panels: tuple[Panel, ...]


def panels_of(worst: WorstAnswer) -> Panels | None:
    """Return the maps of an output; ``None`` where it is no map."""
    maps = _map(worst.reference), _map(worst.candidate)
    if maps[0] is None or maps[1] is None or maps[0].shape != maps[1].shape:
        return None
    known = maps[0][np.isfinite(maps[0])]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    with np.errstate(invalid="ignore"):
        error = np.abs(maps[1] - maps[0])
    most = float(np.max(error, where=np.isfinite(error), initial=0.0))
    return Panels(
        title=f"{worst.reference.name} of sample {worst.sample} ({worst.name}), {worst.side}",
        panels=(
            _panel("reference", maps[0], low, high),
            _panel("this side", maps[1], low, high),
            _panel("|error|", error, 0.0, most),
        ),
    )


def _panel(title: str, values: Any, low: float, high: float) -> Panel:
    png = base64.b64encode(heat_png(values, low, high)).decode()
    text = f"{error_text(low)} … {error_text(high)}"
    return Panel(title=title, image=f"data:image/png;base64,{png}", range_text=text)


def _map(values: TensorValues) -> Any | None:
    """Return height × width of a tensor: its first item, the mean of few channels, or the first."""
    shape = tuple(one for one in values.shape if one != 1)
    if kind_of(values.dtype) not in ("float", "int") or len(shape) not in (2, 3, 4):
        return None
    array = flat_numbers(values).astype(np.float64).reshape(shape)
    while array.ndim > 3:
        array = array[0]
    if array.ndim == 3:
        last = array.shape[2] in (3, 4)
        planes = np.moveaxis(array, 2, 0) if last else array
        with np.errstate(invalid="ignore"):
            array = planes.mean(axis=0) if len(planes) in (3, 4) else planes[0]
    if min(array.shape) < _LEAST:
        return None
    step = max(1, -(-max(array.shape) // _MOST))
    return array[::step, ::step]
