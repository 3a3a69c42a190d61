"""What the rules found in the plan."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.core.record import Record
from enginescope.render.base.data_table import DataColumn, DataTable, column, data_table
from enginescope.render.base.figures import Figures
from enginescope.render.base.phrases import saving_text
from enginescope.render.plans.findings import (
    NUMBERS,
    SHOWN_GROUPS,
    alone_text,
    group_sentence,
    rule_table,
    saving_words,
    short_subject,
)
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections import layers
from enginescope.render.sections.section import Section
from enginescope.rules.base import Finding
from enginescope.rules.catalogue import RULES, paragraphs
from enginescope.rules.engine import LintReport

KEY = "findings"
_NAME = 60
_WORST = 3
_NO_TIMES = "No layer times: savings are not known, and rules on times find nothing."
#: Field of a saving, title of its column, and what the column has.
_SAVINGS = (
    ("bound_ms", "ms", "the most that one inference saves"),
    ("bound_pct", "%", "of the engine's time"),
    ("item_ms", "ms per item", "the most that each item of a larger batch saves"),
    ("unknown_of_ms", "of ms", "time of layers whose saving is unknown"),
)
_HEADINGS = {"code": "Code", "n": "Findings", "what to do": "What to do"}


class Worst(Record, frozen=True, kw_only=True):
    """One of the findings that may save most if it is the only change, for the first screen.

    Attributes:
        saving: ``at most 0.083 ms, 4.1 %``; ``None`` if no saving is known of any finding.
        code, subject, short, message: `short` is the subject with its middle left out.
    """

    saving: str | None
    code: str
    subject: str
    short: str
    message: str


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
            code=group.code,
            subject=group.subject(),
            short=short_subject(group, _NAME),
            message=group.message,
        )
        for group in chosen[:_WORST]
    )


def findings(subject: PageSubject) -> Section | None:
    """Findings by what they may save, and what their rules say; ``None`` without a plan."""
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
        *_saving_columns(found),
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


def _saving_columns(found: Sequence[Finding]) -> tuple[DataColumn, ...]:
    """Return times and shares of each kind of saving; a kind that no finding has is left out."""
    fields = [finding.saving.fields() for finding in found]
    return tuple(
        column(title, (one[name] for one in fields), 5 if name.endswith("ms") else 2, meaning=words)
        for name, title, words in _SAVINGS
        if any(one[name] is not None for one in fields)
    )


def _groups(report: LintReport) -> tuple[tuple[str, str, str, str, str], ...]:
    """Return level, saving, sentence, advice and code of each group that is listed."""
    return tuple(
        (
            group.severity.value,
            saving_text(group.saving) or "saving not known",
            group_sentence(group, report.findings, None),
            group.advice,
            group.code,
        )
        for group in report.groups[:SHOWN_GROUPS]
    )


def _rules(report: LintReport) -> Figures:
    table = rule_table(report)
    return Figures(
        caption=saving_words(report) or "By rule",
        headers=tuple(_HEADINGS.get(one, one) for one in table.headers),
        rows=table.rows,
        numbers=tuple(at for at, title in enumerate(table.headers) if title in NUMBERS),
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
