"""Models by backends as a table that sorts and filters, each cell a link to its run."""

from __future__ import annotations

from collections.abc import Mapping

from enginescope.analysis.suites.suite_wins import Win, wins
from enginescope.judge.units import format_significant
from enginescope.records.suite.suite import CellStatus, SuiteResult
from enginescope.render.base.data_table import DataColumn, DataTable, column, data_table
from enginescope.render.suites.suite_answer import win_text
from enginescope.render.suites.suite_phrases import (
    UNSTABLE_MARK,
    MatrixCell,
    MatrixLine,
    backend_names,
    cell_text,
    matrix,
    status_text,
)

#: A smaller error is written with an exponent.
_SMALL_ERROR = 1e-3
#: Speed-up below which a cell has a class of the style sheet; a higher one has the last.
_HEAT = ((0.9, "slower"), (1.1, "alike"), (1.5, "faster-1"), (3.0, "faster-2"))


def matrix_table(result: SuiteResult, links: Mapping[str, str]) -> DataTable | None:
    """Return a row for each model in each batch and shape, a column for each backend.

    Args:
        links: By the keys of cells, where they lead.
    """
    lines, called = matrix(result), backend_names(result)
    by_case = {win.case: win for win in wins(result)}
    won = [by_case.get((line.model, line.case)) for line in lines]
    several = len(called) > 1
    columns = [
        column("model", [line.model for line in lines]),
        column("batch, shapes", [line.case or None for line in lines], is_choice=True),
        *([_fastest(won, called), _margin(won)] if several else []),
        column("failed", [_failures(line) for line in lines], is_mark=True),
        *(_backend(lines, at, spec, links) for at, spec in enumerate(called)),
    ]
    caption = "Median latency, speed-up over the baseline, largest error; or how the cell ended"
    return data_table("matrix", caption, ("model", "models"), columns)


def cell_anchors(result: SuiteResult) -> dict[str, str]:
    """Return the anchors of the cells that have ended, by their keys."""
    return {row.cell.key: f"#cell-{row.cell.key}" for row in result.rows}


def heat(cell: MatrixCell) -> str:
    """Return a class of the style sheet: how the cell ended, or how its speed compares."""
    if cell.row is not None and cell.row.status is not CellStatus.OK:
        return "unsupported" if cell.row.status is CellStatus.UNSUPPORTED else "bad"
    if cell.is_baseline or cell.speed_up is None:
        return "base" if cell.is_baseline else "plain"
    return next((name for bound, name in _HEAT if cell.speed_up < bound), "faster-3")


def _fastest(won: list[Win | None], called: Mapping[str, str]) -> DataColumn:
    names = [
        None
        if win is None or win.second is None
        else "inconclusive"
        if win.is_inconclusive
        else called[win.fastest.cell.spec]
        for win in won
    ]
    meaning = "The fastest backend; inconclusive where the interval of the lead reaches 1, or at !"
    return column("fastest", names, is_choice=True, meaning=meaning)


def _margin(won: list[Win | None]) -> DataColumn:
    return column(
        "lead over next",
        [win.ratio if win else None for win in won],
        2,
        texts=tuple(win_text(win) or "—" if win else "—" for win in won),
        meaning="How many times as fast as the next fastest backend, with the 95 % interval",
    )


def _failures(line: MatrixLine) -> str | None:
    ended = [cell.row.status for cell in line.cells if cell.row is not None]
    bad = [status_text(status) for status in ended if status is not CellStatus.OK]
    return f"{len(bad)} of {sum(cell.is_asked for cell in line.cells)}" if bad else None


def _backend(
    lines: tuple[MatrixLine, ...], at: int, spec: str, links: Mapping[str, str]
) -> DataColumn:
    cells = [line.cells[at] for line in lines]
    return column(
        cells[0].backend,
        [cell.row.figure("latency") if cell.row is not None else None for cell in cells],
        4,
        texts=tuple(_text(cell) for cell in cells),
        links=tuple(links.get(cell.row.cell.key) if cell.row else None for cell in cells),
        looks=tuple(heat(cell) for cell in cells),
        meaning=f"{spec}; {UNSTABLE_MARK}" if any(map(_is_unstable, cells)) else spec,
    )


def _is_unstable(cell: MatrixCell) -> bool:
    return cell.row is not None and cell.row.is_unstable


def _text(cell: MatrixCell) -> str:
    """Return what a cell says, and its largest error beside its speed."""
    error = cell.row.figure("max_abs_error") if cell.row is not None else None
    if error is None or cell.row is None or cell.row.figure("latency") is None:
        return cell_text(cell)
    is_small = 0 < error < _SMALL_ERROR
    shown = f"{error:.1e}" if is_small else format_significant(error, 2)
    return f"{cell_text(cell)} · error {shown}"
