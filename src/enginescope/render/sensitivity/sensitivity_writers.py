"""What layers lose in a lower precision: terminal, JSON, Markdown, CSV, page and picture."""

from __future__ import annotations

import math
from shlex import quote

from enginescope.judge.difference import excluded_pct, none_above
from enginescope.judge.samples import Interval
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.records.verdict.sensitivity import (
    ConvertedModel,
    LayerTime,
    SensitiveLayer,
    SensitivityReport,
)
from enginescope.render.base.answer_tables import (
    AnswerTables,
    answer_json,
    answer_markdown,
    page_figures,
    with_names_first,
)
from enginescope.render.base.data_table import UNKNOWN, csv_bytes, printable
from enginescope.render.base.figures import TextTable, figure
from enginescope.render.base.palette import BLUE, GREY, VERMILLION
from enginescope.render.html.answer_page import answer_page, table_section
from enginescope.render.html.images import Chart, Spec, quantity, tooltip
from enginescope.render.verdicts.verdict_phrases import confidence_text, range_of, ratio_text

#: Version of the document's shape.
SENSITIVITY_SCHEMA = 1
#: Heading of the column of reasons, which are sentences.
_WHY = "why"
_NOT_MEASURED = "not measured"
#: Names in one line, and points of the front.
_SHOWN, _FRONT = 3, 5
_STATES = {"unchanged": "stays FP32", "failed": "failed", "unreached": "not reached"}
#: Drawn below the smallest error that is there: FP32's error of 0 has no logarithm.
_BELOW = 10.0
_LEAST = 1e-9
#: Parts of the picture's width and height that a label takes.
_LABEL_WIDTH, _LABEL_HEIGHT = 0.22, 0.08
_X = quantity("x", "time ÷ FP32's", scale={"zero": False, "nice": True, "padding": 18})
_SCALE = {"type": "log", "nice": False, "padding": 22}
_Y = quantity("error", "RMSE ÷ spread of the worst output", scale=_SCALE)


def answer_text(report: SensitivityReport) -> str:
    """Return what to keep in FP32 and what that costs, in one line."""
    name, to = printable(report.model), report.to
    chosen, total = report.proposal, counted(_convertible(report), report.by)
    if report.is_harmless:
        return f"every {report.by} of {name} is harmless in {to}; {time_text(report, report.whole)}"
    if chosen is None:
        return _unproposed(report, name)
    if not report.keep:
        return f"{name} passes in {to}, nothing kept in FP32; {time_text(report, chosen)}"
    return (
        f"keep {len(report.keep)} of {total} of {name} in FP32: {_names(report.keep)}; "
        f"the rest passes in {to}; {time_text(report, chosen)}"
    )


def _unproposed(report: SensitivityReport, name: str) -> str:
    """Say that no model passes; with models that were not compared, that this is not known."""
    for models in (report.cumulative[1:], [layer.alone for layer in report.layers]):
        late = sum(model.state == "unreached" for model in models)
        if late:
            return (
                f"inconclusive for {name}: {late} of {counted(len(models), f'{report.to} model')} "
                f"not compared; {_worst(report)}"
            )
    return f"no {report.to} model of {name} passes: {_worst(report)}"


def _convertible(report: SensitivityReport) -> int:
    return sum(layer.alone.state != "unchanged" for layer in report.layers)


def _names(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(printable, names[:_SHOWN])) + more


def _worst(report: SensitivityReport) -> str:
    """Return the layer with the largest error alone; all whose errors are not distinguished."""
    known = [layer for layer in report.layers if layer.alone.state == "compared"]
    if not known:
        return f"no {report.by} is compared"
    first = [layer for layer in known if layer.rank == 1] or known[:1]
    names, error = _names(tuple(layer.name for layer in first)), error_text(first[0].alone)
    if len(first) == 1:
        return f"{names} alone has error ÷ spread {error}"
    return f"{names} have errors that the samples do not distinguish, {error}"


def error_text(model: ConvertedModel) -> str:
    """Return the largest RMSE ÷ spread of an output; what is not known is not a number."""
    if model.error is not None:
        return f"{model.error:.3g}"
    return "NaN or infinite" if model.is_finite is False else UNKNOWN


