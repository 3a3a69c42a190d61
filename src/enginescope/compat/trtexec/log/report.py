"""All that trtexec prints of a run, in its order, from the engine to the layers' times."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from enginescope.compat.trtexec.files import KeptTexts
from enginescope.compat.trtexec.log.log import Level, Line, error, info, on_one_line, warning
from enginescope.compat.trtexec.log.outputs import (
    binding_lines,
    engine_lines,
    graph_lines,
    inspector_values,
    output_lines,
    parsing_lines,
)
from enginescope.compat.trtexec.log.performance import performance_lines
from enginescope.compat.trtexec.settings import Settings, dims_text
from enginescope.core.errors import EnginescopeError
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.run.run import OutcomeKind, Run


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
    """Return the shapes of every optimization profile, as far as they are known."""
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


_LINE = re.compile(r"^\[[^\]]*\] \[([FEWIV])\] (\[TRT\] .*)$")
_LEVELS = {"F": "E", "E": "E", "W": "W", "I": "I", "V": "V"}


def library_lines(log: str, *, verbose: bool) -> Iterator[Line]:
    """Yield TensorRT's messages; what else the worker wrote only where `verbose`.

    Args:
        log: Messages with a prefix of time and level, and lines without.
    """
    for text in log.split("\n"):
        match = _LINE.match(text)
        if match is not None and (verbose or match[1] != "V"):
            yield Line(cast("Level", _LEVELS[match[1]]), on_one_line(match[2]))
        elif match is None and verbose and text.strip():
            yield Line("V", on_one_line(text))


def run_lines(run: Run, settings: Settings, texts: KeptTexts) -> tuple[Line, ...]:
    """Return the lines of a run that went well, or as far as it went and why it did not."""
    verbose = settings.reporting.verbose
    # where nothing but a build was done, the worker's log is the build's once more
    is_repeated = run.phase_ms("load") is None and settings.skip_inference and texts.build_log
    engine = (
        *info("Loading standard plugins"),
        *parsing_lines(run),
        *library_lines(texts.build_log, verbose=verbose),
        *engine_lines(run, settings),
        *library_lines("" if is_repeated else texts.run_log, verbose=verbose),
    )
    if run.outcome.kind is not OutcomeKind.OK:
        return (*engine, *_failure(run))
    layers = _layers(run, settings, texts.inspector)
    if settings.skip_inference:
        skipped = info("Skipped inference phase since --skipInference is added.")
        return (*engine, *layers, *skipped)
    reporting = settings.reporting
    return (
        *engine,
        *graph_lines(run, settings),
        *binding_lines(run, settings),
        *layers,
        *info("Starting inference"),
        *performance_lines(run, settings),
        *_notices(run),
        *(output_lines(run.answers) if reporting.output else ()),
        *(profile_lines(run.profile) if reporting.profile and run.profile else ()),
    )


def _layers(run: Run, settings: Settings, inspector: str | None) -> tuple[Line, ...]:
    lines: tuple[Line, ...] = ()
    if settings.reporting.layer_info:
        try:
            lines += layer_info_lines(inspector_values(inspector))
        except EnginescopeError as problem:
            lines += warning(str(problem))
    if settings.reporting.shapes:
        lines += shape_lines(run, settings)
    return lines


def _failure(run: Run) -> tuple[Line, ...]:
    outcome = run.outcome
    message = outcome.message or f"the worker ended: {outcome.kind.value}"
    hint = error(f"  try: {outcome.hint}") if outcome.hint else ()
    return (*error(message), *hint)


def _notices(run: Run) -> tuple[Line, ...]:
    """Return the notices of enginescope on the figures; trtexec does not print them."""
    texts = (f"* {one.message} ({one.code})" for one in run.notices if one.level == "warning")
    return warning(*map(on_one_line, texts))
