"""The answer of a gate, for terminal, Markdown, page, JSON, JUnit and SARIF alike."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

from msgspec import to_builtins

from enginescope.analysis.verdicts.compared_figures import GATE_METRICS
from enginescope.analysis.verdicts.model_mean import gate_means
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted
from enginescope.judge.verdict import Verdict
from enginescope.records.notice import weightiest
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow
from enginescope.render.base.answer_tables import answer_json, stated
from enginescope.render.base.data_table import UNKNOWN, ends_of
from enginescope.render.base.figures import TextTable
from enginescope.render.base.shared_options import jobs_apart
from enginescope.render.charts.estimates import Estimate, estimate_chart
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart
from enginescope.render.verdicts.verdict_phrases import (
    across_text,
    change_interval,
    change_note,
    change_pct,
    change_text,
    confidence_text,
    levels_text,
    mean_cells,
    mean_lines,
    metric_words,
    value_text,
    why_text,
)

ROW_HEADERS = ("Result", "Job", "Metric", "Baseline", "Current", "Change", "Interval")
#: A gate with nothing else to list shows so many rows without regression.
_MOST_LISTED = 12
_PLURALS = {
    GateOutcome.REGRESSION: "regressions",
    GateOutcome.NEW_FAILURE: "new failures",
    GateOutcome.LOST: "lost",
    GateOutcome.IMPROVEMENT: "improvements",
}
_SINGULARS = {
    GateOutcome.LOST: "lost",
    GateOutcome.INCONCLUSIVE: "inconclusive",
    GateOutcome.NO_REGRESSION: "without regression",
}
#: Failing outcomes that are nouns; others say what of: a metric or a job.
_NOUNS = frozenset({GateOutcome.REGRESSION, GateOutcome.NEW_FAILURE})
#: Notices on what differs or was measured, which are about the pair and not its trust: always said.
_ALWAYS = frozenset({"I-ALTERED", "I-MEANT", "I-MEASURED-AGAIN"})
#: Whether rows have messages of their own -> what stands before the number of rows.
_OTHERS = {False: "in", True: "this or a similar notice in"}


def answer_text(report: GateReport) -> str:
    """Return the result in one line: ``gate failed: 1 regression, 1 new failure``."""
    if report.result == "failed":
        return f"gate failed: {', '.join(_failing(report))}"
    count = report.count(GateOutcome.INCONCLUSIVE)
    if not count:
        return "gate passed: no regression"
    metrics = counted(sum(row.metric is not None for row in report.rows), "metric")
    inconclusive = f"{count:,} of {metrics} {'is' if count == 1 else 'are'} inconclusive"
    if report.is_passed:
        return f"gate passed: no regression found; {inconclusive}, treated as passed"
    return f"gate inconclusive: no regression found, but {inconclusive}"


def _failing(report: GateReport) -> Iterator[str]:
    """Yield ``2 regressions``, ``1 lost job``: how many rows of each outcome fail."""
    for outcome in GateOutcome:
        for unit in ("metric", "job"):
            rows = [row for row in report.rows if row.outcome is outcome and report.fails(row)]
            count = sum((row.metric is None) is (unit == "job") for row in rows)
            noun = outcome.value if outcome in _NOUNS else f"{_word(outcome)} {unit}"
            if count:
                yield counted(count, noun)


def checked_text(report: GateReport) -> str:
    """Return ``2 metrics of 1 job: 1 inconclusive, 1 without regression``."""
    metrics = [row for row in report.rows if row.metric is not None]
    whole = [row for row in report.rows if row.metric is None]
    jobs = counted(len({row.job for row in metrics}), "job")
    parts = (
        f"{counted(len(metrics), 'metric')} of {jobs}: {_counts(metrics)}" if metrics else "",
        f"{counted(len(whole), 'whole job')}: {_counts(whole)}" if whole else "",
    )
    return "; ".join(filter(None, parts))


def outcome_text(outcome: GateOutcome) -> str:
    """Return an outcome in prose."""
    return "inconclusive" if outcome is GateOutcome.INCONCLUSIVE else outcome.value


def is_listed(report: GateReport, row: GateRow) -> bool:
    """Whether a row is listed unless all are asked for."""
    if row.outcome is not GateOutcome.NO_REGRESSION:
        return True
    return report.count(row.outcome) == len(report.rows) <= _MOST_LISTED


def scope_facts(report: GateReport) -> tuple[tuple[str, str], ...]:
    """Return baseline, limits, what was checked, its result and evidence, as names and texts."""
    limits = ", ".join(
        f"{metric_words(limit.metric)} {limit.regression_pct:g} %" for limit in report.terms.limits
    )
    return stated(
        ("against", report.baseline),
        ("limits", limits),
        ("checked", checked_text(report)),
        ("evidence", levels_text(row.verdict for row in report.rows)),
    )


def metric_text(row: GateRow) -> str:
    """Return the heading of a row's metric; a dash of a job as a whole."""
    return GATE_METRICS[row.metric] if row.metric else UNKNOWN


