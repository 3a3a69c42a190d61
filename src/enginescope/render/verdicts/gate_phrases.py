"""Phrase the result of a gate, for terminal, Markdown, JUnit and SARIF alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.analysis.verdicts.compared_figures import GATE_METRICS
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted, signed_pct
from enginescope.judge.verdict import Verdict
from enginescope.records.notice import weightiest
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow
from enginescope.records.verdict.upgrade import UpgradeRow
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN
from enginescope.render.verdicts.evidence_phrases import levels_text
from enginescope.render.verdicts.verdict_phrases import (
    across_text,
    basis_text,
    confidence_text,
    metric_words,
    value_text,
    why_text,
)

ROW_HEADERS = ("Result", "Job", "Metric", "Baseline", "Current", "Change", "Interval", "Limit")
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


def change_pct(verdict: Verdict) -> float | None:
    """Return by how much B's figure is above A's, in percent."""
    if verdict.estimate is not None:
        return 100 * (verdict.estimate.ratio - 1)
    if verdict.a and verdict.b is not None:
        return 100 * (verdict.b / verdict.a - 1)
    return None


def change_text(row: GateRow) -> str:
    """Return ``+6.9 %``; ``+6.9 % per round`` where the two figures differ by another amount."""
    verdict = row.verdict
    change = change_pct(verdict) if verdict else None
    if verdict is None or change is None:
        return UNKNOWN
    text = f"{signed_pct(change)} %"
    between = signed_pct(100 * (verdict.b / verdict.a - 1)) if verdict.a and verdict.b else None
    return text if text == f"{between} %" else f"{text}{basis_text(verdict.estimate)}"


def interval_text(row: GateRow | UpgradeRow) -> str:
    """Return ``+5.8 … +8.1 %``; a dash without an interval."""
    interval = row.verdict.estimate.interval if row.verdict and row.verdict.estimate else None
    if interval is None:
        return UNKNOWN
    return f"{signed_pct(100 * (interval.low - 1))} … {signed_pct(100 * (interval.high - 1))} %"


def row_cells(row: GateRow) -> tuple[str, ...]:
    """Return a row below `ROW_HEADERS`."""
    limit = f"{row.limit_pct:g} %" if row.limit_pct is not None else UNKNOWN
    figures = (*values_of(row), change_text(row), interval_text(row), limit)
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
        ends = f" ({confidence_text(interval)} CI {interval_text(row)})"
    limit = f", limit {row.limit_pct:g} %"
    return f"{metric_words(row.metric)} {before} → {after}, {change_text(row)}{ends}{limit}"


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