def time_text(report: SensitivityReport, model: ConvertedModel) -> str:
    """Return a model's time against FP32, and whether it is a gain."""
    time = model.time
    if time is None:
        return "its time is not measured"
    ends = time.ratio.interval
    text = f"{ratio_text(time.ratio)} × FP32's time"
    if ends is not None:
        text += f", {confidence_text(ends)} CI {range_of(time.ratio)}"
    if time.is_gain:
        return f"faster: {text}"
    if time.is_loss:
        return f"{report.to} costs time here: {text}"
    none = none_above(excluded_pct(ends)) if ends is not None else ""
    return f"{none} in time is detected: {text}" if none else f"inconclusive in time: {text}"


def scope_facts(report: SensitivityReport) -> tuple[tuple[str, str], ...]:
    """Return what was compared and measured, and how to use the proposal."""
    kept = ", ".join(map(printable, report.keep)) or "nothing"
    limits = f"those of {report.tolerance} in validate, without allowance for expected noise"
    if report.max_error is not None:
        limits = f"error ÷ spread at most {report.max_error:g}"
    evidence = f"{report.evidence.value}, {report.rounds} rounds" if report.evidence else ""
    kind = "random " if report.random_samples else ""
    calibrated = ", which also calibrate INT8" if report.to == "int8" else ""
    facts = (
        ("keep FP32", "" if report.proposal is None else kept),
        ("error", _error(report)),
        ("use", use_text(report)),
        ("limits", limits),
        ("order", _order(report)),
        ("front", _front(report)),
        ("times", _times(report)),
        ("evidence", evidence or "outputs only; not timed"),
        ("samples", f"{counted(report.samples, f'{kind}sample')}{calibrated}"),
    )
    return tuple((name, text) for name, text in facts if text)


def _error(report: SensitivityReport) -> str:
    """Return the error of the proposal, and of the worst layer where one is kept."""
    chosen = report.whole if report.is_harmless else report.proposal
    if chosen is None:
        return ""
    worst = f"; {_worst(report)}" if report.keep else ""
    return f"error ÷ spread {error_text(chosen)}{worst}"


def use_text(report: SensitivityReport) -> str:
    """Return the option that uses the proposal; for INT8 the quantizer's argument."""
    chosen = report.proposal
    if chosen is None:
        return ""
    if report.use is not None:
        return f"--on {printable(quote(report.use))}"
    if not report.exclude:
        return "onnxruntime.quantization.quantize_static(…), with every node"
    nodes = ", ".join(repr(printable(node)) for node in report.exclude)
    return f"onnxruntime.quantization.quantize_static(…, nodes_to_exclude=[{nodes}])"


def _order(report: SensitivityReport) -> str:
    if len(report.order) < 2:
        return ""
    if all(layer.alone.time is None for layer in report.layers):
        return f"by error alone: no {report.by} is timed alone"
    if report.ordered_by == "error":
        return f"by error alone: no {report.by} alone is faster beyond noise"
    return f"by error per time saved; a {report.by} without a gain by its error"


def _front(report: SensitivityReport) -> str:
    if len(report.cumulative) < 2 or all(one.time is None for one in report.cumulative):
        return ""
    names = [point_name(report, point.number) for point in report.front]
    if names == [point_name(report, 0)]:
        return "FP32 alone: no converted model is faster"
    alike = [
        f"{names[at - 1]} and {names[at]}"
        for at, point in enumerate(report.front)
        if at and point.is_distinct is False
    ]
    more = f"; times not distinguishable: {', '.join(alike[:_SHOWN])}" if alike else ""
    shown = ", ".join(names[:_FRONT]) + (" …" if len(names) > _FRONT else "")
    return f"{len(names)} of {len(report.cumulative)} models, the fastest first: {shown}{more}"


def point_name(report: SensitivityReport, number: int) -> str:
    """Return how much of the model is converted: ``FP32``, ``3 of 8``, ``all``."""
    count, total = len(report.cumulative[number].layers), _convertible(report)
    if not count:
        return "FP32"
    return f"all {total}" if count == total else f"{count} of {total}"


def _times(report: SensitivityReport) -> str:
    if report.baseline_ms is None or report.evidence is None:
        return _NOT_MEASURED
    alone = sum(layer.alone.time is not None for layer in report.layers)
    return (
        f"FP32 takes {format_ms(report.baseline_ms)}; {alone} of "
        f"{counted(len(report.layers), report.by)} timed alone"
    )