def values_of(row: GateRow) -> tuple[str, str]:
    """Return both sides' figures with their units."""
    verdict = row.verdict
    if verdict is None:
        return UNKNOWN, UNKNOWN
    first, second = (value_text(verdict.metric, one) for one in (verdict.a, verdict.b))
    return first, second


def row_cells(row: GateRow) -> tuple[str, ...]:
    """Return a row below `ROW_HEADERS`."""
    change = change_text(row.verdict, is_cell=True)
    figures = (*values_of(row), change, change_interval(row.verdict))
    return (outcome_text(row.outcome), row.job, metric_text(row), *figures)


def figures_sentence(row: GateRow) -> str | None:
    """Return a row's figures with interval and limit; ``None`` without any."""
    verdict = row.verdict
    if verdict is None or row.metric is None or verdict.a is verdict.b is None:
        return f"{metric_words(row.metric)}, limit {row.limit_pct:g} %" if row.metric else None
    before, after = values_of(row)
    interval = verdict.estimate.interval if verdict.estimate else None
    ends = ""
    if interval is not None:
        ends = f" ({confidence_text(interval)} CI {change_interval(verdict)})"
    figures = f"{metric_words(row.metric)} {before} → {after}, {change_text(verdict)}{ends}"
    return f"{figures}, limit {row.limit_pct:g} %"


def details(row: GateRow) -> list[str]:
    """Return what else is said of a row, the most important first."""
    found = [row.why] if row.why else []
    if row.outcome is GateOutcome.INCONCLUSIVE and row.verdict is not None:
        why = why_text(row.verdict)
        if why:  # of some reasons it begins with the detail
            found = [why] if row.why and why.startswith(row.why) else [*found, why]
    if row.outcome is GateOutcome.INCOMPARABLE and row.differing:
        found.append(across_text(row.differing))
    return found


def shown_notices(report: GateReport, row: GateRow) -> tuple[Notice, ...]:
    """Return a row's notices; notes only where the row fails or is inconclusive."""
    matters = report.fails(row) or row.outcome is GateOutcome.INCONCLUSIVE
    return weightiest(
        notice
        for notice in row.notices
        if matters or notice.level == "warning" or notice.code in _ALWAYS
    )


def repeated_notices(report: GateReport, rows: Sequence[GateRow]) -> dict[str, Notice]:
    """Return by code the notices that several rows show, each once, with the number of rows."""
    by_code: dict[str, list[Notice]] = {}
    for row in rows:
        of_row = {notice.code: notice for notice in shown_notices(report, row)}
        for code in of_row.keys() - _ALWAYS:
            by_code.setdefault(code, []).append(of_row[code])
    return {
        code: replace(
            notices[0],
            message=f"{notices[0].message}; {_OTHERS[len({n.message for n in notices}) > 1]} "
            f"{len(notices):,} rows",
        )
        for code, notices in sorted(by_code.items())
        if len(notices) > 1
    }


def sentence(row: GateRow) -> str:
    """Return a row in one sentence, without its job."""
    parts = (figures_sentence(row), *details(row), levels_text([row.verdict]))
    return f"{outcome_text(row.outcome)}: {'; '.join(part for part in parts if part)}"


