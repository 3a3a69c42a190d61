"""A suite's cells in words: the same on the terminal and on the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from enginescope.analysis.suites.suite_perf_tables import case_name
from enginescope.analysis.suites.suite_table import baselines, lost_fp16, speed_ups
from enginescope.analysis.verdicts.comparability import ASSUMED_SCATTER_PCT
from enginescope.core.record import Record
from enginescope.judge.units import counted, format_significant
from enginescope.records.notice import UNSTABLE
from enginescope.records.suite.suite import CellRow, CellStatus, SuiteResult
from enginescope.render.base.provider_phrases import short_name
from enginescope.render.base.shared_options import told_apart
from enginescope.render.base.text_table import shorten_apart

#: What stands for a cell that is not done yet.
PENDING = "not done"
#: What the mark at a figure means.
UNSTABLE_MARK = f"!: {UNSTABLE}"
#: Letters of a backend's name.
_BACKEND_LENGTH = 34


class MatrixCell(Record, frozen=True, kw_only=True):
    """One cell of the matrix; `row` is ``None`` where it is not done, or not asked for.

    `backend` is what tables call its `spec`. `of_best` is its latency ÷ the shortest of the line;
    ``None`` where there is no other.
    """

    spec: str
    backend: str
    row: CellRow | None
    is_asked: bool
    speed_up: float | None
    is_baseline: bool
    of_best: float | None = None

    def figure(self, metric: str) -> float | None:
        """Return a figure of the row, if there are both."""
        return self.row.figure(metric) if self.row is not None else None


class MatrixLine(Record, frozen=True, kw_only=True):
    """One model in one batch and shape, on every backend of the suite."""

    model: str
    case: str
    cells: tuple[MatrixCell, ...]

    @property
    def name(self) -> str:
        return f"{self.model} · {self.case}" if self.case else self.model


def specs_of(result: SuiteResult) -> tuple[str, ...]:
    """Return the backends in the order of the suite."""
    return tuple(dict.fromkeys(cell.spec for cell in result.plan.cells))


def backend_names(result: SuiteResult) -> dict[str, str]:
    """Return what tables call the backends: without what they share, and not too long."""
    specs = specs_of(result)
    names = shorten_apart(told_apart(specs, _BACKEND_LENGTH).labels, _BACKEND_LENGTH)
    return dict(zip(specs, names, strict=True))


def options_sentence(result: SuiteResult) -> str | None:
    """Return the options that the backends' names leave out; ``None``: none are."""
    return told_apart(specs_of(result), _BACKEND_LENGTH).shared


def matrix(result: SuiteResult) -> tuple[MatrixLine, ...]:
    """Return models by backends."""
    specs, faster, counted_from = specs_of(result), speed_ups(result), baselines(result)
    names = backend_names(result)
    rows = {row.cell.key: row for row in result.rows}
    keys: dict[tuple[str, str], dict[str, str]] = {}
    for cell in result.plan.cells:
        keys.setdefault((cell.model, cell.case), {})[cell.spec] = cell.key
    lines = []
    for case, own in keys.items():
        known = {key: row for key in own.values() if (row := rows.get(key)) is not None}
        times = {key: time for key, row in known.items() if (time := row.figure("latency"))}
        best = min(times.values()) if len(times) > 1 else None
        cells = (
            MatrixCell(
                spec=spec,
                backend=names[spec],
                row=known.get(key),
                is_asked=spec in own,
                speed_up=faster.get(key),
                is_baseline=counted_from[case] == spec,
                of_best=times[key] / best if best and key in times else None,
            )
            for spec in specs
            for key in (own.get(spec, ""),)
        )
        lines.append(MatrixLine(model=case[0], case=case[1], cells=tuple(cells)))
    return tuple(lines)


def cell_text(cell: MatrixCell) -> str:
    """Return ``7.05 ms · 1.35 ×``, or how the cell ended."""
    if not cell.is_asked:
        return ""
    if cell.row is None:
        return PENDING
    if cell.row.status is not CellStatus.OK:
        return status_text(cell.row.status)
    latency, error = cell.row.figure("latency"), cell.row.figure("max_abs_error")
    mark = " !" if cell.row.is_unstable else ""
    parts = [f"{format_significant(latency)} ms{mark}"] if latency is not None else []
    if cell.speed_up is not None and not cell.is_baseline:
        parts.append(f"{format_significant(cell.speed_up)} ×")
    if latency is None:
        parts.append("ok" if error is None else f"ok, error {format_significant(error, 2)}")
    if lost_fp16(cell.row):
        parts.append("not FP16")
    return " · ".join(parts)


def status_text(status: CellStatus) -> str:
    return status.value.replace("_", " ")


def reason_text(row: CellRow) -> str:
    """Return why a cell is not ``ok``, with the next step."""
    hint = f" (try: {row.hint})" if row.hint else ""
    return f"{row.reason or 'no reason is known'}{hint}"


#: What differs between reasons of one shape: names of providers, paths, numbers.
_PARTICULARS = re.compile(r"\w+ExecutionProvider|\S*/\S+|0x[0-9a-f]+|\d[\d.,]*")
_MOST_NAMES = 8


def reason_shape(row: CellRow) -> tuple[CellStatus, str]:
    """Return a row's status and reason without its model, backend, paths and numbers."""
    cell, text = row.cell, reason_text(row)
    for name in (cell.job.subject.name, cell.spec, cell.job.backend.name, cell.model):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "…", text)
    return row.status, _PARTICULARS.sub("…", text)


class FailureGroup(Record, frozen=True, kw_only=True):
    """Cells that failed alike, in order.

    Attributes:
        cells: Backends and models, few of each named.
        reason: Of the first; how many others differ from it in names and numbers.
    """

    status: CellStatus
    cells: str
    reason: str
    rows: tuple[CellRow, ...]