def layer_table(report: SensitivityReport, *, is_short: bool = False) -> TextTable:
    """Return a row for each layer: its error alone, and its time alone.

    Args:
        is_short: For a terminal: one measure of the error, one operator.
    """
    ranks = not report.is_harmless and any(layer.rank for layer in report.layers)
    skip = 0 if ranks else 1
    errors = ("err ÷ spread", "limits", *(() if is_short else ("max abs err", "cosine")))
    headers = ("rank", *errors, "saves", "95 % CI", "keep", report.by)[skip:]
    rows = tuple(_layer_cells(layer, is_short=is_short)[skip:] for layer in report.layers)
    note = f"each {report.by} alone in {report.to}, the others in FP32"
    if ranks:
        note += "; errors of one rank are not distinguished by the samples"
    elif report.is_harmless:
        note += "; all are within the limits, so that they are not ranked"
    return TextTable(
        title=f"{report.by.capitalize()}s",
        headers=headers,
        rows=rows,
        numbers=tuple(name for name in headers[:-1] if name not in ("limits", "keep")),
        note=note,
    )


def _limits_cell(model: ConvertedModel) -> str:
    """Return whether outputs are within their limits, or why that is not known."""
    if model.state != "compared":
        return _STATES[model.state]
    return UNKNOWN if model.passes is None else "ok" if model.passes else "over"


def _layer_cells(layer: SensitiveLayer, *, is_short: bool) -> tuple[str, ...]:
    alone = layer.alone
    errors = [output.max_abs_error for output in alone.outputs if output.max_abs_error is not None]
    cosines = [output.cosine for output in alone.outputs if output.cosine is not None]
    shown = 1 if is_short else _SHOWN
    operators = printable(" + ".join(layer.operators[:shown]))
    more = " …" if len(layer.operators) > shown else ""
    largest = figure(max(errors, default=None), 3)
    figures = (largest, f"{min(cosines):.6f}" if cosines else UNKNOWN)
    return (
        str(layer.rank or UNKNOWN),
        error_text(alone),
        _limits_cell(alone),
        *(() if is_short else figures),
        *_saved_cells(alone.time),
        "FP32" if layer.is_kept else "",
        f"{printable(layer.name)} ({operators}{more})",
    )


def _saved_cells(time: LayerTime | None) -> tuple[str, str]:
    if time is None:
        return _NOT_MEASURED, UNKNOWN
    if time.saved is None:
        return _micro(time.saved_ms), UNKNOWN
    return _micro(time.saved_ms), f"{_micro(time.saved.low)} … {_micro(time.saved.high)}"


def _micro(value_ms: float) -> str:
    if abs(value_ms) >= 1:
        return f"{format_significant(value_ms, 3)} ms"
    return f"{format_significant(1e3 * value_ms, 3)} µs"


def model_table(report: SensitivityReport) -> TextTable:
    headers = ("err ÷ spread", "limits", "ms", "× FP32", "95 % CI", "front", "converted")
    on_front = {point.number for point in report.front}
    rows = []
    for at, model in enumerate(report.cumulative):
        time = model.time
        value_ms = time.value_ms if time else report.baseline_ms if not at else None
        rows.append(
            (
                error_text(model),
                _limits_cell(model),
                _NOT_MEASURED if value_ms is None else format_ms(value_ms).removesuffix(" ms"),
                UNKNOWN if time is None else ratio_text(time.ratio),
                UNKNOWN if time is None else range_of(time.ratio),
                "◆" if at in on_front else "",
                point_name(report, at) + (" (proposed)" if at == report.proposed else ""),
            )
        )
    return TextTable(
        title="Cumulative models",
        headers=headers,
        rows=tuple(rows),
        numbers=headers[:1] + headers[2:5],
        note=f"each row adds {report.by}s in {report.to}; ◆: no other is faster and closer to FP32",
    )


def why_table(report: SensitivityReport) -> TextTable | None:
    """Return what is not known, by reason; ``None`` without any."""
    models = [(layer.name, layer.alone) for layer in report.layers]
    models += [(point_name(report, at), model) for at, model in enumerate(report.cumulative)]
    names: dict[str, list[str]] = {}
    for name, model in models:
        if model.why:
            names.setdefault(model.why, []).append(name)
    if not names:
        return None
    rows = tuple((_names(tuple(some)), printable(why)) for why, some in names.items())
    return TextTable(title="Not known", headers=(report.by, _WHY), rows=rows)


