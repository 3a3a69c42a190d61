"""What layers lose in a lower precision, for terminal, Markdown, CSV, page and JSON alike."""

from shlex import quote

from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.judge.verdict import excluded_pct, none_above
from enginescope.records.verdict.sensitivity import (
    ConvertedModel,
    SensitiveLayer,
    SensitivityReport,
)
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN, ends_of, printable, ratio_cells
from enginescope.render.base.figures import TextTable, figure
from enginescope.render.base.palette import BLUE, GREEN, GREY, VERMILLION
from enginescope.render.base.phrases import few
from enginescope.render.charts.error_time import error_time
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart, Spec, quantity, tooltip
from enginescope.render.verdicts.verdict_phrases import confidence_text, range_of, ratio_text

_NOT_MEASURED = "not measured"
_CSV_HEADERS = (
    *("kind", "name", "converted", "state", "passes", "error_to_spread", "is_finite"),
    *("rank", "kept", "ms", "ratio", "ratio_low", "ratio_high"),
    *("saved_ms", "saved_low_ms", "saved_high_ms", "why"),
)


def sensitivity_answer(report: SensitivityReport) -> Answer:
    """Return the layers, the cumulative models, and what is not known."""
    why, use = _why_table(report), _use(report)
    rows = [_csv_row(report.by, layer.name, layer.alone, layer) for layer in report.layers]
    rows += [
        _csv_row("cumulative", _point_name(report, at), model)
        for at, model in enumerate(report.cumulative)
    ]
    return Answer(
        verb="sensitivity",
        title="Sensitive layers",
        answer=_answer(report),
        facts=_facts(report, use),
        tables=(_layer_table(report), _model_table(report), *([why] if why else [])),
        notices=report.notices,
        report=report,
        data={"use": use},
        csv=(_CSV_HEADERS, rows),
        charts=(_chart(report),),
    )


def _answer(report: SensitivityReport) -> str:
    name, to = printable(report.model), report.to
    chosen, total = report.proposal, counted(_convertible(report), report.by)
    if report.is_harmless:
        time = _time_text(report, report.whole)
        return f"every {report.by} of {name} is harmless in {to}; {time}"
    if chosen is None:
        return _unproposed(report, name)
    time = _time_text(report, chosen)
    if not report.keep:
        return f"{name} passes in {to}, nothing kept in FP32; {time}"
    kept = f"{len(report.keep)} of {total} of {name} in FP32: {_names(report.keep)}"
    return f"keep {kept}; the rest passes in {to}; {time}"


def _unproposed(report: SensitivityReport, name: str) -> str:
    for models in (report.cumulative[1:], [layer.alone for layer in report.layers]):
        late = sum(model.state == "unreached" for model in models)
        if late:
            of = counted(len(models), f"{report.to} model")
            return f"inconclusive for {name}: {late} of {of} not compared; {_worst(report)}"
    return f"no {report.to} model of {name} passes: {_worst(report)}"


def _convertible(report: SensitivityReport) -> int:
    return sum(layer.alone.state != "unchanged" for layer in report.layers)


def _names(names: tuple[str, ...]) -> str:
    return printable(few(names, 3))


def _worst(report: SensitivityReport) -> str:
    """Return the layer with the largest error alone; all whose errors are not distinguished."""
    known = [layer for layer in report.layers if layer.alone.state == "compared"]
    if not known:
        return f"no {report.by} is compared"
    first = [layer for layer in known if layer.rank == 1] or known[:1]
    names, error = _names(tuple(layer.name for layer in first)), _error_text(first[0].alone)
    if len(first) == 1:
        return f"{names} alone has error ÷ spread {error}"
    return f"{names} have errors that the samples do not distinguish, {error}"


def _error_text(model: ConvertedModel) -> str:
    """Return the largest RMSE ÷ spread of an output; what is not known is not a number."""
    if model.error is not None:
        return f"{model.error:.3g}"
    return "NaN or infinite" if model.is_finite is False else UNKNOWN


def _time_text(report: SensitivityReport, model: ConvertedModel) -> str:
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