def failure_groups(result: SuiteResult) -> tuple[FailureGroup, ...]:
    """Return the cells that are not ``ok``, those of one shape of reason together."""
    called = backend_names(result)
    alike: dict[tuple[CellStatus, str], list[CellRow]] = {}
    for row in result.rows:
        if row.status is not CellStatus.OK:
            alike.setdefault(reason_shape(row), []).append(row)
    return tuple(_group(rows, called) for rows in alike.values())


def _group(rows: Sequence[CellRow], called: dict[str, str]) -> FailureGroup:
    first = reason_text(rows[0])
    others = sum(reason_text(row) != first for row in rows)
    more = f"; {others:,} more, with other names or numbers" if others else ""
    pairs = {(called[row.cell.spec], case_name(row)): None for row in rows}
    backends, models = (dict.fromkeys(names) for names in zip(*pairs, strict=True))
    is_product = len(pairs) == len(backends) * len(models)
    return FailureGroup(
        status=rows[0].status,
        cells=f"{few_of(backends)} · {few_of(models)}"
        if is_product
        else few_of(f"{backend} · {model}" for backend, model in pairs),
        reason=f"{first}{more}",
        rows=tuple(rows),
    )


def few_of(names: Iterable[str]) -> str:
    """Return names once each, the first of many."""
    known = list(dict.fromkeys(names))
    more = len(known) - _MOST_NAMES
    return ", ".join([*known[:_MOST_NAMES], *([f"{more:,} more"] if more > 0 else [])])


def counts_sentence(result: SuiteResult) -> str:
    """Return ``39 cells: 30 ok, 9 unsupported``."""
    parts = [f"{count:,} {status_text(one)}" for one in CellStatus if (count := result.count(one))]
    parts += [f"{result.pending:,} {PENDING}"] if result.pending else []
    return f"{len(result.plan.cells):,} cells: {', '.join(parts) or 'none'}"


def took_sentence(result: SuiteResult) -> str | None:
    """Return how long the cells took, one after the other; ``None`` where none has ended."""
    if not result.rows:
        return None
    seconds = [
        (datetime.fromisoformat(row.ended) - datetime.fromisoformat(row.started)).total_seconds()
        for row in result.rows
    ]
    whole = timedelta(seconds=round(sum(seconds)))
    longest = max(range(len(seconds)), key=seconds.__getitem__)
    cell = result.rows[longest].cell
    named = (cell.model, backend_names(result)[cell.spec], cell.case)
    label = " · ".join(one for one in named if one)
    return f"{whole} for all cells; the longest took {timedelta(seconds=seconds[longest])}: {label}"


def weakness_sentence(result: SuiteResult) -> str | None:
    """Return how many cells have which warnings, and what `!` means; ``None``: none has any."""
    weak = [row for row in result.rows if row.warnings]
    if not weak:
        return None
    counts = Counter(code for one in weak for code in one.warnings)
    named = ", ".join(f"{code} {count:,}" for code, count in counts.most_common())
    unstable = sum(one.is_unstable for one in weak)
    marked = f"; {UNSTABLE_MARK} ({counted(unstable, 'cell')})" if unstable else ""
    return f"warnings in {counted(len(weak), 'cell')}: {named}{marked}; enginescope explain CODE"


def _processes_sentence(result: SuiteResult) -> str | None:
    """Return what the figures of several processes are, or what an interval of one leaves out."""
    count = result.plan.suite.processes
    if count > 1 and any(row.runs for row in result.rows):
        return (
            f"{count} processes a cell, one after another: figures are medians over the processes, "
            "and the interval of the latency covers how they differ"
        )
    if count > 1 or not any(row.figure("latency") for row in result.rows):
        return None
    return (
        "one process a cell: intervals do not cover how processes differ; the fastest must lead by "
        f"more than an assumed ±{ASSUMED_SCATTER_PCT:g} %; --processes 5 measures the variation"
    )


def _baseline_sentence(result: SuiteResult) -> str | None:
    """Return what speed-up is counted from; ``None`` where there is nothing to count."""
    others = [cell for line in matrix(result) for cell in line.cells if not cell.is_baseline]
    if all(other.speed_up is None for other in others):
        return None
    named = set(baselines(result).values())
    base = backend_names(result)[named.pop()] if len(named) == 1 else "each model's first backend"
    count = result.plan.suite.processes
    a_side = f"{count} processes" if count > 1 else "one process"
    return (
        f"×: how many times as fast as {base}, medians of {a_side} a side; "
        "enginescope gate and bench --compare separate differences from noise"
    )


def explained(result: SuiteResult) -> list[str]:
    """Return what qualifies the figures, a sentence each."""
    said = (options_sentence, _baseline_sentence, _processes_sentence, weakness_sentence)
    return [sentence for say in said if (sentence := say(result))]


def coverage_text(row: CellRow) -> str | None:
    """Return ``TensorRT 947 of 948 nodes, 99.8 % of time; CPU …``; ``None`` where not known."""
    if not row.providers:
        return None
    nodes = sum(provider.nodes or 0 for provider in row.providers)
    times = [provider.time_ms for provider in row.providers if provider.time_ms is not None]
    whole = sum(times)
    parts = []
    for provider in row.providers:
        name = short_name(provider.provider)
        share = (
            f", {format_significant(100 * provider.time_ms / whole)} % of kernel time"
            if provider.time_ms is not None and whole
            else ""
        )
        taken = (
            f"{provider.nodes:,} of {nodes:,} nodes"
            if provider.nodes is not None
            else "nodes not known"
        )
        parts.append(f"{name} {taken}{share}")
    return "; ".join(parts)