def sensitivity_answer(report: SensitivityReport, *, names_first: bool = True) -> AnswerTables:
    """Return the answer, its facts and its tables.

    Args:
        names_first: Names are in the first column of their figures; else in the last, where a
            terminal has room for them.
    """
    tables = [layer_table(report, is_short=not names_first), model_table(report)]
    if names_first:
        tables = [*map(with_names_first, tables)]
    why = why_table(report)
    return AnswerTables(
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=(*tables, why) if why is not None else tuple(tables),
        notices=report.notices,
    )


def sensitivity_json(report: SensitivityReport) -> bytes:
    """Return the answer, the command to use it, and the whole report as strict JSON."""
    return answer_json(
        SENSITIVITY_SCHEMA, answer=answer_text(report), use=use_text(report), report=report
    )


def sensitivity_markdown(report: SensitivityReport) -> bytes:
    return answer_markdown(sensitivity_answer(report))


def sensitivity_csv(report: SensitivityReport) -> bytes:
    """Return a row for each layer alone and each cumulative model, with figures as numbers."""
    headers = (
        *("kind", "name", "converted", "state", "passes", "error_to_spread", "is_finite"),
        *("rank", "kept", "ms", "ratio", "ratio_low", "ratio_high"),
        *("saved_ms", "saved_low_ms", "saved_high_ms", "why"),
    )
    rows = [_cells(report.by, layer.name, layer.alone, layer) for layer in report.layers]
    rows += [
        _cells("cumulative", point_name(report, at), model, None)
        for at, model in enumerate(report.cumulative)
    ]
    return csv_bytes(headers, rows)


def _cells(
    kind: str, name: str, model: ConvertedModel, layer: SensitiveLayer | None
) -> tuple[object, ...]:
    time = model.time
    ends = time.ratio.interval if time is not None else None
    saved = time.saved if time is not None else None
    return (
        *(kind, name, len(model.layers), model.state, model.passes, model.error, model.is_finite),
        *(
            layer and layer.rank,
            layer and layer.is_kept,
            time and time.value_ms,
            time and time.ratio.ratio,
        ),
        *(ends and ends.low, ends and ends.high, time and time.saved_ms),
        *(saved and saved.low, saved and saved.high, model.why),
    )


def sensitivity_page(report: SensitivityReport) -> bytes:
    answered = sensitivity_answer(report)
    chart = error_time_chart(report)
    first, *others = answered.tables
    return answer_page(
        "sensitivity",
        answered,
        {
            "sensitivity.json": sensitivity_json(report),
            "sensitivity.csv": sensitivity_csv(report),
        },
        title="Sensitive layers",
        charts=[chart] if chart is not None else [],
        overview=page_figures(first, (_WHY,)),
        sections=[table_section(shown, page_figures(shown, (_WHY,))) for shown in others],
    )


def error_time_chart(report: SensitivityReport) -> Chart | None:
    """Return error against time; ``None`` where no converted model has both."""
    timed = [(at, model) for at, model in enumerate(report.cumulative) if at and _is_drawn(model)]
    if not timed:
        return None
    alone = [layer for layer in report.layers if _is_drawn(layer.alone)]
    errors = [model.error for _, model in timed] + [layer.alone.error for layer in alone]
    floor = min((error for error in errors if error), default=_LEAST) / _BELOW
    kinds = [f"{report.by}s together", "proposed", f"one {report.by} alone"]
    single = [_row(layer.alone, printable(layer.name), floor, kinds[2]) for layer in alone]
    by_number = {
        at: _row(model, point_name(report, at), floor, kinds[at == report.proposed])
        for at, model in [(0, report.cumulative[0]), *timed]
    }
    rows = list(by_number.values())
    front = [by_number[point.number] for point in report.front]
    subtitle = [
        "The line joins the best models: no other one is both faster and closer to FP32",
        "Bars: 95 % intervals. FP32's error of 0 is drawn at the lower edge",
    ]
    missing = len(report.cumulative) - 1 - len(timed) + len(report.layers) - len(alone)
    if missing:
        subtitle.append(f"{missing} without a finite error or a time are in the tables alone")
    every = [*single, *rows]
    return Chart(
        key="error_time",
        title="Error against time",
        subtitle=tuple(subtitle),
        spec={"layer": [_line(front), *_points(every, kinds), *_labels(rows, every)]},
        height=320,
    )


