"""What a suite found: the answer, the cells in words, and the tables of a terminal."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from shlex import quote

from enginescope.analysis.suites.suite_table import Win, baselines, lost_fp16, speed_ups, wins
from enginescope.analysis.suites.suite_view import case_name
from enginescope.analysis.verdicts.comparability import ASSUMED_SCATTER_PCT
from enginescope.core.record import Record, replace
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.records.notice import UNSTABLE
from enginescope.records.suite.suite import CellRow, CellStatus, SuiteResult
from enginescope.render.base.device_phrases import short_name
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import few
from enginescope.render.base.short_names import NAME_LENGTH, shorten_apart, told_apart

#: What stands for a cell that is not done yet.
PENDING = "not done"
#: What the mark at a figure means.
UNSTABLE_MARK = f"!: {UNSTABLE}"


class MatrixCell(Record, frozen=True, kw_only=True):
    """One cell of the matrix; `row` is ``None`` where it is not done, or not asked for.

    `backend` is what tables call its `spec`. `of_best` is its latency ÷ the shortest of the line;
    ``None`` where it is open which backend is the fastest.
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
    names = shorten_apart(told_apart(specs, NAME_LENGTH).labels, NAME_LENGTH)
    return dict(zip(specs, names, strict=True))


def options_sentence(result: SuiteResult) -> str | None:
    """Return the options that the backends' names leave out; ``None``: none are."""
    return told_apart(specs_of(result), NAME_LENGTH).shared


