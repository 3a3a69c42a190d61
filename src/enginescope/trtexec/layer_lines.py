"""Layers as trtexec prints them: the table of times, the inspector's text, the profiles' shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from enginescope.model.run import Run
from enginescope.model.timing import LayerTiming, Profile
from enginescope.trtexec.log import Line, info, on_one_line
from enginescope.trtexec.settings import Settings
from enginescope.trtexec.shapes import dims_text


def profile_lines(profile: Profile) -> tuple[Line, ...]:
    """Return the table of layer times; layers that took none are left out, as trtexec does."""
    timed = [one for one in profile.layers if one.total_ms]
    rows = [_row(one.total_ms, one.mean_ms, one.median_ms, one.share_pct, one) for one in timed]
    total_ms = sum(one.total_ms or 0.0 for one in profile.layers)
    mean_ms = sum(one.mean_ms or 0.0 for one in profile.layers)
    median_ms = sum(one.median_ms or 0.0 for one in profile.layers)
    head = f"{'Time(ms)':>11}{'Avg.(ms)':>13}{'Median(ms)':>13}{'Time(%)':>10}   Layer"
    total = _figures(total_ms, mean_ms, median_ms, 100.0) + "   Total"
    title = f"=== Profile ({profile.iterations or 0} iterations ) ==="
    return info("", title, head, *rows, total, "")


def layer_info_lines(inspector: Any) -> tuple[Line, ...]:
    """Return the layers and bindings, one layer a line, from the inspector's JSON values.

    One message, as in trtexec's log: only its first line gets the prefix.
    """
    layers = inspector.get("Layers", []) if isinstance(inspector, dict) else []
    bindings = inspector.get("Bindings", inspector.get("I/O Tensors", [])) if layers else []
    names = (one if isinstance(one, str) else str(one.get("Name", "")) for one in bindings)
    parts = ["Layers:", *(_layer(one) for one in layers), "", "Bindings:", *map(on_one_line, names)]
    return info("Layer Information:", "\n".join(parts))


def shape_lines(run: Run, settings: Settings) -> tuple[Line, ...]:
    """Return the shapes of every optimisation profile, as far as they are known."""
    found = list(_from_plan(run)) or list(_from_settings(settings))
    return info("Optimization Profile Information:", *found)


def _row(
    total: float | None,
    mean: float | None,
    median: float | None,
    share: float | None,
    layer: LayerTiming,
) -> str:
    return f"{_figures(total, mean, median, share)}   {on_one_line(layer.name)}"


def _figures(
    total: float | None, mean: float | None, median: float | None, share: float | None
) -> str:
    return f"{total or 0:11.2f}{mean or 0:13.4f}{median or 0:13.4f}{share or 0:10.1f}"


def _layer(layer: Any) -> str:
    if not isinstance(layer, dict):
        return on_one_line(str(layer))
    pairs = (f"{key}: {_value(value)}" for key, value in layer.items())
    return on_one_line(", ".join(pairs))


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        tensors = (", ".join(f"{key}: {_value(one[key])}" for key in one) for one in value)
        return "[ " + ", ".join(f"{{ {one} }}" for one in tensors) + "]"
    if isinstance(value, list):
        return "[" + ",".join(str(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def _from_plan(run: Run) -> Iterator[str]:
    for one in run.plan.inputs if run.plan else ():
        for profile in one.profiles:
            shapes = (profile.min_shape, profile.opt_shape, profile.max_shape)
            yield _shapes(one.tensor.name, profile.index, shapes)


def _from_settings(settings: Settings) -> Iterator[str]:
    for index, profile in enumerate(settings.profiles):
        by_name = [
            {one.name: one.dims for one in shapes}
            for shapes in (profile.minimum, profile.optimum, profile.maximum)
        ]
        for name in by_name[0]:
            yield _shapes(name, index, tuple(shapes[name] for shapes in by_name))


def _shapes(name: str, index: int, shapes: tuple[tuple[int, ...] | None, ...]) -> str:
    words = (dims_text(one) if one is not None else "not known" for one in shapes)
    low, best, high = words
    return f"Model input {on_one_line(name)} (profile {index}): min={low}, opt={best}, max={high}"