def _is_drawn(model: ConvertedModel) -> bool:
    return model.error is not None and model.time is not None


def _row(model: ConvertedModel, name: str, floor: float, kind: str) -> Spec:
    ratio = model.time.ratio if model.time else None
    at = ratio.ratio if ratio else 1.0
    ends = (ratio.interval if ratio else None) or Interval(low=at, high=at)
    return {
        "name": name,
        "x": at,
        "low": ends.low,
        "high": ends.high,
        "error": max(model.error or floor, floor),
        "shown": error_text(model),
        "kind": kind,
    }


def _line(front: list[Spec]) -> Spec:
    return {
        "data": {"values": front},
        "mark": {"type": "line", "interpolate": "step-after", "color": GREY},
        "encoding": {"x": _X, "y": _Y, "order": {"field": "x", "type": "quantitative"}},
    }


def _points(rows: list[Spec], kinds: list[str]) -> list[Spec]:
    present = [kind for kind in kinds if any(row["kind"] == kind for row in rows)]
    legend = {"title": None, "orient": "top", "columns": 1, "symbolSize": 80}

    def by_kind(*marks: str) -> Spec:
        chosen = dict(zip(kinds, marks, strict=True))
        scale = {"domain": present, "range": [chosen[kind] for kind in present]}
        return {"field": "kind", "type": "nominal", "legend": legend, "scale": scale}

    bars: Spec = {
        "data": {"values": rows},
        "mark": {"type": "rule", "opacity": 0.45},
        "encoding": {"x": {**_X, "field": "low"}, "x2": {"field": "high"}, "y": _Y},
    }
    points: Spec = {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
        "encoding": {
            "x": _X,
            "y": _Y,
            "color": by_kind(BLUE, VERMILLION, GREY),
            "shape": by_kind("circle", "diamond", "cross"),
            "tooltip": tooltip(name="converted", x="time ÷ FP32's#", shown="RMSE ÷ spread"),
        },
    }
    return [bars, points]


def _labels(rows: list[Spec], every: list[Spec]) -> list[Spec]:
    """Return names beside cumulative models, where they cover no point and no other name.

    A name stands below its point to the left, where a point of the front has no other point, or
    above to the right. FP32, the proposal and all layers come first. A name without room is in the
    tooltip alone.
    """
    lows, highs = [row["low"] for row in every], [row["high"] for row in every]
    width = (max(highs) - min(lows)) or 1.0
    logs = [math.log(row["error"]) for row in every]
    height = (max(logs) - min(logs)) or 1.0

    def place(row: Spec) -> tuple[float, float]:
        return (row["x"] - min(lows)) / width, (math.log(row["error"]) - min(logs)) / height

    taken = [place(row) for row in every]
    boxes: list[tuple[float, float]] = []
    chosen: list[Spec] = []
    ends = [row for row in rows if row["kind"] == "proposed"] + [rows[0], rows[-1]]
    for row in [*ends, *rows]:
        x, y = place(row)
        if any(row["name"] == other["name"] for other in chosen):
            continue
        for side in (1, -1) if x < _LABEL_WIDTH else (-1, 1):
            center = x + side * _LABEL_WIDTH / 2, y + side * _LABEL_HEIGHT / 2
            covers = any(point != (x, y) and _is_within(point, center, 0.5) for point in taken)
            is_inside = 0 <= center[0] <= 1
            if is_inside and not covers and not any(_is_within(box, center, 1) for box in boxes):
                boxes.append(center)
                chosen.append({**row, "is_above": side > 0})
                break
    return [
        _label_layer([row for row in chosen if row["is_above"] is is_above], is_above=is_above)
        for is_above in (True, False)
        if any(row["is_above"] is is_above for row in chosen)
    ]


def _is_within(point: tuple[float, float], center: tuple[float, float], reach: float) -> bool:
    across, along = abs(point[0] - center[0]), abs(point[1] - center[1])
    return across < reach * _LABEL_WIDTH and along < reach * _LABEL_HEIGHT


def _label_layer(rows: list[Spec], *, is_above: bool) -> Spec:
    place = {"align": "left", "dx": 9, "dy": -10} if is_above else {"align": "right", "dx": -7}
    return {
        "data": {"values": rows},
        "mark": {"type": "text", "dy": 11, "fontSize": 12, **place},
        "encoding": {"x": _X, "y": _Y, "text": {"field": "name"}},
    }