def matrix(result: SuiteResult) -> tuple[MatrixLine, ...]:
    """Return models by backends."""
    specs, faster, counted_from = specs_of(result), speed_ups(result), baselines(result)
    names = backend_names(result)
    decided = {win.case: win.fastest for win in wins(result) if win.is_decided}
    rows = {row.cell.key: row for row in result.rows}
    keys: dict[tuple[str, str], dict[str, str]] = {}
    for cell in result.plan.cells:
        keys.setdefault((cell.model, cell.case), {})[cell.spec] = cell.key
    lines = []
    for case, own in keys.items():
        known = {key: row for key in own.values() if (row := rows.get(key)) is not None}
        best = decided[case].figure("latency") if case in decided else None
        times = {key: row.figure("latency") for key, row in known.items() if not lost_fp16(row)}
        cells = (
            MatrixCell(
                spec=spec,
                backend=names[spec],
                row=known.get(key),
                is_asked=spec in own,
                speed_up=faster.get(key),
                is_baseline=counted_from[case] == spec,
                of_best=time / best if best and (time := times.get(key)) else None,
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


def reason_shape(row: CellRow) -> tuple[CellStatus, str]:
    """Return a row's status and reason without its model, backend, paths and numbers."""
    cell, text = row.cell, reason_text(row)
    for name in (cell.job.subject.name, cell.spec, cell.job.backend.name, cell.model):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "…", text)
    particulars = r"\w+ExecutionProvider|\S*/\S+|0x[0-9a-f]+|\d[\d.,]*"  # providers, paths, numbers
    return row.status, re.sub(particulars, "…", text)


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
    cells = few([f"{backend} · {model}" for backend, model in pairs], 8)
    if len(pairs) == len(backends) * len(models):
        cells = f"{few([*backends], 8)} · {few([*models], 8)}"
    return FailureGroup(
        status=rows[0].status, cells=cells, reason=f"{first}{more}", rows=tuple(rows)
    )


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
    label = " · ".join(filter(None, (cell.model, backend_names(result)[cell.spec], cell.case)))
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
    sentences = (options_sentence, _baseline_sentence, _processes_sentence, weakness_sentence)
    return [text for sentence in sentences if (text := sentence(result))]


def coverage_text(row: CellRow) -> str | None:
    """Return ``TensorRT 947 of 948 nodes, 99.8 % of time; CPU …``; ``None`` where not known."""
    if not row.providers:
        return None
    nodes = sum(provider.nodes or 0 for provider in row.providers)
    whole = sum(provider.time_ms for provider in row.providers if provider.time_ms is not None)
    parts = []
    for one in row.providers:
        taken = "nodes not known" if one.nodes is None else f"{one.nodes:,} of {nodes:,} nodes"
        if one.time_ms is not None and whole:
            taken += f", {format_significant(100 * one.time_ms / whole)} % of kernel time"
        parts.append(f"{short_name(one.provider)} {taken}")
    return "; ".join(parts)


#: Backends, and reasons of failures, that it names.
_MOST_NAMED = 3


class SuiteAnswer(Record, frozen=True, kw_only=True):
    """The answer of a suite.

    Attributes:
        fastest: Which backends are fastest, and by how much.
        failed: What has no figure, and why; ``None``: nothing.
    """

    fastest: str
    failed: str | None


def suite_answer(result: SuiteResult) -> SuiteAnswer:
    """Return what a suite found, done or not yet."""
    return SuiteAnswer(fastest=_fastest(result), failed=_failed(result))


def next_steps(result: SuiteResult) -> Iterator[str]:
    """Yield what mends failed cells, then what decides the largest open lead, or explains one."""
    for hint in [group.rows[0].hint for group in failure_groups(result) if group.rows[0].hint][:1]:
        again = (result.plan.command or "the suite's command with").replace(" --retry-failed", "")
        yield f"{hint}; then {again} --retry-failed"
    won = [win for win in wins(result) if win.second is not None]
    opened = [win for win in won if not win.is_decided]
    for win in sorted(opened or won, key=lambda win: win.ratio or 0.0)[-1:]:
        pair = [row for row in (win.second, win.fastest) if row is not None]
        if opened:
            job = win.fastest.cell.job
            batch = "" if job.workload.batch is None else f" --batch {job.workload.batch}"
            sides = "".join(f" --on {quote(row.cell.spec)}" for row in pair)
            model = quote(job.subject.path or job.subject.name)
            yield f"decide {_named(win)}: enginescope bench {model}{sides}{batch} --compare"
        elif all(row.run for row in pair):
            runs = " ".join(str(row.run) for row in pair)
            yield f"what explains the lead for {_named(win)}: enginescope compare {runs}"


def win_text(win: Win) -> str:
    """Return ``3.27 × (3.1 … 3.4)``: how many times as fast as the next; empty without a next."""
    if win.ratio is None:
        return ""
    ends = _range((win.interval.low, win.interval.high)) if win.interval else "no interval"
    return f"{format_significant(win.ratio)} × ({ends})"


def _fastest(result: SuiteResult) -> str:
    winners = wins(result)
    if not winners:
        count = counted(len(result.rows), "cell")
        return f"No latency in {count}" if result.rows else "No cell has ended"
    called = backend_names(result)
    lost = [called[row.cell.spec] for row in result.rows if lost_fp16(row)]
    cells = f"{counted(len(lost), 'cell')} of {', '.join(dict.fromkeys(lost))}"
    aside = f"; not ranked, since FP16 runs as FP32: {cells}" if lost else ""
    if len(winners) == 1:
        return _one_case(winners[0], called) + aside
    if any(win.second is not None for win in winners):
        return _by_backend(winners, called) + aside
    models = len({win.case[0] for win in winners})
    where = "" if models == len(winners) else f" in {counted(len(winners), 'cell')}"
    count = f"{counted(models, 'model')}{where}"
    return f"{count} measured, none on two backends that can be ranked{aside}"


def _named(win: Win) -> str:
    return " · ".join(filter(None, win.case))


def _one_case(win: Win, called: dict[str, str]) -> str:
    backend = called[win.fastest.cell.spec]
    if win.second is None:
        return f"{_named(win)}: {format_ms(win.fastest.figure('latency'))} on {backend}"
    ends = win.interval and _range((win.interval.low, win.interval.high))
    margin = f"{format_significant(win.ratio or 0.0)} × as fast as {called[win.second.cell.spec]}, "
    margin += f"95 % CI {ends}" if ends else "interval not known"
    if win.is_decided:
        return f"{backend} is fastest for {_named(win)} ({margin})"
    busy = ", on a busy machine" if win.is_unstable else ""
    return f"Inconclusive for {_named(win)}: {backend} is {margin}{busy}"


def _by_backend(winners: Sequence[Win], called: dict[str, str]) -> str:
    noun = "models" if len({win.case[0] for win in winners}) == len(winners) else "cases"
    by_spec: dict[str, list[float]] = {}
    for win in winners:
        if win.ratio and win.is_decided:
            by_spec.setdefault(win.fastest.cell.spec, []).append(win.ratio)
    ordered = sorted(by_spec.items(), key=lambda one: -len(one[1]))
    alone = sum(win.second is None for win in winners)
    unsure = sum(not win.is_decided for win in winners) - alone
    unknown = sum(win.is_decided and win.interval is None for win in winners)
    total = f"{len(winners):,} {noun}"
    if not ordered:
        return f"Inconclusive: no backend is certainly the fastest for any of {total}"
    (spec, ratios), *others = ordered
    first = f"{called[spec]} is fastest for {len(ratios):,} of {total}"
    by_model = f", by {noun[:-1]}" if len(set(ratios)) > 1 else ""  # no interval
    won = [win for win in winners if win.is_decided and win.fastest.cell.spec == spec]
    ends = [win.interval.low for win in won if win.interval]
    seconds = {called[win.second.cell.spec] for win in won if win.second is not None}
    second = seconds.pop() if len(seconds) == 1 else "the next backend"
    sure = f"; at least {format_significant(min(ends))} × by the 95 % CI" if ends else ""
    parts = [f"{first} ({_range(ratios)} × as fast as {second}{by_model}{sure})"]
    parts += [
        f"{called[spec]} for {len(ratios):,} ({_range(ratios)} ×)"
        for spec, ratios in others[: _MOST_NAMED - 1]
    ]
    more = sum(len(ratios) for _, ratios in others[_MOST_NAMED - 1 :])
    parts += [f"other backends for {more:,}"] if more else []
    parts += [f"inconclusive for {unsure:,}"] if unsure else []
    parts += [f"only one backend for {alone:,}"] if alone else []
    parts += [f"intervals not known for {unknown:,}"] if unknown else []
    return ", ".join(parts)


def _range(values: Sequence[float]) -> str:
    low, high = (format_significant(one) for one in (min(values), max(values)))
    return low if low == high else f"{low} … {high}"


def _failed(result: SuiteResult) -> str | None:
    groups, called = failure_groups(result), backend_names(result)
    parts = []
    for status in CellStatus:
        alike = sorted((g for g in groups if g.status is status), key=lambda g: -len(g.rows))
        if alike:
            shown = []
            for group in alike[:_MOST_NAMED]:
                names = ", ".join({called[row.cell.spec]: 0 for row in group.rows})
                of = f" ({len(group.rows):,} of {names})" if len(alike) > 1 else ""
                reason = (group.rows[0].reason or "no reason is known").split()
                shown.append(f"{' '.join(reason)}{of}")
            more = len(alike) - len(shown)
            shown += [f"{more:,} more reason{'s' if more > 1 else ''}"] if more else []
            count = sum(len(group.rows) for group in alike)
            parts.append(f"{count:,} {status_text(status)}: {'; '.join(shown)}")
    if result.pending:
        parts.append(f"{result.pending:,} {PENDING}")
    total = sum(cell.is_asked for line in matrix(result) for cell in line.cells)
    return f"Of {counted(total, 'cell')}, {'. '.join(parts)}." if parts else None


#: Lines of each table; the rest is in the files.
MOST_LINES = 40


def suite_tables(result: SuiteResult) -> tuple[TextTable, ...]:
    """Return what a suite came to: the matrix, what failed, which provider took what."""
    called = backend_names(result)
    failed = [
        (status_text(group.status), f"{group.cells}\n{group.reason}")
        for group in failure_groups(result)
    ]
    coverage = [
        (case_name(row), called[row.cell.spec], coverage_text(row) or "")
        for row in result.rows
        if row.providers and not row.cell.job.backend.is_cpu
    ]
    tables = (
        _matrix(result),
        _table("cells that are not ok", ("status", "backend and models, and why"), failed),
        _table("which provider took what", ("model", "backend", "nodes and time"), coverage),
    )
    return tuple(table for table in tables if table is not None)


def _matrix(result: SuiteResult) -> TextTable | None:
    lines = matrix(result)
    count = result.plan.suite.processes
    of = f"median of {count} processes" if count > 1 else "median"
    title = f"latency ({of}) and speed-up"
    if not any(row.figure("latency") is not None for row in result.rows):
        title = "status" if result.plan.suite.mode == "benchmark" else "outputs"
    names = shorten_apart([one.name for one in lines], 28)
    rows = [(name, *map(cell_text, line.cells)) for name, line in zip(names, lines, strict=True)]
    table = _table(title, ("model", *backend_names(result).values()), rows)
    return table and replace(table, is_divided=True)


def _table(
    title: str, headers: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> TextTable | None:
    if not rows:
        return None
    more, shown = max(0, len(rows) - MOST_LINES), tuple(rows[:MOST_LINES])
    return TextTable(title=title, headers=headers, rows=shown, left_out=more, is_titled=True)