def _facts(report: SensitivityReport, use: str) -> tuple[tuple[str, str], ...]:
    kept = ", ".join(map(printable, report.keep)) or "nothing"
    chosen = report.whole if report.is_harmless else report.proposal
    worst = f"; {_worst(report)}" if report.keep else ""
    error = "" if chosen is None else f"error ÷ spread {_error_text(chosen)}{worst}"
    limits = f"those of {report.tolerance} in validate, without allowance for expected noise"
    if report.max_error is not None:
        limits = f"error ÷ spread at most {report.max_error:g}"
    evidence = f"{report.evidence.value}, {report.rounds} rounds" if report.evidence else ""
    kind = "random " if report.random_samples else ""
    calibrated = ", which also calibrate INT8" if report.to == "int8" else ""
    return stated(
        ("keep FP32", "" if report.proposal is None else kept),
        ("error", error),
        ("use", use),
        ("limits", limits),
        ("order", _order(report)),
        ("times", _times(report)),
        ("evidence", evidence or "outputs only; not timed"),
        ("samples", f"{counted(report.samples, f'{kind}sample')}{calibrated}"),
    )


def _use(report: SensitivityReport) -> str:
    """Return the option that uses the proposal; for INT8 the quantizer's argument."""
    if report.proposal is None:
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


def _point_name(report: SensitivityReport, number: int) -> str:
    """Return how much of the model is converted: ``FP32``, ``3 of 8``, ``all``."""
    count, total = len(report.cumulative[number].layers), _convertible(report)
    if not count:
        return "FP32"
    return f"all {total}" if count == total else f"{count} of {total}"


def _times(report: SensitivityReport) -> str:
    if report.baseline_ms is None or report.evidence is None:
        return _NOT_MEASURED
    alone = sum(layer.alone.time is not None for layer in report.layers)
    of = counted(len(report.layers), report.by)
    return f"FP32 takes {format_ms(report.baseline_ms)}; {alone} of {of} timed alone"


def _layer_table(report: SensitivityReport) -> TextTable:
    ranks = not report.is_harmless and any(layer.rank for layer in report.layers)
    file_errors = ("max abs err", "cosine")  # a narrow terminal has no room for them
    errors = (*(("rank",) if ranks else ()), "err ÷ spread", "limits", *file_errors)
    headers = (report.by, *errors, "saves", "95 % CI", "keep")
    note = f"each {report.by} alone in {report.to}, the others in FP32"
    if ranks:
        note += "; errors of one rank are not distinguished by the samples"
    elif report.is_harmless:
        note += "; all are within the limits, so that they are not ranked"
    return TextTable(
        title=f"{report.by.capitalize()}s",
        headers=headers,
        rows=tuple(_layer_cells(layer, has_rank=ranks) for layer in report.layers),
        numbers=tuple(name for name in headers[1:] if name not in ("limits", "keep")),
        has_long_names=True,
        spared=file_errors,
        note=note,
    )


def _limits_cell(model: ConvertedModel) -> str:
    states = {"unchanged": "stays FP32", "failed": "failed", "unreached": "not reached"}
    if model.state in states:
        return states[model.state]
    return UNKNOWN if model.passes is None else "ok" if model.passes else "over"


def _layer_cells(layer: SensitiveLayer, *, has_rank: bool) -> tuple[str, ...]:
    alone, time = layer.alone, layer.alone.time
    saved = time.saved if time else None
    errors = [output.max_abs_error for output in alone.outputs if output.max_abs_error is not None]
    cosines = [output.cosine for output in alone.outputs if output.cosine is not None]
    operators = printable(" + ".join(layer.operators[:2]))
    more = " …" if len(layer.operators) > 2 else ""
    return (
        f"{printable(layer.name)} ({operators}{more})",
        *([str(layer.rank or UNKNOWN)] if has_rank else []),
        _error_text(alone),
        _limits_cell(alone),
        figure(max(errors, default=None), 3),
        f"{min(cosines):.6f}" if cosines else UNKNOWN,
        _micro(time.saved_ms) if time else _NOT_MEASURED,
        f"{_micro(saved.low)} … {_micro(saved.high)}" if saved else UNKNOWN,
        "FP32" if layer.is_kept else "",
    )


def _micro(value_ms: float) -> str:
    if abs(value_ms) >= 1:
        return f"{format_significant(value_ms, 3)} ms"
    return f"{format_significant(1e3 * value_ms, 3)} µs"


