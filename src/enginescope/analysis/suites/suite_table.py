"""A suite's results as a tidy table, and which backend is fastest in each case.

Speed-up over a baseline backend.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.core.record import Record, replace
from enginescope.judge.samples import Interval
from enginescope.records.notice import NOT_FP16
from enginescope.records.suite.suite import Cell, CellFigure, CellRow, CellStatus, SuiteResult

#: A model in one batch and shape: what backends are compared in.
Case: TypeAlias = tuple[str, str]


def case_of(cell: Cell) -> Case:
    """Return what cells of different backends have in common."""
    return cell.model, cell.case


def baselines(result: SuiteResult) -> dict[Case, str]:
    """Return the backend that each case is counted from: the suite's, else the case's first."""
    named = result.plan.suite.baseline
    found: dict[Case, str] = {}
    for cell in result.plan.cells:
        case = case_of(cell)
        if cell.spec == named or case not in found:
            found[case] = cell.spec
    return found


def speed_ups(result: SuiteResult) -> dict[str, float]:
    """Return by the keys of cells how many times as fast as their baseline they are.

    Of the medians; cells without one, and whose baseline has none, are left out.
    """
    counted_from = baselines(result)
    by_case = {
        (case_of(row.cell), row.cell.spec): latency
        for row in result.rows
        if (latency := row.figure("latency"))
    }
    found = {}
    for row in result.rows:
        case, latency = case_of(row.cell), row.figure("latency")
        base = by_case.get((case, counted_from[case]))
        if latency and base:
            found[row.cell.key] = base / latency
    return found


def precision_of(row: CellRow) -> str | None:
    """Return the precision that was asked for; ``None`` too if the runtime removed FP16."""
    return None if lost_fp16(row) else row.cell.job.backend.precision


def lost_fp16(row: CellRow) -> bool:
    """Whether the runtime computes a model in FP32 that was converted to FP16."""
    return NOT_FP16 in row.warnings


class _Line(NamedTuple):
    """What a line of a table is about; without `figure`: the whole cell."""

    suite: str
    row: CellRow
    baseline: str | None
    figure: CellFigure | None = None

    @property
    def cell(self) -> Cell:
        return self.row.cell


class _Column(NamedTuple):
    name: str
    meaning: str
    value: Callable[[_Line], Any]


def _shapes(at: _Line) -> str | None:
    shapes = at.cell.job.workload.shapes
    return ",".join(f"{one.name}:{'x'.join(map(str, one.dims))}" for one in shapes) or None


def _versions(at: _Line) -> str | None:
    return " ".join(f"{name}={version}" for name, version in at.row.versions.items()) or None


#: Each column of the tables, declared here alone: name, meaning and value.
_TABLE = (
    _Column("suite", "Name of the suite.", lambda at: at.suite),
    _Column("cell", "Key of the cell.", lambda at: at.cell.key),
    _Column("model", "Name of the model.", lambda at: at.cell.model),
    _Column("model_sha256", "SHA-256 of the model file.", lambda at: at.cell.job.subject.sha256),
    _Column(
        "backend", "Backend without precision and options.", lambda at: at.cell.job.backend.name
    ),
    _Column("precision", "Requested precision.", lambda at: precision_of(at.row)),
    _Column("environment", "Other Python that ran the cell.", lambda at: at.cell.environment),
    _Column("spec", "Backend as typed, with precision and options.", lambda at: at.cell.spec),
    _Column("batch", "Batch size.", lambda at: at.cell.job.workload.batch),
    _Column("shapes", "Shapes of the inputs.", _shapes),
    _Column("mode", "`benchmark`, `validate` or `both`.", lambda at: at.cell.mode),
    _Column("input", "`random` or `dataset`.", lambda at: at.cell.input),
    _Column("status", "Outcome of the cell.", lambda at: at.row.status.value),
    _Column("reason", "Why the cell is not `ok`.", lambda at: at.row.reason),
    _Column(
        "warnings", "Codes of the run's warnings.", lambda at: " ".join(at.row.warnings) or None
    ),
    _Column(
        "metric",
        "Metric; see [codes](codes.md#metrics).",
        lambda at: at.figure.metric if at.figure else None,
    ),
    _Column("value", "Value of the metric.", lambda at: at.figure.value if at.figure else None),
    _Column("unit", "Unit of the value.", lambda at: at.figure.unit if at.figure else None),
    _Column("baseline", "Backend that the speed-up refers to.", lambda at: at.baseline),
    _Column("run", "Id of the run.", lambda at: at.row.run),
    _Column("processes", "Number of its processes.", lambda at: len(at.row.run_ids) or None),
    _Column("runs", "Ids of the runs of all processes.", lambda at: " ".join(at.row.runs) or None),
    _Column("attempts", "Attempts of the process with the most.", lambda at: at.row.attempts),
    _Column("started", "Start, UTC, ISO 8601.", lambda at: at.row.started),
    _Column("ended", "End, UTC, ISO 8601.", lambda at: at.row.ended),
    _Column("host", "Name of the machine.", lambda at: at.row.host),
    _Column("cpu", "Name of the processor.", lambda at: at.row.cpu),
    _Column("gpu", "Name of the GPU.", lambda at: at.row.gpu),
    _Column("versions", "Versions, as `name=version`.", _versions),
)
#: Column -> what it holds.
MEANINGS = {column.name: column.meaning for column in _TABLE}
COLUMNS = tuple(MEANINGS)
#: Columns that hold numbers; the others hold text.
NUMBERS = frozenset({"batch", "value", "processes", "attempts"})
_CELL_TABLE = tuple(one for one in _TABLE if one.name not in ("metric", "value", "unit"))
#: Columns of a table with one row for each cell, before those of the metrics.
CELL_COLUMNS = tuple(column.name for column in _CELL_TABLE)
_SPEED_UP = "speed_up"


def tidy_columns(result: SuiteResult) -> dict[str, list[Any]]:
    """Return the table by columns.

    A cell that ended without a figure has one row, with neither metric nor value; a cell that is
    not done has none. ``speed_up`` is counted from the median of ``baseline`` in the same shape.
    """
    counted_from, lines = baselines(result), []
    for row, figures in _cells(result):
        if not row.figures:
            lines.append(_Line(result.name, row, None))
        for figure in figures:
            base = counted_from[case_of(row.cell)] if figure.metric == _SPEED_UP else None
            lines.append(_Line(result.name, row, base, figure))
    return {column.name: [column.value(line) for line in lines] for column in _TABLE}


def cell_columns(result: SuiteResult) -> dict[str, list[Any]]:
    """Return a row for each cell that has ended: `CELL_COLUMNS`, then a column for each metric.

    A metric in milliseconds ends in ``_ms``; `tidy_columns` has the unit of each.
    """
    counted_from, cells = baselines(result), list(_cells(result))
    lines = [_Line(result.name, row, counted_from[case_of(row.cell)]) for row, _ in cells]
    endings = {"ms": "_ms", "B": "_bytes", "/s": "_per_s"}
    rows = (figures for _, figures in cells)
    metrics = [{it.metric + endings.get(it.unit, ""): it.value for it in row} for row in rows]
    names = dict.fromkeys(name for row in metrics for name in row)
    return {
        **{column.name: [column.value(line) for line in lines] for column in _CELL_TABLE},
        **{name: [row.get(name) for row in metrics] for name in names},
    }


def _cells(result: SuiteResult) -> Iterator[tuple[CellRow, tuple[CellFigure, ...]]]:
    faster = speed_ups(result)
    for row in result.rows:
        times = faster.get(row.cell.key)
        gain = () if times is None else (CellFigure(metric=_SPEED_UP, value=times, unit="×"),)
        yield row, (*row.figures, *_of_providers(row), *gain)


def _of_providers(row: CellRow) -> Iterator[CellFigure]:
    for one in row.providers:
        if one.nodes is not None:
            yield CellFigure(metric=f"nodes:{one.provider}", value=one.nodes, unit="1")
        if one.time_ms is not None:
            yield CellFigure(metric=f"kernel_time:{one.provider}", value=one.time_ms, unit="ms")


class Win(Record, frozen=True, kw_only=True):
    """The fastest backend of one case.

    Attributes:
        fastest: Its row, of those whose outputs were not found wrong.
        second: The next fastest; ``None``: no other backend has a latency.
        ratio: How many times as fast as `second`, of the medians.
        interval: Of `ratio`; ``None`` where either median has none, or is of one process on a
            busy machine, which differs from others by more than is assumed.
    """

    case: Case
    fastest: CellRow
    second: CellRow | None = None
    ratio: float | None = None
    interval: Interval | None = None

    @property
    def is_unstable(self) -> bool:
        """Whether a side is a single process on a busy machine."""
        return any(map(_is_unstable, filter(None, (self.fastest, self.second))))

    @property
    def is_decided(self) -> bool:
        """Whether it is faster than `second`; else that is open, or there is no other."""
        reaches_one = self.interval is not None and self.interval.low <= 1
        return self.second is not None and not (self.is_unstable or reaches_one)


def wins(result: SuiteResult) -> tuple[Win, ...]:
    """Return the fastest backend of each case in which any has a latency, in the suite's order.

    A backend that computes FP32 in place of FP16 is not ranked beside others.
    """
    timed: dict[Case, list[tuple[float, CellRow]]] = {}
    for row in result.rows:
        latency = row.figure("latency")
        if row.status is CellStatus.OK and latency:
            timed.setdefault(case_of(row.cell), []).append((latency, row))
    found = []
    for case, those in timed.items():
        ranked = [one for one in those if not lost_fp16(one[1])] or those
        (least, fastest), *others = sorted(ranked, key=lambda one: one[0])
        win = Win(case=case, fastest=fastest)
        if others:
            more, second = others[0]
            interval = _ratio_interval(fastest, second)
            win = replace(win, second=second, ratio=more / least, interval=interval)
        found.append(win)
    return tuple(found)


def _is_unstable(row: CellRow) -> bool:
    return row.is_unstable and len(row.run_ids) == 1


def _ratio_interval(a: CellRow, b: CellRow) -> Interval | None:
    """Return the interval of B ÷ A of two medians, each with an interval of its own.

    Their reaches add in squares on the logarithmic scale (Zou and Donner 2008, *Construction of
    confidence limits about effect measures*). What processes differ by is not in the interval of
    one process: it is assumed, as for a comparison of one process a side.
    """
    names = ("latency_low", "latency", "latency_high")
    ends = [row.figure(name) for row in (a, b) for name in names]
    if any(not one for one in ends) or any(map(_is_unstable, (a, b))):
        return None
    a_low, a_middle, a_high, b_low, b_middle, b_high = (math.log(one) for one in ends if one)
    middle = b_middle - a_middle
    assumed = [CompareConfig().scatter for row in (a, b) if len(row.run_ids) == 1]
    low = middle - math.hypot(b_middle - b_low, a_high - a_middle, *assumed)
    high = middle + math.hypot(b_high - b_middle, a_middle - a_low, *assumed)
    return Interval(low=math.exp(low), high=math.exp(high))
