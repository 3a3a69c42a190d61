"""What the rules found in the plan."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.core.record import Record
from enginescope.core.units import format_ms, format_significant
from enginescope.render.base.data_table import DataColumn, DataTable, column, data_table
from enginescope.render.base.figures import Figures
from enginescope.render.plans.findings import (
    RULE_HEADERS,
    SHOWN_GROUPS,
    alone_ms,
    group_rows,
    rule_rows,
    short_subject,
    stake_words,
)
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections import layers
from enginescope.render.sections.section import Section
from enginescope.rules.base import Finding
from enginescope.rules.catalogue import RULES, paragraphs
from enginescope.rules.causes import FindingGroup
from enginescope.rules.engine import LintReport

KEY = "findings"
_NAME = 60
_WORST = 3
_NO_TIMES = "No layer times: findings have no time at stake, and rules on times find nothing."
_HEADINGS = {"code": "Code", "n": "Findings", "what to do": "What to do"}


class Worst(Record, frozen=True, kw_only=True):
    """One of the findings with most time at stake, for the first screen.

    Attributes:
        stake: ``at most 0.083 ms, 4.1 %``, with ``if done alone`` where other findings share that
            time; or ``of 0.083 ms, 4.1 %, saving unknown``; ``None`` without times.
        code, subject, short, message: `short` is the subject with its middle left out.
    """

    stake: str | None
    code: str
    subject: str
    short: str
    message: str


def worst_findings(subject: PageSubject) -> tuple[Worst, ...]:
    """Return the groups of findings that may save one inference most by themselves, at most 3."""
    report = subject.findings
    if report is None:
        return ()
    alone = [alone_ms([report.findings[at] for at in group.findings]) for group in report.groups]
    most = [
        one or group.stake_ms or group.open_ms or 0.0
        for one, group in zip(alone, report.groups, strict=True)
    ]
    order = sorted(range(len(most)), key=lambda at: (report.groups[at].is_per_item, -most[at]))
    return tuple(_worst(report.groups[at], alone[at], report) for at in order[:_WORST])


def _worst(group: FindingGroup, alone: float | None, report: LintReport) -> Worst:
    stake = _stake_text(group)
    is_bound = stake is not None and group.stake_ms is not None
    if alone is not None:
        share_pct = 100 * alone / report.engine_ms if report.engine_ms else None
        stake = f"{_time_text(alone, share_pct)}{_item(group)}, if done alone"
    return Worst(
        stake=f"at most {stake}" if is_bound else stake,
        code=group.code,
        subject=group.subject(),
        short=short_subject(group, _NAME),
        message=group.message,
    )


def _stake_text(group: FindingGroup) -> str | None:
    """Return ``0.083 ms, 4.1 %``, or ``of 0.083 ms, 4.1 %, saving unknown``; ``None``: no time."""
    if group.stake_ms == 0:
        return "0 ms beyond other findings"
    if group.stake_ms is not None:
        return _time_text(group.stake_ms, group.share_pct) + _item(group)
    if group.open_ms is None:
        return None
    return f"of {_time_text(group.open_ms, group.open_pct)}, saving unknown"


def _item(group: FindingGroup) -> str:
    return " of each item" if group.is_per_item else ""


def _time_text(time_ms: float, share_pct: float | None) -> str:
    share = f", {format_significant(share_pct, 2)} %" if share_pct is not None else ""
    return f"{format_ms(time_ms, 3)}{share}"


def findings(subject: PageSubject) -> Section | None:
    """Findings by time at stake, and what the rules behind them say; ``None`` without a plan."""
    report = subject.findings
    if report is None:
        return None
    found = report.findings
    return Section(
        key=KEY,
        title="Findings",
        tables=_table(subject, found),
        empty=None if found else _nothing(report),
        facts={
            "rules": _rules(report),
            "groups": _groups(report),
            "more": max(0, len(report.groups) - SHOWN_GROUPS),
            "explained": _explained(found),
            "no_times": None if report.sum_ms is not None else _NO_TIMES,
        },
    )


def _nothing(report: LintReport) -> str:
    said = f"No findings: {len(report.rules)} rules ran."
    return said if report.sum_ms is not None else f"{said} {_NO_TIMES}"


def _table(subject: PageSubject, found: Sequence[Finding]) -> tuple[DataTable, ...]:
    rows = subject.row_of_layer
    first = tuple(rows.get(finding.layers[0]) if finding.layers else None for finding in found)
    columns = (
        column("ms", (finding.stake_ms for finding in found), 5, meaning="time at stake"),
        column("%", (finding.share_pct for finding in found), 2, meaning="of the engine's time"),
        *_open_column(found),
        column("Code", (finding.code for finding in found), is_choice=True),
        column("Severity", (finding.severity.value for finding in found), is_choice=True),
        column(
            "Layer", (finding.subject for finding in found), leads_to=layers.KEY, rows_there=first
        ),
        column("Finding", (finding.message for finding in found)),
        column("Layers", (len(finding.layers) for finding in found), 0),
        column("What to try", (finding.advice for finding in found)),
    )
    table = data_table(KEY, "Findings one by one", ("finding", "findings"), columns)
    return (table,) if table else ()


def _open_column(found: Sequence[Finding]) -> tuple[DataColumn, ...]:
    times = [finding.open_ms for finding in found]
    if all(time_ms is None for time_ms in times):
        return ()
    return (column("of ms", times, 5, meaning="time of the layers, if the saving is unknown"),)


def _groups(report: LintReport) -> tuple[tuple[str, str, str, str, str], ...]:
    """Return level, time at stake, sentence, advice and code of each group that is listed."""
    groups = report.groups[:SHOWN_GROUPS]
    rows = group_rows(groups, report.findings, name_width=None, with_advice=False)
    return tuple(
        (
            level,
            _stake_text(group) or "stake not known",
            sentence,
            group.advice,
            code,
        )
        for (_, _, code, level, sentence), group in zip(rows, groups, strict=True)
    )


def _rules(report: LintReport) -> Figures:
    return Figures(
        caption=stake_words(report) or "By rule",
        headers=tuple(_HEADINGS.get(one, one) for one in RULE_HEADERS),
        rows=rule_rows(report),
        numbers=(1, 2, 3),
    )


def _explained(found: Sequence[Finding]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    codes = {one.code for one in found}
    return tuple(
        (
            f"{rule.code} {rule.name}: {rule.summary}",
            tuple((title, words.replace("``", "")) for title, words in paragraphs(rule).items()),
        )
        for rule in RULES
        if rule.code in codes
    )