def _model_table(report: SensitivityReport) -> TextTable:
    headers = ("converted", "err ÷ spread", "limits", "ms", "× FP32", "95 % CI", "front")
    on_front = {point.number for point in report.front}
    rows = []
    for at, model in enumerate(report.cumulative):
        time, ratio = model.time, model.time.ratio if model.time else None
        value_ms = time.value_ms if time else report.baseline_ms if not at else None
        rows.append(
            (
                _point_name(report, at) + (" (proposed)" if at == report.proposed else ""),
                *(_error_text(model), _limits_cell(model)),
                _NOT_MEASURED if value_ms is None else format_ms(value_ms).removesuffix(" ms"),
                *(ratio_text(ratio), range_of(ratio), "◆" if at in on_front else ""),
            )
        )
    return TextTable(
        title="Cumulative models",
        headers=headers,
        rows=tuple(rows),
        numbers=headers[1:2] + headers[3:6],
        has_long_names=True,
        note=f"each row adds {report.by}s in {report.to}; ◆: no other is faster and closer to FP32",
    )


def _why_table(report: SensitivityReport) -> TextTable | None:
    models = [(layer.name, layer.alone) for layer in report.layers]
    models += [(_point_name(report, at), model) for at, model in enumerate(report.cumulative)]
    names: dict[str, list[str]] = {}
    for name, model in models:
        if model.why:
            names.setdefault(model.why, []).append(name)
    if not names:
        return None
    rows = tuple((_names(tuple(some)), printable(why)) for why, some in names.items())
    return TextTable(title="Not known", headers=(report.by, "why"), rows=rows, sentences=("why",))


def _csv_row(
    kind: str, name: str, model: ConvertedModel, layer: SensitiveLayer | None = None
) -> tuple[object, ...]:
    time = model.time
    return (
        *(kind, name, len(model.layers), model.state, model.passes, model.error, model.is_finite),
        *(layer and layer.rank, layer and layer.is_kept, time and time.value_ms),
        *ratio_cells(time.ratio if time else None),
        *(time and time.saved_ms, *ends_of(time.saved if time else None), model.why),
    )


def _chart(report: SensitivityReport) -> Chart | None:
    timed = [at for at, model in enumerate(report.cumulative) if at and _is_drawn(model)]
    if not timed:
        return None
    proposed = "" if report.proposed is None else _point_name(report, report.proposed)
    marks = {
        "FP32": (GREEN, "square"),
        f"{report.by}s together": (BLUE, "circle"),
        f"proposed: {proposed}": (VERMILLION, "diamond"),
        f"one {report.by} alone": (GREY, "cross"),
    }
    fp32, together, chosen, single = marks
    front = {point.number for point in report.front}
    alone = [layer for layer in report.layers if _is_drawn(layer.alone)]
    points = [_point(layer.alone, printable(layer.name), single) for layer in alone]
    for at in (0, *timed):
        kind = chosen if at == report.proposed else together if at else fp32
        name = _point_name(report, at)
        points.append(_point(report.cumulative[at], name, kind, is_best=at in front))
    subtitle = ["The line joins the best models: no other one is both faster and closer to FP32"]
    missing = len(report.cumulative) - 1 - len(timed) + len(report.layers) - len(alone)
    if missing:
        subtitle.append(f"{missing} without a finite error or a time are in the tables alone")
    x = quantity("time", "time ÷ FP32's", scale={"zero": False, "nice": True, "padding": 18})
    y_title = "RMSE ÷ spread of the worst output"
    tips = tooltip(name="converted", time="time ÷ FP32's#", shown="RMSE ÷ spread")
    layers = error_time(points, x=x, y_title=y_title, marks=marks, tips=tips)
    key = "error_time"
    title = "Error against time"
    return Chart(key=key, title=title, subtitle=tuple(subtitle), spec={"layer": layers}, height=320)


def _is_drawn(model: ConvertedModel) -> bool:
    return model.error is not None and model.time is not None


def _point(model: ConvertedModel, name: str, kind: str, *, is_best: bool = False) -> Spec:
    """Return a point of the picture; FP32 is compared with itself, and so has no time."""
    time, low, high = ratio_cells(model.time.ratio) if model.time else (1.0, 1.0, 1.0)
    return {
        "name": name,
        "kind": kind,
        "is_best": is_best,
        "error": model.error,
        "time": time,
        "low": low or time,
        "high": high or time,
        "shown": _error_text(model),
    }
