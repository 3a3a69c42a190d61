"""What the rules found in the plan."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.core.record import Record
from enginescope.render.plans.findings import (
    SHOWN_GROUPS,
    alone_text,
    finding_table,
    group_table,
    rule_table,
    short_subject,
)
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section, capitalized, known
from enginescope.rules.base import Finding
from enginescope.rules.catalogue import RULES, paragraphs
from enginescope.rules.engine import FindingGroup

_NAME = 60
_WORST = 3
_NO_TIMES = "No layer times: savings are not known, and rules on times find nothing."


class Worst(Record, frozen=True, kw_only=True):
    """Findings that may save most if they are the only change, for the first screen.

    Attributes:
        saving: ``at most 0.083 ms, 4.1 %``; ``None`` if no saving is known of any finding.
        short: Subject of the group, its middle left out.
    """

    saving: str | None
    short: str
    group: FindingGroup


def worst_findings(subject: PageSubject) -> tuple[Worst, ...]:
    """Return the groups of findings that may save most by themselves, at most 3.

    Only known savings are compared. Without any, the groups are the first of the list.
    """
    report = subject.findings
    if report is None:
        return ()
    known = [group for group in report.groups if group.saving.known_ms]
    chosen = sorted(known or report.groups, key=lambda group: group.saving.rank_alone)
    return tuple(
        Worst(
            saving=alone_text(group.saving) if known else None,
            short=short_subject(group, _NAME),
            group=group,
        )
        for group in chosen[:_WORST]
    )


def findings(subject: PageSubject) -> Section | None:
    """Findings by what they may save, and what their rules say; ``None`` without a plan."""
    report = subject.findings
    if report is None:
        return None
    found, untimed = report.findings, () if report.sum_ms is not None else (_NO_TIMES,)
    tables = (rule_table(report), group_table(report, SHOWN_GROUPS, name_width=None))
    nothing = " ".join((f"No findings: {len(report.rules)} rules ran.", *untimed))
    return Section(
        key="findings",
        title="Findings",
        empty=None if found else nothing,
        notes=untimed,
        figures=tuple(map(capitalized, known(*tables))),
        tables=known(finding_table(found, subject.row_of_layer)),
        facts={"explained": _explained(found)},
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
