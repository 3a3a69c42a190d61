"""A plan looked into, as an Excel workbook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from enginescope._version import __version__
from enginescope.analysis.claims.saving import Saving
from enginescope.analysis.layers.layer_table import TimeShare
from enginescope.analysis.layers.reformats import ReformatShare
from enginescope.analysis.plans.exploration import Exploration, ExploredLayer
from enginescope.judge.notice import Notice
from enginescope.render.base.facts import tensor_text
from enginescope.render.plans.explore_data import COLUMNS, explore_cells
from enginescope.render.plans.workbook import MS, WHOLE, Sheet, SheetColumn, workbook_bytes
from enginescope.rules.base import Finding

_PCT = "0.0"
#: Endings of our names -> the unit as it is written in a header, and how its numbers look.
_UNITS = {"_ms": ("ms", MS), "_pct": ("%", _PCT), "_bytes": ("bytes", WHOLE)}
_SHARE_COLUMNS = ("time_ms", "share_pct", "layers")
#: What made the plan or ran it, by what it is.
_MadeOn: TypeAlias = tuple[tuple[str, str | None], ...]


def explore_workbook(
    found: Exploration,
    layers: Sequence[ExploredLayer],
    *,
    device: str | None = None,
    tensorrt_version: str | None = None,
    notices: Sequence[Notice] = (),
    findings: Sequence[Finding] | None = None,
    more: Sequence[Sheet] = (),
) -> bytes:
    """Return the summary, every layer, and where the time goes, a sheet each.

    Args:
        layers: Its layers, in the order they are to have.
        tensorrt_version: That built the plan, or ran it.
        notices: Of reading the files; those of `found` follow.
        findings: ``None``: there is no plan to look for some in.
        more: What else was asked for, after these.

    Raises:
        MissingDependencyError: XlsxWriter is not installed.
    """
    made_on = (("GPU", device), ("TensorRT", tensorrt_version))
    sheets = [_summary(found, made_on, notices), _layers(layers)]
    sheets += [
        _shares("By type", "type", found.by_type),
        _shares("By precision", "precision of the first input", found.by_precision),
        _tactics(found),
        _reformats(found),
        _shares("Reformats by origin", "origin", found.reformats_by_origin),
        _shares("Reformats by conversion", "from → to", found.reformats_by_conversion),
    ]
    if findings is not None:
        sheets.append(_findings(findings))
    return workbook_bytes([*sheets, *more], title=found.name)


def _column(name: str) -> SheetColumn:
    """Return the column for a field: ``time_ms`` is headed ``time, ms``."""
    if name == "arithmetic_intensity":
        return SheetColumn(header="arithmetic intensity, MAC/byte", number_format="0.00")
    for ending, (unit, number_format) in _UNITS.items():
        if name.endswith(ending):
            words = name.removesuffix(ending).replace("_", " ")
            return SheetColumn(header=f"{words}, {unit}", number_format=number_format)
    return SheetColumn(header=name.replace("_", " "), number_format=WHOLE)


def _columns(*names: str) -> tuple[SheetColumn, ...]:
    return tuple(_column(name) for name in names)


def _summary(found: Exploration, made_on: _MadeOn, notices: Sequence[Notice]) -> Sheet:
    facts = _facts(found, made_on)
    rows = [(what, value, unit) for what, value, unit in facts if value is not None]
    rows += [(one.code, one.message, None) for one in (*notices, *found.notices)]
    columns = (
        SheetColumn(header="what"),
        SheetColumn(header="value", number_format="#,##0.####"),
        SheetColumn(header="unit"),
    )
    return Sheet(title="Summary", columns=columns, rows=tuple(rows))


def _facts(found: Exploration, made_on: _MadeOn) -> Iterator[tuple[str, Any, str | None]]:
    yield "plan", found.name, None
    yield "form of the plan", found.plan_schema, None
    yield "optimization profile", found.plan_profile, None
    for what, name in made_on:
        yield what, name, None
    time, totals = found.time, found.totals
    if time is not None:
        yield f"sum of the layers' {time.statistic}s", time.sum_ms, "ms"
        yield f"whole request, {time.statistic}", time.whole_ms, "ms"
        yield "metric of the whole", time.whole_metric, None
        yield "sum ÷ whole", time.ratio, None
    yield "iterations of the profile", found.iterations, None
    if totals is not None:
        yield "layers", totals.layers, None
        yield "layers that launch work", totals.active_layers, None
        yield "weights", totals.weights_bytes, "bytes"
        yield "biases", totals.bias_bytes, "bytes"
        yield "activations read and written", totals.activation_bytes, "bytes"
        yield "the same with padding", totals.padded_activation_bytes, "bytes"
        yield "uses of tensors of unknown size", totals.unknown_tensors, None
    for what, tensors in (("input", found.inputs), ("output", found.outputs)):
        for tensor in tensors:
            yield what, tensor_text(tensor), None
    yield "written by", f"enginescope {__version__}", None


def _layers(layers: Sequence[ExploredLayer]) -> Sheet:
    rows = tuple(tuple(explore_cells(layer)) for layer in layers)
    return Sheet(title="Layers", columns=_columns(*COLUMNS), rows=rows, fixed_columns=2)


def _shares(title: str, key: str, shares: Sequence[TimeShare | ReformatShare]) -> Sheet:
    rows = tuple(
        (share.key or "not known", share.time_ms, share.share_pct, share.layers) for share in shares
    )
    return Sheet(title=title, columns=_columns(key, *_SHARE_COLUMNS), rows=rows)


def _tactics(found: Exploration) -> Sheet:
    columns = _columns("tactic, without hash", *_SHARE_COLUMNS, "names with hashes", "types")
    rows = tuple(
        (
            tactic.tactic or "none named",
            tactic.time_ms,
            tactic.share_pct,
            tactic.layers,
            tactic.variants,
            ", ".join(tactic.types),
        )
        for tactic in found.tactics
    )
    return Sheet(title="Tactics", columns=columns, rows=rows)


def _reformats(found: Exploration) -> Sheet:
    names = ("index", "name", "origin", "from", "to", "changes type", "changes layout", "time_ms")
    rows = tuple(
        (
            reformat.index,
            reformat.name,
            reformat.origin,
            reformat.source,
            reformat.target,
            reformat.changes_type,
            reformat.changes_layout,
            reformat.time_ms,
        )
        for reformat in found.reformats
    )
    return Sheet(title="Reformats", columns=_columns(*names), rows=rows, fixed_columns=2)


def _findings(findings: Sequence[Finding]) -> Sheet:
    names = ("code", "rule", "severity", "layer", "finding", "what to do")
    savings = Saving().fields()
    rows = tuple(
        (
            *finding.saving.fields().values(),
            finding.code,
            finding.rule,
            finding.severity.value,
            finding.subject,
            finding.message,
            finding.advice,
        )
        for finding in findings
    )
    return Sheet(title="Findings", columns=_columns(*savings, *names), rows=rows)
