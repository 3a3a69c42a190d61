"""A gate's answer as Markdown, for a pull request or a job's summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from enginescope.model.gate import GateReport, GateRow
from enginescope.render.gate_phrases import (
    UNLISTED,
    answer_text,
    change_text,
    details,
    interval_text,
    metric_text,
    scope_facts,
    shown_notices,
    values_of,
)
from enginescope.render.markdown import escaped

_HEADERS = ("Result", "Job", "Metric", "Baseline", "Current", "Change", "Interval", "Limit")
_MARKS = ("---", "---", "---", "---:", "---:", "---:", "---:", "---:")


def gate_markdown(report: GateReport) -> bytes:
    """Return the answer, a table of what is to be seen, why, and the rest folded away."""
    listed = [one for one in report.rows if one.outcome not in UNLISTED]
    rest = [one for one in report.rows if one.outcome in UNLISTED]
    scope = "; ".join(f"{name} {text}" for name, text in scope_facts(report))
    lines = [
        f"### enginescope {escaped(answer_text(report))}",
        "",
        f"{escaped(scope)}.",
    ]
    if listed:
        lines += ["", *_table(report, listed)]
        lines += _reasons(report, listed)
    if report.notices:
        lines += ["", *(f"- {escaped(one.message)} ({one.code})" for one in report.notices)]
    if rest:
        title = f"{len(rest):,} without regression"
        lines += ["", f"<details><summary>{title}</summary>", "", *_table(report, rest)]
        lines += ["", "</details>"]
    return ("\n".join(lines) + "\n").encode()


def _table(report: GateReport, rows: Iterable[GateRow]) -> list[str]:
    return [_row(_HEADERS), _row(_MARKS), *(_row(_cells(report, one)) for one in rows)]


def _cells(report: GateReport, row: GateRow) -> list[str]:
    result = escaped(row.outcome.value)
    limit = f"{row.limit_pct:g} %" if row.limit_pct is not None else "—"
    figures = (metric_text(row), *values_of(row), change_text(row), interval_text(row), limit)
    return [
        f"**{result}**" if report.fails(row) else result,
        escaped(row.job),
        *(escaped(one).replace(" ", "\u00a0") for one in figures),  # figures do not break
    ]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _reasons(report: GateReport, rows: Iterable[GateRow]) -> list[str]:
    lines = []
    for row in rows:
        said = [escaped(one) for one in details(row)]
        said += [f"{escaped(one.message)} ({one.code})" for one in shown_notices(report, row)]
        metric = f", {escaped(metric_text(row))}" if row.metric else ""
        if said:
            lines.append(f"- {escaped(row.job)}{metric}: {'; '.join(said)}")
    return ["", *lines] if lines else []
