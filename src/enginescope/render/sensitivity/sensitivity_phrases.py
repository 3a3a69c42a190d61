"""Phrase what layers lose in a lower precision, for terminal, Markdown, page and JSON alike."""

from __future__ import annotations

from shlex import quote

from enginescope.judge.difference import excluded_pct, none_above
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.records.verdict.sensitivity import (
    ConvertedModel,
    LayerTime,
    SensitiveLayer,
    SensitivityReport,
)
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.figures import TextTable
from enginescope.render.verdicts.verdict_phrases import confidence_text, range_of, ratio_text

#: Heading of the column of reasons, which are sentences.
WHY = "why"
NOT_MEASURED = "not measured"
#: Names in one line.
_SHOWN = 3
#: Points of the front in one line.
_FRONT = 5


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
    if len(first) == 1:
        return f"{printable(first[0].name)} alone has error ÷ spread {error_text(first[0].alone)}"
    names = _names(tuple(layer.name for layer in first))
    return f"{names} have errors that the samples do not distinguish, {error_text(first[0].alone)}"


def error_text(model: ConvertedModel) -> str:
    """Return the largest RMSE ÷ spread of an output; what is not known is not a number."""
    if model.error is not None:
        return f"{model.error:.3g}"
    if model.is_finite is False:
        return "NaN or infinite"
    return UNKNOWN


def time_text(report: SensitivityReport, model: ConvertedModel) -> str:
    """Return a model's time against FP32, and whether it is a gain."""
    time = model.time
    if time is None:
        return "its time is not measured"
    ends = time.ratio.interval
    figure = f"{ratio_text(time.ratio)} × FP32's time"
    if ends is not None:
        figure += f", {confidence_text(ends)} CI {range_of(time.ratio)}"
    if time.is_gain:
        return f"faster: {figure}"
    if time.is_loss:
        return f"{report.to} costs time here: {figure}"
    none = none_above(excluded_pct(ends)) if ends is not None else ""
    return f"{none} in time is detected: {figure}" if none else f"inconclusive in time: {figure}"


def scope_facts(report: SensitivityReport) -> tuple[tuple[str, str], ...]:
    """Return what was compared and measured, and how to use the proposal."""
    facts = (
        ("keep FP32", _kept(report)),
        ("error", _error(report)),
        ("use", use_text(report)),
        ("limits", _limits(report)),
        ("order", _order(report)),
        ("front", _front(report)),
        ("times", _times(report)),
        ("evidence", _evidence(report)),
        ("samples", _samples(report)),
    )
    return tuple((name, text) for name, text in facts if text)


def _kept(report: SensitivityReport) -> str:
    if report.proposal is None:
        return ""
    return ", ".join(map(printable, report.keep)) or "nothing"


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


def _limits(report: SensitivityReport) -> str:
    if report.max_error is not None:
        return f"error ÷ spread at most {report.max_error:g}"
    return f"those of {report.tolerance} in validate, without allowance for expected noise"


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
        return NOT_MEASURED
    alone = sum(layer.alone.time is not None for layer in report.layers)
    return (
        f"FP32 takes {format_ms(report.baseline_ms)}; {alone} of "
        f"{counted(len(report.layers), report.by)} timed alone"
    )


def _evidence(report: SensitivityReport) -> str:
    if report.evidence is None:
        return "outputs only; not timed"
    return f"{report.evidence.value}, {report.rounds} rounds"


def _samples(report: SensitivityReport) -> str:
    kind = "random " if report.random_samples else ""
    calibrated = ", which also calibrate INT8" if report.to == "int8" else ""
    return f"{counted(report.samples, f'{kind}sample')}{calibrated}"


def layer_table(report: SensitivityReport, *, is_short: bool = False) -> TextTable:
    """Return a row for each layer: its error alone, and its time alone.

    Args:
        is_short: For a terminal: one measure of the error, one operator.
    """
    ranks = not report.is_harmless and any(layer.rank for layer in report.layers)
    errors = ("err ÷ spread", "limits", *(() if is_short else ("max abs err", "cosine")))
    headers = (*(("rank",) if ranks else ()), *errors, "saves", "95 % CI", "keep", report.by)
    rows = tuple(
        (
            *((str(layer.rank or UNKNOWN),) if ranks else ()),
            *_layer_cells(layer, is_short=is_short),
        )
        for layer in report.layers
    )
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


_STATES = {"unchanged": "stays FP32", "failed": "failed", "unreached": "not reached"}


def limits_cell(model: ConvertedModel) -> str:
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
    figures = (
        format_significant(max(errors), 3) if errors else UNKNOWN,
        f"{min(cosines):.6f}" if cosines else UNKNOWN,
    )
    return (
        error_text(alone),
        limits_cell(alone),
        *(() if is_short else figures),
        *saved_cells(alone.time),
        "FP32" if layer.is_kept else "",
        f"{printable(layer.name)} ({operators}{more})",
    )


def saved_cells(time: LayerTime | None) -> tuple[str, str]:
    """Return the time saved, in microseconds, and its interval."""
    if time is None:
        return NOT_MEASURED, UNKNOWN
    if time.saved is None:
        return _micro(time.saved_ms), UNKNOWN
    return _micro(time.saved_ms), f"{_micro(time.saved.low)} … {_micro(time.saved.high)}"


def _micro(value_ms: float) -> str:
    if abs(value_ms) >= 1:
        return f"{format_significant(value_ms, 3)} ms"
    return f"{format_significant(1e3 * value_ms, 3)} µs"


def model_table(report: SensitivityReport) -> TextTable:
    """Return a row for each cumulative model."""
    headers = ("err ÷ spread", "limits", "ms", "× FP32", "95 % CI", "front", "converted")
    on_front = {point.number for point in report.front}
    rows = []
    for at, model in enumerate(report.cumulative):
        time = model.time
        base_ms = report.baseline_ms if not at else None
        value_ms = time.value_ms if time is not None else base_ms
        rows.append(
            (
                error_text(model),
                limits_cell(model),
                NOT_MEASURED if value_ms is None else format_ms(value_ms).removesuffix(" ms"),
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
    names: dict[str, list[str]] = {}
    for layer in report.layers:
        if layer.alone.why:
            names.setdefault(layer.alone.why, []).append(layer.name)
    for at, model in enumerate(report.cumulative):
        if model.why:
            names.setdefault(model.why, []).append(point_name(report, at))
    if not names:
        return None
    rows = tuple((_names(tuple(some)), printable(why)) for why, some in names.items())
    return TextTable(title="Not known", headers=(report.by, WHY), rows=rows)
