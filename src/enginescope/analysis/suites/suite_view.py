"""A suite that was run: its rows, gains and tables."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from enginescope.analysis.frames import Frames
from enginescope.analysis.suites.suite_perf_tables import PerfTable, perf_tables
from enginescope.analysis.suites.suite_table import speed_ups, tidy_columns
from enginescope.core.result import Result
from enginescope.records.suite.suite import CellRow, CellStatus, SuiteResult

if TYPE_CHECKING:
    from enginescope.judge.notice import Notice


class SuiteView(Frames, Result):
    """A suite with the rows of its cells."""

    def __init__(self, result: SuiteResult) -> None:
        self.result = result

    def _summary(self) -> str:
        return f"{self.result.name}: {len(self.rows)} rows"

    @property
    def rows(self) -> tuple[CellRow, ...]:
        """The row of each cell that ended, in the suite's order."""
        return self.result.rows

    @property
    def failed(self) -> tuple[CellRow, ...]:
        """Rows that are not ``ok``, each with its reason."""
        return tuple(row for row in self.rows if row.status is not CellStatus.OK)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Lines of the suite's files that cannot be read."""
        return self.result.notices

    @cached_property
    def speed_ups(self) -> dict[str, float]:
        """How many times as fast as their baseline cells are, by their keys."""
        return speed_ups(self.result)

    @cached_property
    def perf_tables(self) -> dict[str, PerfTable]:
        """The tables of ONNX Runtime's scripts: fail, success, latency, metrics, status, …"""
        return {table.name: table for table in perf_tables(self.result)}

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as columns, a row for each cell and metric."""
        return tidy_columns(self.result)
