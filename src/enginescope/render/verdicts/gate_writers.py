"""The answer of a gate, for terminal, Markdown, page and JSON alike."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Any

from msgspec import to_builtins

from enginescope.analysis.verdicts.model_mean import gate_means
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow
from enginescope.render.base.answer_tables import answer_json
from enginescope.render.base.data_table import UNKNOWN, ends_of
from enginescope.render.base.figures import TextTable
from enginescope.render.charts.estimates import Estimate, estimate_chart
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart
from enginescope.render.verdicts.gate_phrases import (
    ROW_HEADERS,
    answer_text,
    change_pct,
    checked_text,
    details,
    figures_sentence,
    is_listed,
    metric_text,
    outcome_text,
    repeated_notices,
    row_cells,
    scope_facts,
    shown_notices,
)
from enginescope.render.verdicts.mean_phrases import mean_cells, mean_lines

_WHY = "Why"
#: Most rows of the chart.
_DRAWN = 40


def gate_answer(
    report: GateReport, link: Callable[[GateRow], str] | None = None, *, everything: bool = False
) -> Answer:
    """Return the result, the rows that matter with their reasons, and the others folded away.

    Args:
        link: Where a page leads to from a row.
        everything: Whether a terminal lists jobs without regression too.
    """
    listed = _listed(report, everything=False)
    rest = [row for row in report.rows if not is_listed(report, row)]
    repeated = repeated_notices(report, listed)
    rows = [(*_cells(report, row), _reasons(report, row, repeated) or UNKNOWN) for row in listed]
    for mean in gate_means(report):
        *figures, why = mean_cells(mean, "job")
        rows.append((*figures, UNKNOWN, why))
    held = TextTable(
        title=f"Without regression: {counted(len(rest), 'metric')}",
        headers=ROW_HEADERS,
        rows=tuple(_cells(report, row) for row in rest),
        numbers=ROW_HEADERS[3:],
        whole=ROW_HEADERS[3:],
        is_detail=True,
        links=tuple(map(link, rest)) if link else (),
    )
    jobs = TextTable(
        title="Jobs",
        headers=(*ROW_HEADERS, _WHY),
        rows=tuple(rows),
        numbers=ROW_HEADERS[3:],
        whole=ROW_HEADERS[3:],
        links=(*map(link, listed), *("" for _ in rows[len(listed) :])) if link else (),
    )
    return Answer(
        verb="gate",
        title="Gate",
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=tuple(table for table in (jobs, held) if table.rows),
        screen=(gate_rows(report, everything=everything),) if report.rows else (),
        notices=gate_notices(report, everything=everything),
        report=report,
        document=gate_json(report),
        sentences=("Job", _WHY),
        charts=(_chart(report),),
    )


def gate_rows(report: GateReport, *, everything: bool = False) -> TextTable:
    """Return what a terminal lists, the worst first.

    Args:
        everything: Jobs without regression too.
    """
    listed = _listed(report, everything=everything)
    repeated = repeated_notices(report, listed)
    rows = [(outcome_text(row.outcome), "\n".join(_lines(report, row, repeated))) for row in listed]
    rows += [("mean", mean_lines(mean, "job")) for mean in gate_means(report)]
    return TextTable(title="Jobs", headers=("result", "job"), rows=tuple(rows))


def gate_notices(report: GateReport, *, everything: bool = False) -> tuple[Notice, ...]:
    """Return what is said below `gate_rows`: of the gate, then of several rows."""
    repeated = repeated_notices(report, _listed(report, everything=everything))
    return (*report.notices, *repeated.values())


def _listed(report: GateReport, *, everything: bool) -> list[GateRow]:
    return [row for row in report.rows if everything or is_listed(report, row)]


def _lines(report: GateReport, row: GateRow, repeated: Container[str]) -> Iterator[str]:
    yield row.job
    figures = figures_sentence(row)
    if figures:
        yield figures
    yield from details(row)
    for notice in shown_notices(report, row):
        if notice.code in repeated:
            continue
        yield f"{'!' if notice.level == 'warning' else '·'} {notice.message} ({notice.code})"


#: Version of the document's shape.
GATE_SCHEMA = 1


def gate_json(report: GateReport) -> bytes:
    """Return every row as strict JSON, those without regression too."""
    return answer_json(
        GATE_SCHEMA,
        passed=report.is_passed,
        result=report.result,
        answer=answer_text(report),
        baseline=report.baseline,
        terms=report.terms,
        jobs=report.jobs,
        checked=checked_text(report),
        counts={one.value: report.count(one) for one in GateOutcome},
        rows=[_row(report, row) for row in report.rows],
        means=gate_means(report),
        notices=report.notices,
    )


def _row(report: GateReport, row: GateRow) -> dict[str, Any]:
    verdict = row.verdict
    return {
        **to_builtins(row),
        "fails": report.fails(row),
        "change_pct": change_pct(verdict) if verdict else None,
    }


def _cells(report: GateReport, row: GateRow) -> tuple[str, ...]:
    """Return a row below `ROW_HEADERS`; a cross says that it fails."""
    result, *cells = row_cells(row)
    return (f"✗ {result}" if report.fails(row) else result, *cells)


def _reasons(report: GateReport, row: GateRow, repeated: Container[str]) -> str:
    notices = (
        f"{notice.message} ({notice.code})"
        for notice in shown_notices(report, row)
        if notice.code not in repeated
    )
    return "; ".join((*details(row), *notices))


def _chart(report: GateReport) -> Chart | None:
    """Return the change of each metric with its interval, the worst first."""
    changes = []
    for row in report.rows[:_DRAWN]:
        change = change_pct(row.verdict) if row.verdict else None
        if row.verdict is None or change is None:
            continue
        ends = ends_of(row.verdict.estimate.interval if row.verdict.estimate else None)
        low, high = (None if end is None else 100 * (end - 1) for end in ends)
        name = f"{row.job}, {metric_text(row)}"
        kind = outcome_text(row.outcome)
        changes.append(Estimate(name=name, value=change, kind=kind, low=low, high=high))
    axis, title = "change, %", f"Change against {report.baseline}"
    lines = "intervals of the gate's confidence"
    return estimate_chart("gate_changes", title, changes, axis=axis, reference=0.0, lines=lines)
