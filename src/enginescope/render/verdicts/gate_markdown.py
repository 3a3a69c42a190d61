"""A gate's answer as Markdown, for a pull request or a job's summary."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.records.verdict.gate import GateReport, GateRow
from enginescope.render.base.markdown_table import escaped, markdown_row
from enginescope.render.verdicts.gate_phrases import (
    ROW_HEADERS,
    UNLISTED,
    answer_text,
    details,
    metric_text,
    row_cells,
    scope_facts,
    shown_notices,
)

_MARKS = ("---", "---", "---", "---:", "---:", "---:", "---:", "---:")


def gate_markdown(report: GateReport) -> bytes:
    """Return the answer, a table of what is to be seen, why, and the rest folded away."""
    listed = [row for row in report.rows if row.outcome not in UNLISTED]
    rest = [row for row in report.rows if row.outcome in UNLISTED]
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
        lines += [
            "",
            *(f"- {escaped(notice.message)} ({notice.code})" for notice in report.notices),
        ]
    if rest:
        title = f"{len(rest):,} without regression"
        lines += ["", f"<details><summary>{title}</summary>", "", *_table(report, rest)]
        lines += ["", "</details>"]
    return ("\n".join(lines) + "\n").encode()


def _table(report: GateReport, rows: Iterable[GateRow]) -> list[str]:
    return [
        markdown_row(ROW_HEADERS),
        markdown_row(_MARKS),
        *(markdown_row(_cells(report, row)) for row in rows),
    ]


def _cells(report: GateReport, row: GateRow) -> list[str]:
    result, job, *figures = map(escaped, row_cells(row))
    return [
        f"**{result}**" if report.fails(row) else result,
        job,
        *(figure.replace(" ", "\u00a0") for figure in figures),  # figures do not break
    ]


def _reasons(report: GateReport, rows: Iterable[GateRow]) -> list[str]:
    lines = []
    for row in rows:
        said = [escaped(detail) for detail in details(row)]
        said += [
            f"{escaped(notice.message)} ({notice.code})" for notice in shown_notices(report, row)
        ]
        metric = f", {escaped(metric_text(row))}" if row.metric else ""
        if said:
            lines.append(f"- {escaped(row.job)}{metric}: {'; '.join(said)}")
    return ["", *lines] if lines else []
