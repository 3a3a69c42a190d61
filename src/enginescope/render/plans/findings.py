"""Findings as rows for a table, as JSON, and as SARIF for code hosts and editors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.core.record import Record
from enginescope.core.units import format_ms, format_significant
from enginescope.records.plan.plan import Plan
from enginescope.render.base.phrases import shorten
from enginescope.render.base.sarif import SarifPlace, SarifResult, SarifRule, sarif_log
from enginescope.rules.base import Finding, Rule, Severity
from enginescope.rules.catalogue import RULES, paragraphs
from enginescope.rules.engine import LintReport

#: Version of the JSON document's shape.
LINT_SCHEMA = 1
FINDING_HEADERS = ("ms", "%", "code", "severity", "finding")
RULE_HEADERS = ("code", "n", "ms", "what to do")
#: Columns of both tables that hold numbers.
NUMBERS = ("ms", "%", "n")
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
    """Return what the times mean; ``None`` without times."""
    if report.sum_ms is None or not report.findings:
        return None
    if report.gpu is not None:
        return f"ms: the most that can be saved, on {report.gpu}"
    return "ms: the most that can be saved; --gpu NAME subtracts the time that the GPU's peaks need"


def finding_rows(
    findings: Sequence[Finding], *, name_width: int = 40
) -> tuple[tuple[str, ...], ...]:
    """Return findings as rows below `FINDING_HEADERS`, in their order."""
    return tuple(
        (
            _number(finding.stake_ms),
            f"{finding.share_pct:.1f}" if finding.share_pct is not None else "—",
            finding.code,
            finding.severity.value,
            f"{shorten(finding.subject, name_width)} {finding.message}",
        )
        for finding in findings
    )


def rule_rows(findings: Sequence[Finding]) -> tuple[tuple[str, ...], ...]:
    """Return the rules that found something, below `RULE_HEADERS`, most time at stake first."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)
    stakes = {code: _sum(found) for code, found in by_code.items()}
    order = sorted(by_code, key=lambda code: (-(stakes[code] or 0.0), code))
    advice = {rule.code: rule.advice for rule in RULES}
    return tuple(
        (code, f"{len(by_code[code]):,}", _number(stakes[code]), advice[code]) for code in order
    )


def findings_json(linted: Sequence[Linted]) -> bytes:
    """Return every finding of every plan as strict JSON; layers with their names."""
    plans = [_plan_findings(one) for one in linted]
    return encode({"schema": LINT_SCHEMA, "enginescope": __version__, "plans": plans})


def findings_sarif(linted: Sequence[Linted], rules: Sequence[Rule] = RULES) -> bytes:
    """Return the findings as SARIF 2.1.0, one run for each plan.

    A plan's file is the physical location, without a line; its layers are logical locations.
    """
    return sarif_log([_results(one) for one in linted], [_sarif_rule(rule) for rule in rules])


def _plan_findings(linted: Linted) -> dict[str, Any]:
    report, names = linted.report, _names(linted.plan)
    return {
        "source": linted.source,
        "plan": report.plan,
        "layers": report.layers,
        "active_layers": report.active_layers,
        "sum_ms": report.sum_ms,
        "gpu": report.gpu,
        "rules": report.rules,
        "suppressed": report.suppressed,
        "findings": [_finding(finding, names) for finding in report.findings],
    }


def _number(time_ms: float | None) -> str:
    return format_significant(time_ms) if time_ms is not None else "—"


def _sum(findings: Sequence[Finding]) -> float | None:
    stakes = [finding.stake_ms for finding in findings if finding.stake_ms is not None]
    return sum(stakes) if stakes else None


def _names(plan: Plan) -> dict[int, str]:
    return {layer.index: layer.name for layer in plan.layers}


def _finding(one: Finding, names: dict[int, str]) -> dict[str, Any]:
    return {
        "code": one.code,
        "rule": one.rule,
        "severity": one.severity.value,
        "subject": one.subject,
        "message": one.message,
        "advice": one.advice,
        "stake_ms": one.stake_ms,
        "share_pct": one.share_pct,
        "layers": [{"index": index, "name": names[index]} for index in one.layers],
        "evidence": one.evidence,
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
            message=f"{finding.subject} {finding.message}. Try: {finding.advice}.",
            subject=finding.subject,
            places=tuple(
                SarifPlace(name=names[index], full_name=f"{plan}/{index}/{names[index]}")
                for index in finding.layers
            ),
            file=linted.source if linted.is_file else None,
            properties={
                "stake_ms": finding.stake_ms,
                "share_pct": finding.share_pct,
                "evidence": finding.evidence,
            },
        )
        for finding in linted.report.findings
    ]
