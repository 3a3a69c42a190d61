"""A gate's answer in words: the one voice of terminal, Markdown, JUnit and SARIF."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.analysis.gate_metrics import GATE_METRICS
from enginescope.core.units import format_significant
from enginescope.model.gate import GateOutcome, GateReport, GateRow
from enginescope.model.notice import Notice
from enginescope.model.verdict import Verdict
from enginescope.render.number_column import UNKNOWN
from enginescope.render.verdict_phrases import value_text, why_text

#: Outcomes that are counted and not listed.
UNLISTED = frozenset({GateOutcome.NO_REGRESSION})
_PLURALS = {
    GateOutcome.REGRESSION: "regressions",
    GateOutcome.NEW_FAILURE: "new failures",
    GateOutcome.LOST: "lost",
    GateOutcome.IMPROVEMENT: "improvements",
}
_SINGULARS = {GateOutcome.LOST: "lost", GateOutcome.NO_REGRESSION: "without regression"}
#: Notices on what differs, which are about the pair and not its trust: always said.
_ALWAYS = frozenset({"I-ALTERED", "I-MEANT"})


def answer_text(report: GateReport) -> str:
    """Return the answer in one line: ``gate failed: 1 regression, 1 new failure``."""
    failing = [one for one in report.rows if report.fails(one)]
    counts = _counts(report, lambda one: one in failing)
    if failing:
        return f"gate failed: {counts}"
    is_open = report.terms.undecided != "pass" and report.count(GateOutcome.UNDECIDED)
    return f"gate passed: no regression{f' found, {is_open:,} undecided' if is_open else ''}"


def scope_facts(report: GateReport) -> tuple[tuple[str, str], ...]:
    """Return what was held to which limits, and how the rest came out, as names and texts."""
    jobs = f"{report.jobs:,} {'job' if report.jobs == 1 else 'jobs'}"
    limits = ", ".join(
        f"{_in_text(one.metric)} {one.regression_pct:g} %" for one in report.terms.limits
    )
    others = _counts(report, lambda one: not report.fails(one))
    found = (("against", f"{report.baseline} ({jobs})"), ("limits", limits), ("besides", others))
    return tuple((name, text) for name, text in found if text)


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
    """Return ``+6.9 %``."""
    change = change_pct(row.verdict) if row.verdict else None
    return UNKNOWN if change is None else f"{_signed(change)} %"


def interval_text(row: GateRow) -> str:
    """Return ``+5.8 … +8.1 %``; a dash without an interval."""
    interval = row.verdict.estimate.interval if row.verdict and row.verdict.estimate else None
    if interval is None:
        return UNKNOWN
    return f"{_signed(100 * (interval.low - 1))} … {_signed(100 * (interval.high - 1))} %"


def figures_sentence(row: GateRow) -> str | None:
    """Return a row's figures with interval and limit; ``None`` without any."""
    verdict = row.verdict
    if verdict is None or row.metric is None:
        return f"{_in_text(row.metric)}, limit {row.limit_pct:g} %" if row.metric else None
    before, after = values_of(row)
    interval = verdict.estimate.interval if verdict.estimate else None
    ends = ""
    if interval is not None:
        ends = f" ({_confidence(interval.confidence)} % CI {interval_text(row)})"
    limit = f", limit {row.limit_pct:g} %"
    return f"{_in_text(row.metric)} {before} → {after}, {change_text(row)}{ends}{limit}"


def details(row: GateRow) -> list[str]:
    """Return what else is said of a row, the most important first."""
    found = [row.why] if row.why else []
    if row.outcome is GateOutcome.UNDECIDED and row.verdict is not None:
        why = why_text(row.verdict)
        found += [why] if why and why != row.why else []
    if row.outcome is GateOutcome.INCOMPARABLE and row.verdict is not None:
        found.append("--across KEY,… takes differences as meant")
    return found


def shown_notices(report: GateReport, row: GateRow) -> list[Notice]:
    """Return a row's notices; good-to-know ones only where the answer is bad or open."""
    matters = report.fails(row) or row.outcome is GateOutcome.UNDECIDED
    return [one for one in row.notices if matters or one.level == "warning" or one.code in _ALWAYS]


def sentence(row: GateRow) -> str:
    """Return a row in one sentence, without its job."""
    parts = (figures_sentence(row), *details(row))
    return f"{row.outcome.value}: {'; '.join(part for part in parts if part)}"


def _in_text(metric: str) -> str:
    title = GATE_METRICS[metric]
    return title if title[:2].isupper() else title[0].lower() + title[1:]


def _counts(report: GateReport, wanted: Callable[[GateRow], bool]) -> str:
    found = []
    for outcome in GateOutcome:
        count = sum(one.outcome is outcome and wanted(one) for one in report.rows)
        if count:
            words = _PLURALS if count > 1 else _SINGULARS
            found.append(f"{count:,} {words.get(outcome) or _word(outcome)}")
    return ", ".join(found)


def _word(outcome: GateOutcome) -> str:
    return _SINGULARS.get(outcome, outcome.value)


def _signed(change_pct: float) -> str:
    if abs(change_pct) >= 100:
        text = format_significant(abs(change_pct), 3)
    else:
        text = f"{abs(change_pct):.1f}" if abs(change_pct) >= 0.95 else f"{abs(change_pct):.2f}"
    if not text.strip("0.,"):
        return text
    return f"{'−' if change_pct < 0 else '+'}{text}"


def _confidence(share: float) -> str:
    return f"{100 * share:g}"
