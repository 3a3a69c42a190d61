"""Findings as rows for a table, as JSON, and as SARIF for code hosts and editors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.core.record import Record
from enginescope.core.units import format_ms, format_significant, sum_known
from enginescope.records.plan.plan import Plan
from enginescope.render.base.phrases import profiler_part
from enginescope.render.base.sarif import SarifPlace, SarifResult, SarifRule, sarif_log
from enginescope.render.base.short_names import shorten_apart
from enginescope.rules.base import Finding, Rule, Severity
from enginescope.rules.catalogue import RULES, paragraphs
from enginescope.rules.causes import FindingGroup, together
from enginescope.rules.engine import LintReport

#: Version of the JSON document's shape.
LINT_SCHEMA = 1
FINDING_HEADERS = ("ms", "%", "code", "severity", "finding")
RULE_HEADERS = ("code", "n", "ms", "%", "what to do")
#: Rows of a plan that are shown unless more are asked for.
SHOWN_GROUPS = 12
#: Columns of both tables that hold numbers.
NUMBERS = ("ms", "%", "n")
#: A finding says what it may save alone if that is so many times its stake.
_SHARED = 1.2
#: Stands before a time of layers of which it is unknown how much can be saved.
_OPEN = "of"
_ADVICE = {rule.code: rule.advice for rule in RULES}
_SARIF_LEVELS = {Severity.INFO: "note", Severity.WARNING: "warning", Severity.ERROR: "error"}


class Linted(Record, frozen=True, kw_only=True):
    """What was found in one plan.

    Attributes:
        source: The file or run that the plan came from.
        is_file: Whether `source` is a path.
    """

    source: str
    plan: Plan
    report: LintReport
    is_file: bool = True


_PER_ITEM = " (saves per item)"


def headline(report: LintReport) -> str:
    """Return how much was found, as one line."""
    counts = [
        (sum(finding.severity is level for finding in report.findings), level.value)
        for level in reversed(Severity)
    ]
    found = ", ".join(f"{count:,} {word}" for count, word in counts if count) or "none"
    size = f"{report.layers:,} layers"
    if report.active_layers < report.layers:
        size += f", {report.active_layers:,} launch work"
    if report.sum_ms is not None:
        size += f", sum {format_ms(report.sum_ms)}"
    hidden = f"; {report.suppressed:,} suppressed" if report.suppressed else ""
    return f"{report.plan} ({size}): findings {found}{hidden}"


def stake_words(report: LintReport) -> str | None:
    """Return the time that could be saved in all, and what it counts; ``None`` without times."""
    stake_ms, engine_ms = report.stake_ms, report.engine_ms
    is_open = any(group.open_ms is not None for group in report.groups)
    item_ms = report.item_stake_ms
    if not engine_ms or (stake_ms is None and item_ms is None and not is_open):
        return None
    words = "sorted by ms, the time that these findings could save at most"
    if stake_ms is not None:
        share = format_significant(100 * stake_ms / engine_ms, 3)
        words += f": {format_ms(stake_ms)} of {format_ms(engine_ms)} in all ({share} %)"
    if item_ms is not None:
        codes = ", ".join(sorted({one.code for one in report.findings if one.is_per_item}))
        words += f"; last, {codes}: {format_ms(item_ms)}, but of each item of a larger batch"
    if is_open:
        words += f'; "{_OPEN}": time of the layers, saving unknown and not in the sum'
    if report.profiler_ms is not None:
        words += f"; {profiler_part(report.profiler_ms)}"
    if report.gpu is not None:
        return f"{words}; limits of {report.gpu}"
    return f"{words}; --gpu NAME subtracts the least time that the GPU needs"


def group_rows(
    groups: Sequence[FindingGroup],
    findings: Sequence[Finding],
    *,
    name_width: int | None = 40,
    with_advice: bool = True,
) -> tuple[tuple[str, ...], ...]:
    """Return groups as rows below `FINDING_HEADERS`, in their order.

    Args:
        findings: Of the report.
        name_width: Names are shortened to so many characters in all; ``None``: not at all.
        with_advice: Whether to say what to do where the row of the rule says something else.
    """
    shared = _advice_of(findings)
    return tuple(
        (
            _number(group.stake_ms, group.open_ms),
            _share(group.share_pct, group.open_pct),
            group.code,
            group.severity.value,
            _sentence(group, findings, name_width)
            + (f" → {group.advice}" if with_advice and group.advice != shared[group.code] else ""),
        )
        for group in groups
    )


def short_subject(group: FindingGroup, width: int) -> str:
    """Return a group's subject, its names of at most so many characters in all."""
    short = shorten_apart(group.names, width // len(group.names))
    return group.subject(dict(zip(group.names, short, strict=True)).__getitem__)


def _sentence(group: FindingGroup, findings: Sequence[Finding], name_width: int | None) -> str:
    subject = group.subject() if name_width is None else short_subject(group, name_width)
    codes = {one.code for at in group.findings for one in findings[at].symptoms}
    explains = f" (explains {', '.join(sorted(codes))})" if codes else ""
    return f"{subject} {group.message}{explains}{_alone([findings[at] for at in group.findings])}"


def alone_ms(found: Sequence[Finding]) -> float | None:
    """Return what findings may save by themselves, in ms, where others share much of that time."""
    stake, alone = _sum(found, "stake_ms"), _sum(found, "alone_ms")
    return alone if stake is not None and alone is not None and alone > _SHARED * stake else None


def _alone(found: Sequence[Finding]) -> str:
    alone = alone_ms(found) if len(found) == 1 else None
    return "" if alone is None else f" ({format_ms(alone, 3)} if done alone)"


def rule_rows(report: LintReport) -> tuple[tuple[str, ...], ...]:
    """Return the rules that found something, below `RULE_HEADERS`, in the order of findings."""
    by_code: dict[str, list[Finding]] = {}
    for finding in report.findings:
        by_code.setdefault(finding.code, []).append(finding)
    shared = _advice_of(report.findings)
    most_ms = {code: sum(one.most_ms for one in found) for code, found in by_code.items()}
    rows = []
    for code in sorted(by_code, key=lambda it: (by_code[it][0].is_per_item, -most_ms[it], it)):
        stake_ms, open_ms = together(by_code[code])
        known, unknown = (_sum(by_code[code], name) for name in ("share_pct", "open_pct"))
        shares = (known, None) if open_ms is None else (None, sum_known((known, unknown)))
        cells = _number(stake_ms, open_ms), _share(*shares)
        aside = _PER_ITEM if by_code[code][0].is_per_item else _alone(by_code[code])
        rows.append((code, f"{len(by_code[code]):,}", *cells, shared[code] + aside))
    return tuple(rows)


def _advice_of(findings: Iterable[Finding]) -> dict[str, str]:
    """Return the advice of each code: that of all its findings, else the rule's."""
    advices: dict[str, set[str]] = {}
    for finding in findings:
        advices.setdefault(finding.code, set()).add(finding.advice)
    return {
        code: next(iter(known)) if len(known) == 1 else _ADVICE[code]
        for code, known in advices.items()
    }


def findings_json(linted: Sequence[Linted]) -> bytes:
    """Return every finding of every plan as strict JSON; layers with their names."""
    plans = [_plan_findings(one) for one in linted]
    return encode({"schema": LINT_SCHEMA, "enginescope": __version__, "plans": plans})


def findings_sarif(linted: Sequence[Linted]) -> bytes:
    """Return the findings as SARIF 2.1.0, one run for each plan.

    A plan's file is the physical location, without a line; its layers are logical locations.
    """
    return sarif_log([_results(one) for one in linted], [_sarif_rule(rule) for rule in RULES])


def _plan_findings(linted: Linted) -> dict[str, Any]:
    report, names = linted.report, _names(linted.plan)
    return {
        "source": linted.source,
        "plan": report.plan,
        "layers": report.layers,
        "active_layers": report.active_layers,
        "sum_ms": report.sum_ms,
        "engine_ms": report.engine_ms,
        "profiler_ms": report.profiler_ms,
        "stake_ms": report.stake_ms,
        "item_stake_ms": report.item_stake_ms,
        "gpu": report.gpu,
        "rules": report.rules,
        "suppressed": report.suppressed,
        "findings": [_finding(finding, names) for finding in report.findings],
        "groups": [_group(group) for group in report.groups],
    }


def _number(stake_ms: float | None, open_ms: float | None) -> str:
    if stake_ms is not None:
        return format_significant(stake_ms)
    return f"{_OPEN} {format_significant(open_ms)}" if open_ms is not None else "—"


def _share(share_pct: float | None, open_pct: float | None) -> str:
    if share_pct is not None:
        return f"{share_pct:.1f}"
    return f"{_OPEN} {open_pct:.1f}" if open_pct is not None else "—"


def _sum(findings: Iterable[Finding], name: str) -> float | None:
    values = [getattr(finding, name) for finding in findings]
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _names(plan: Plan) -> dict[int, str]:
    return {layer.index: layer.name for layer in plan.layers}


def _finding(finding: Finding, names: dict[int, str]) -> dict[str, Any]:
    return {
        "code": finding.code,
        "rule": finding.rule,
        "severity": finding.severity.value,
        "subject": finding.subject,
        "message": finding.message,
        "advice": finding.advice,
        "stake_ms": finding.stake_ms,
        "share_pct": finding.share_pct,
        "alone_ms": finding.alone_ms,
        "open_ms": finding.open_ms,
        "open_pct": finding.open_pct,
        "is_per_item": finding.is_per_item,
        "layers": [{"index": index, "name": names[index]} for index in finding.layers],
        "evidence": finding.evidence,
        "is_question": finding.is_question,
        "symptoms": [
            {
                "code": symptom.code,
                "subject": symptom.subject,
                "message": symptom.message,
                "layers": [{"index": index, "name": names[index]} for index in symptom.layers],
            }
            for symptom in finding.symptoms
        ],
    }


def _group(group: FindingGroup) -> dict[str, Any]:
    return {
        "code": group.code,
        "rule": group.rule,
        "severity": group.severity.value,
        "subject": group.subject(),
        "message": group.message,
        "advice": group.advice,
        "stake_ms": group.stake_ms,
        "share_pct": group.share_pct,
        "open_ms": group.open_ms,
        "open_pct": group.open_pct,
        "findings": group.findings,
    }


def _sarif_rule(rule: Rule) -> SarifRule:
    said = paragraphs(rule)
    return SarifRule(
        id=rule.code,
        name=rule.name,
        summary=f"{rule.summary}.",
        text="\n\n".join(f"{heading}: {words}" for heading, words in said.items()),
        advice=f"{rule.advice[:1].upper()}{rule.advice[1:]}.",
        level=_SARIF_LEVELS[rule.severity],
    )


def _results(linted: Linted) -> list[SarifResult]:
    plan, names = linted.report.plan, _names(linted.plan)
    return [
        SarifResult(
            rule=finding.code,
            level=_SARIF_LEVELS[finding.severity],
            message=f"{finding.subject} {finding.message}{'' if finding.is_question else '.'} "
            f"Try: {finding.advice}.",
            subject=finding.subject,
            places=tuple(
                SarifPlace(name=names[index], full_name=f"{plan}/{index}/{names[index]}")
                for index in finding.layers
            ),
            file=linted.source if linted.is_file else None,
            properties={
                "stake_ms": finding.stake_ms,
                "share_pct": finding.share_pct,
                "alone_ms": finding.alone_ms,
                "open_ms": finding.open_ms,
                "evidence": finding.evidence,
                "symptoms": [f"{one.code} {one.subject} {one.message}" for one in finding.symptoms],
            },
        )
        for finding in linted.report.findings
    ]
