"""``es.suite``: a suite that was run, opened from Python."""

from __future__ import annotations

from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from enginescope.analysis import frames
from enginescope.analysis.suite_gains import speed_ups
from enginescope.analysis.suite_perf_tables import PerfTable, perf_tables
from enginescope.analysis.suite_table import tidy_columns
from enginescope.core.errors import UsageError
from enginescope.core.suggest import closest
from enginescope.model.suite import CellRow, CellStatus, SuiteResult

if TYPE_CHECKING:
    from enginescope.chart_display import ChartDisplay
    from enginescope.model.notice import Notice


class OpenedSuite:
    """A suite with what became of its cells.

    Parameters
    ----------
    result : SuiteResult
        Its plan and rows.
    """

    def __init__(self, result: SuiteResult) -> None:
        self.result = result

    def __repr__(self) -> str:
        """Return one line that names the suite and counts its cells."""
        from enginescope.render.suite_phrases import counts_sentence

        return f"<OpenedSuite {self.result.name}: {counts_sentence(self.result)}>"

    @property
    def rows(self) -> tuple[CellRow, ...]:
        """What became of each cell that has ended, in the suite's order."""
        return self.result.rows

    @property
    def failed(self) -> tuple[CellRow, ...]:
        """Rows that are not ``ok``, each with its reason."""
        return tuple(one for one in self.rows if one.status is not CellStatus.OK)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What could not be read of its files."""
        return self.result.notices

    @cached_property
    def speed_ups(self) -> dict[str, float]:
        """How many times as fast as their baseline cells are, by their keys."""
        return speed_ups(self.result)

    @cached_property
    def perf_tables(self) -> dict[str, PerfTable]:
        """The tables of ONNX Runtime's scripts: fail, success, latency, metrics, status, …"""
        return {one.name: one for one in perf_tables(self.result)}

    @cached_property
    def charts(self) -> dict[str, ChartDisplay]:
        """The pictures of its page, which a notebook shows: ``"suite_heat"``, …"""
        from enginescope.chart_display import ChartDisplay
        from enginescope.render.charts.suite import suite_charts

        return {one.key: ChartDisplay(one) for one in suite_charts(self.result)}

    def to_pandas(self) -> Any:
        """Return the tidy table, a row for each cell and metric, as a ``pandas.DataFrame``."""
        return frames.to_pandas(tidy_columns(self.result))

    def to_polars(self) -> Any:
        """Return the tidy table as a ``polars.DataFrame``."""
        return frames.to_polars(tidy_columns(self.result))

    def to_arrow(self) -> Any:
        """Return the tidy table as a ``pyarrow.Table``."""
        return frames.to_arrow(tidy_columns(self.result))


def suite(what: str | PathLike[str], *, store: str | PathLike[str] | None = None) -> OpenedSuite:
    """Return a suite that ``enginescope suite`` has run, finished or not.

    Parameters
    ----------
    what : str or path
        Its name in the store, or its folder.
    store : str or path, optional
        Else ``$ENGINESCOPE_HOME``, else the platform's data folder.

    Raises
    ------
    UsageError
        There is none.
    FormatError
        Its files cannot be read.
    """
    from enginescope.measured_runs import store_at
    from enginescope.store.suite_folder import suite_folders, suite_named

    folder = store_at(store).suite_home()
    found = suite_named(fspath(what), folder)
    if found is None:
        names = [one.path.name for one in suite_folders(folder)]
        near = closest(fspath(what), names)
        raise UsageError(
            f"no suite {fspath(what)!r}",
            why=f"{folder} has {', '.join(names) if names else 'none'}",
            hint=f"did you mean {near}?" if near else "enginescope suite SUITE runs one",
        )
    return OpenedSuite(found.result())
