"""What a suite found, in one sentence: the fastest backends, and what failed and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.analysis.suites.suite_perf_tables import case_name
from enginescope.analysis.suites.suite_table import lost_fp16
from enginescope.analysis.suites.suite_wins import Win, wins
from enginescope.core.record import Record
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.records.suite.suite import CellStatus, SuiteResult
from enginescope.render.base.figures import TextTable
from enginescope.render.base.text_table import shorten_apart
from enginescope.render.suites.suite_phrases import (
    PENDING,
    MatrixLine,
    backend_names,
    cell_text,
    coverage_text,
    failure_groups,
    matrix,
    status_text,
)

#: Cases that the sentence names one by one.
_MOST_CASES = 3
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


def win_text(win: Win) -> str:
    """Return ``3.27 × (3.1 … 3.4)``: how many times as fast as the next; empty without a next."""
    if win.ratio is None:
        return ""
    if win.interval is None:
        return f"{format_significant(win.ratio)} × (interval not known)"
    return f"{format_significant(win.ratio)} × ({_range((win.interval.low, win.interval.high))})"


def _fastest(result: SuiteResult) -> str:
    winners = wins(result)
    if not winners:
        return (
            f"No latency in {counted(len(result.rows), 'cell')}"
            if result.rows
            else "No cell has ended"
        )
    called = backend_names(result)
    lost = [called[row.cell.spec] for row in result.rows if lost_fp16(row)]
    names = ", ".join(dict.fromkeys(lost))
    cells = f"{counted(len(lost), 'cell')} of {names}"
    aside = f"; not ranked, since FP16 runs as FP32 (W-NOT-FP16): {cells}" if lost else ""
    if all(win.second is None for win in winners):
        return _alone(winners, called) + aside
    few = len(winners) <= _MOST_CASES
    return (_by_case if few else _by_backend)(winners, called) + aside


def _alone(winners: Sequence[Win], called: dict[str, str]) -> str:
    """Say what was measured where no case has two backends."""
    if len(winners) > 1:
        models, cells = len({win.case[0] for win in winners}), len(winners)
        where = "" if models == cells else f" in {counted(cells, 'cell')}"
        return (
            f"{counted(models, 'model')}{where} measured, none on two backends that can be ranked"
        )
    row = winners[0].fastest
    return f"{_named(winners[0])}: {format_ms(row.figure('latency'))} on {called[row.cell.spec]}"


def _named(win: Win) -> str:
    return " · ".join(one for one in win.case if one)


def _by_case(winners: Sequence[Win], called: dict[str, str]) -> str:
    by_spec: dict[str, list[str]] = {}
    parts = []
    for win in winners:
        backend = called[win.fastest.cell.spec]
        if win.second is None:
            parts.append(f"only {backend} has a latency for {_named(win)}")
        elif win.is_inconclusive:
            busy = ", on a busy machine" if win.is_unstable else ""
            margin = _margin(win, called)
            parts.append(f"inconclusive for {_named(win)}: {backend} is {margin}{busy}")
        else:
            text_of_case = f"{_named(win)} ({_margin(win, called)})"
            by_spec.setdefault(win.fastest.cell.spec, []).append(text_of_case)
    clear = [
        f"{called[spec]} is fastest for {', '.join(text_of_case)}"
        for spec, text_of_case in by_spec.items()
    ]
    text = "; ".join((*clear, *parts))
    return text if clear else text[:1].upper() + text[1:]


def _margin(win: Win, called: dict[str, str]) -> str:
    """Return ``3.27 × ort-cuda, 95 % CI 3.02 … 3.53``."""
    if win.second is None or win.ratio is None:
        return "no other"
    text = f"{format_significant(win.ratio)} × as fast as {called[win.second.cell.spec]}"
    if win.interval is None:
        return f"{text}, interval not known"
    return f"{text}, 95 % CI {_range((win.interval.low, win.interval.high))}"


def _by_backend(winners: Sequence[Win], called: dict[str, str]) -> str:
    noun = "models" if len({win.case[0] for win in winners}) == len(winners) else "cases"
    by_spec: dict[str, list[float]] = {}
    for win in winners:
        if win.ratio and not win.is_inconclusive:
            by_spec.setdefault(win.fastest.cell.spec, []).append(win.ratio)
    ordered = sorted(by_spec.items(), key=lambda one: -len(one[1]))
    unsure = sum(win.is_inconclusive for win in winners)
    unknown = sum(
        win.ratio is not None and win.interval is None and not win.is_inconclusive
        for win in winners
    )
    if not ordered:
        return (
            f"Inconclusive: no backend is certainly the fastest for any of {len(winners):,} {noun}"
        )
    (spec, ratios), *others = ordered
    first = f"{called[spec]} is fastest for {len(ratios):,} of {len(winners):,} {noun}"
    parts = [f"{first} ({_range(ratios)} × as fast as the next backend)"]
    parts += [
        f"{called[spec]} for {len(ratios):,} ({_range(ratios)} ×)"
        for spec, ratios in others[: _MOST_NAMED - 1]
    ]
    more = sum(len(ratios) for _, ratios in others[_MOST_NAMED - 1 :])
    parts += [f"other backends for {more:,}"] if more else []
    parts += [f"inconclusive for {unsure:,}"] if unsure else []
    parts += [f"intervals not known for {unknown:,}"] if unknown else []
    return ", ".join(parts)


def _range(values: Sequence[float]) -> str:
    low, high = (format_significant(one) for one in (min(values), max(values)))
    return low if low == high else f"{low} … {high}"


def _failed(result: SuiteResult) -> str | None:
    groups = failure_groups(result)
    parts = []
    for status in CellStatus:
        alike = sorted((g for g in groups if g.status is status), key=lambda g: -len(g.rows))
        if alike:
            first = [group.rows[0].reason or "no reason is known" for group in alike]
            reasons = [" ".join(reason.split()) for reason in first]
            shown = [
                f"{reason} ({len(group.rows):,})" if len(alike) > 1 else reason
                for reason, group in zip(reasons[:_MOST_NAMED], alike, strict=False)
            ]
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
_NAME_WIDTH = 28
_GAP = 2


def suite_tables(result: SuiteResult, *, width: int = 80) -> tuple[TextTable, ...]:
    """Return what a suite came to, as tables that fit into `width` columns."""
    made = [*_matrix_tables(result, width), _failures(result), _coverage(result)]
    return tuple(one for one in made if one is not None)


def _matrix_tables(result: SuiteResult, width: int) -> Iterator[TextTable]:
    """Yield the matrix, its backends in as many tables as the width asks for."""
    lines = matrix(result)
    count = result.plan.suite.processes
    of = f"median of {count} processes" if count > 1 else "median"
    title = f"latency ({of}) and speed-up"
    if not any(row.figure("latency") is not None for row in result.rows):
        title = "status" if result.plan.suite.mode == "benchmark" else "outputs"
    called = backend_names(result)
    names = shorten_apart([one.name for one in lines], _NAME_WIDTH)
    name_width = max(map(len, names), default=0)
    for chosen in _fitting(lines, list(called.values()), width - name_width):
        rows = [
            row
            for line, name in zip(lines, names, strict=True)
            if (row := _line(line, name, chosen)) is not None
        ]
        table = _table(title, ("model", *chosen), rows)
        if table is not None:
            yield table


def _table(
    title: str, headers: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> TextTable | None:
    if not rows:
        return None
    more = max(0, len(rows) - MOST_LINES)
    return TextTable(title=title, headers=headers, rows=tuple(rows[:MOST_LINES]), left_out=more)


def _fitting(
    lines: Sequence[MatrixLine], backends: Sequence[str], width: int
) -> Iterator[tuple[str, ...]]:
    """Yield backends in groups whose columns fit into `width`, in order, at least one each."""
    group: list[str] = []
    used = 0
    for at, backend in enumerate(backends):
        needed = _GAP + max(len(backend), *(len(cell_text(line.cells[at])) for line in lines))
        if group and used + needed > width:
            yield tuple(group)
            group, used = [], 0
        group.append(backend)
        used += needed
    if group:
        yield tuple(group)


def _line(line: MatrixLine, name: str, backends: Sequence[str]) -> tuple[str, ...] | None:
    cells = {cell.backend: cell for cell in line.cells if cell.is_asked}
    if not any(backend in cells for backend in backends):
        return None
    return (name, *(cell_text(cells[backend]) if backend in cells else "" for backend in backends))


def _failures(result: SuiteResult) -> TextTable | None:
    """Return the cells that are not ``ok``, those that ended alike together."""
    rows = [
        (status_text(group.status), f"{group.cells}\n{group.reason}")
        for group in failure_groups(result)
    ]
    return _table("cells that are not ok", ("status", "backend and models, and why"), rows)


def _coverage(result: SuiteResult) -> TextTable | None:
    """Return which provider took what, of cells in which more than the CPU's could."""
    found = [row for row in result.rows if row.providers and not row.cell.job.backend.is_cpu]
    called = backend_names(result)
    rows = [(case_name(one), called[one.cell.spec], coverage_text(one) or "") for one in found]
    return _table("which provider took what", ("model", "backend", "nodes and time"), rows)
