"""Writers of a gate: terminal, JSON, Markdown."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from msgspec import to_builtins

from enginescope.analysis.verdicts.model_mean import gate_means
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow
from enginescope.render.base.answer_tables import AnswerTables, answer_json, notice_items
from enginescope.render.base.data_table import escaped, markdown_row
from enginescope.render.base.figures import TextTable
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

#: Columns of the table of rows.
HEADERS = ("result", "job")


def gate_rows(report: GateReport, *, everything: bool = False) -> tuple[tuple[str, str], ...]:
    """Return what is listed below `HEADERS`, the worst first.

    Args:
        everything: Jobs without regression too.
    """
    listed = _listed(report, everything=everything)
    repeated = repeated_notices(report, listed)
    rows = ((outcome_text(row.outcome), "\n".join(_lines(report, row, repeated))) for row in listed)
    return (*rows, *(("mean", mean_lines(mean, "job")) for mean in gate_means(report)))


def gate_notices(report: GateReport, *, everything: bool = False) -> tuple[Notice, ...]:
    """Return what is said below `gate_rows`: of the gate, then of several rows."""
    repeated = repeated_notices(report, _listed(report, everything=everything))
    return (*report.notices, *repeated.values())


def gate_answer(report: GateReport, *, everything: bool = False) -> AnswerTables:
    """Return what the terminal shows: `gate_rows` and `gate_notices`."""
    rows = gate_rows(report, everything=everything)
    return AnswerTables(
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=(TextTable(title="Jobs", headers=HEADERS, rows=rows),) if rows else (),
        notices=gate_notices(report, everything=everything),
    )


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


_MARKS = ("---", "---", "---", "---:", "---:", "---:", "---:", "---:")


def gate_markdown(report: GateReport) -> bytes:
    """Return the result, a table of what is to be seen, why, and the rest folded away."""
    listed, notices = _listed(report, everything=False), gate_notices(report)
    rest = [row for row in report.rows if not is_listed(report, row)]
    scope = "; ".join(f"{name} {text}" for name, text in scope_facts(report))
    lines = [
        f"### enginescope {escaped(answer_text(report))}",
        "",
        f"{escaped(scope)}.",
    ]
    means = [
        list(map(escaped, mean_cells(mean, "job", has_reasons=False)))
        for mean in gate_means(report)
    ]
    if listed or means:
        lines += ["", *_table(report, listed), *map(markdown_row, means)]
        lines += _reasons(report, listed)
    lines += notice_items(notices)
    if rest:
        title = f"{counted(len(rest), 'metric')} without regression"
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


def _reasons(report: GateReport, rows: Sequence[GateRow]) -> list[str]:
    lines, repeated = [], repeated_notices(report, rows)
    for row in rows:
        said = [escaped(detail) for detail in details(row)]
        said += [
            f"{escaped(notice.message)} ({notice.code})"
            for notice in shown_notices(report, row)
            if notice.code not in repeated
        ]
        metric = f", {escaped(metric_text(row))}" if row.metric else ""
        if said:
            lines.append(f"- {escaped(row.job)}{metric}: {'; '.join(said)}")
    return ["", *lines] if lines else []
