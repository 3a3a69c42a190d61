"""What the rules found in the plan."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.core.record import Record
from enginescope.core.units import format_ms, format_significant
from enginescope.render.base.data_table import DataTable, column, data_table
from enginescope.render.base.figures import Figures
from enginescope.render.base.phrases import shorten
from enginescope.render.plans.findings import RULE_HEADERS, rule_rows
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections import layers
from enginescope.render.sections.section import Section
from enginescope.rules.base import Finding
from enginescope.rules.catalogue import RULES, paragraphs
from enginescope.rules.engine import LintReport

KEY = "findings"
_NAME = 60
_NO_TIMES = "No layer times: findings have no time at stake, and rules on times find nothing."
_HEADINGS = {"code": "Code", "n": "Findings", "what to do": "What to do"}


class Worst(Record, frozen=True, kw_only=True):
    """The finding with most time at stake, for the first screen.

    Attributes:
        stake: ``at most 0.083 ms, 4.1 %``; ``None`` without times.
        code, subject, short, message: `short` is the subject with its middle left out.
    """

    stake: str | None
    code: str
    subject: str
    short: str
    message: str


def worst_finding(subject: PageSubject) -> Worst | None:
    """Return the first finding; ``None`` where nothing was found."""
    found = subject.findings.findings if subject.findings else ()
    if not found:
        return None
    one = found[0]
    stake = None if one.stake_ms is None else f"at most {format_ms(one.stake_ms, 3)}"
    if stake is not None and one.share_pct is not None:
        stake += f", {format_significant(one.share_pct, 2)} %"
    return Worst(
        stake=stake,
        code=one.code,
        subject=one.subject,
        short=shorten(one.subject, _NAME),
        message=one.message,
    )


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
            "rules": _rules(found),
            "explained": _explained(found),
            "no_times": None if report.sum_ms is not None else _NO_TIMES,
        },
    )


def _nothing(report: LintReport) -> str:
    said = f"No findings: {len(report.rules)} rules ran."
    return said if report.sum_ms is not None else f"{said} {_NO_TIMES}"


def _table(subject: PageSubject, found: Sequence[Finding]) -> tuple[DataTable, ...]:
    rows = subject.row_of_layer
    first = tuple(rows.get(one.layers[0]) if one.layers else None for one in found)
    columns = (
        column(
            "ms",
            (one.stake_ms for one in found),
            5,
            meaning="time at stake: at most so much can be won",
        ),
        column("%", (one.share_pct for one in found), 2, meaning="of the sum over all layers"),
        column("Code", (one.code for one in found), is_choice=True),
        column("Severity", (one.severity.value for one in found), is_choice=True),
        column("Layer", (one.subject for one in found), leads_to=layers.KEY, rows_there=first),
        column("Finding", (one.message for one in found)),
        column("Layers", (len(one.layers) for one in found), 0),
        column("What to try", (one.advice for one in found)),
    )
    table = data_table(KEY, "Findings, most time at stake first", ("finding", "findings"), columns)
    return (table,) if table else ()


def _rules(found: Sequence[Finding]) -> Figures:
    return Figures(
        caption="By rule; findings may share layers, so their times do not add up",
        headers=tuple(_HEADINGS.get(one, one) for one in RULE_HEADERS),
        rows=rule_rows(found),
        numbers=(1, 2),
    )


def _explained(found: Sequence[Finding]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    codes = {one.code for one in found}
    return tuple(
        (f"{rule.code} {rule.name}: {rule.summary}", tuple(paragraphs(rule).items()))
        for rule in RULES
        if rule.code in codes
    )