def _counts(rows: Sequence[GateRow]) -> str:
    counts = []
    for outcome in GateOutcome:
        count = sum(row.outcome is outcome for row in rows)
        if count:
            words = _PLURALS if count > 1 else _SINGULARS
            counts.append(f"{count:,} {words.get(outcome) or _word(outcome)}")
    return ", ".join(counts)


def _word(outcome: GateOutcome) -> str:
    return _SINGULARS.get(outcome, outcome.value)


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
    told, options = named_apart(report)
    listed = _listed(told, everything=False)
    rest = [row for row in told.rows if not is_listed(report, row)]
    repeated = repeated_notices(report, listed)
    rows = [(*_cells(report, row), _reasons(report, row, repeated) or UNKNOWN) for row in listed]
    rows += [mean_cells(mean, "job") for mean in gate_means(report)]
    held_rows = tuple(_cells(report, row) for row in rest)
    held = TextTable(
        title=f"Without regression: {counted(len(rest), 'metric')}",
        headers=ROW_HEADERS,
        rows=held_rows,
        numbers=ROW_HEADERS[3:],
        whole=ROW_HEADERS[3:],
        note=change_note(held_rows),
        sentences=("Job",),
        is_detail=True,
        links=tuple(map(link, rest)) if link else (),
    )
    jobs = TextTable(
        title="Jobs",
        headers=(*ROW_HEADERS, _WHY),
        rows=tuple(rows),
        numbers=ROW_HEADERS[3:],
        whole=ROW_HEADERS[3:],
        note=change_note(rows),
        sentences=("Job", _WHY),
        links=(*map(link, listed), *("" for _ in rows[len(listed) :])) if link else (),
    )
    return Answer(
        verb="gate",
        title="Gate",
        answer=answer_text(report),
        facts=(*scope_facts(report), *stated(("jobs", options))),
        tables=tuple(table for table in (jobs, held) if table.rows),
        screen=(gate_rows(told, everything=everything),) if report.rows else (),
        notices=gate_notices(report, everything=everything),
        report=report,
        document=gate_json(report),
        charts=(_chart(told),),
    )


def named_apart(report: GateReport) -> tuple[GateReport, str | None]:
    """Return the report with jobs told apart by the options that differ; the others, said once."""
    apart = jobs_apart([row.job for row in report.rows])
    pairs = zip(report.rows, apart.labels, strict=True)
    return replace(report, rows=tuple(replace(row, job=job) for row, job in pairs)), apart.shared


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
    return {**to_builtins(row), "fails": report.fails(row), "change_pct": change_pct(row.verdict)}


def _cells(report: GateReport, row: GateRow) -> tuple[str, ...]:
    result, *cells = row_cells(row)
    return (f"✗ {result}" if report.fails(row) else result, *cells)


def _reasons(report: GateReport, row: GateRow, repeated: Container[str]) -> str:
    notices = (
        f"{notice.message} ({notice.code})"
        for notice in shown_notices(report, row)
        if notice.code not in repeated
    )
    return "; ".join((*details(row), *notices))


def change_estimate(name: str, verdict: Verdict, kind: str) -> Estimate:
    """Return the change of a metric in percent, with its interval, for a chart."""
    ends = ends_of(verdict.estimate.interval if verdict.estimate else None)
    low, high = (None if end is None else 100 * (end - 1) for end in ends)
    return Estimate(name=name, value=change_pct(verdict) or 0.0, kind=kind, low=low, high=high)


def _chart(report: GateReport) -> Chart | None:
    """Return the change of each metric with its interval, the worst first."""
    changes = [
        change_estimate(f"{row.job}, {metric_text(row)}", row.verdict, outcome_text(row.outcome))
        for row in report.rows[:_DRAWN]
        if row.verdict is not None and change_pct(row.verdict) is not None
    ]
    axis, title = "change, %", f"Change against {report.baseline}"
    lines = "intervals of the gate's confidence"
    return estimate_chart("gate_changes", title, changes, axis=axis, reference=0.0, lines=lines)
