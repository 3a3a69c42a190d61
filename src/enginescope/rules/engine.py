"""Rules over a plan."""

from __future__ import annotations

from enginescope.core.gc_paused import gc_paused
from enginescope.core.record import Record
from enginescope.core.result import Result
from enginescope.rules.base import Finding, Found, LintInput, Rule
from enginescope.rules.config import LintConfig
from enginescope.rules.view import LintView


class LintReport(Result, Record, frozen=True, kw_only=True):
    """Findings of the lint rules in one plan.

    Attributes:
        plan: Its name.
        layers, active_layers: All layers of the plan, and those that launch work.
        sum_ms: Sum of the layers' mean times; ``None`` without a profile.
        gpu: The GPU whose peaks were used; ``None`` where it, or what it can do, is not known.
        rules: Codes of the rules that ran.
        findings: The one with most time at stake first; those without a time last, the heavier
            first.
        suppressed: Findings that the configuration passes over.
    """

    plan: str
    layers: int
    active_layers: int
    sum_ms: float | None
    gpu: str | None = None
    rules: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    suppressed: int = 0


def lint(given: LintInput, config: LintConfig | None = None) -> LintReport:
    """Return what the rules find in a plan.

    Args:
        config: By default every rule runs.
    """
    config = config or LintConfig()
    view = given.view()
    rules = config.rules()
    with gc_paused():  # of a large plan it would take half of the time
        found = [_finding(rule, one, view) for rule in rules for one in rule.check(view)]
        kept = [one for one in found if not _is_suppressed(one, config, view)]
    return LintReport(
        plan=given.plan.name,
        layers=len(given.plan.layers),
        active_layers=len(view.plan.active_layers),
        sum_ms=view.total_ms,
        gpu=view.gpu.name if view.gpu else None,
        rules=tuple(rule.code for rule in rules),
        findings=tuple(sorted(kept, key=_weight)),
        suppressed=len(found) - len(kept),
    )


def _finding(rule: Rule, found: Found, view: LintView) -> Finding:
    stake = found.stake_ms if found.stake_ms is not None else view.sum_ms(found.layers)
    subject = found.subject
    if subject is None:
        subject = view.layers[found.layers[0]].name if found.layers else view.plan.name
    return Finding(
        code=rule.code,
        rule=rule.name,
        severity=found.severity or rule.severity,
        subject=subject,
        layers=found.layers,
        message=found.message,
        advice=found.advice or rule.advice,
        evidence=found.evidence,
        stake_ms=stake,
        share_pct=view.share_pct(stake),
    )


def _is_suppressed(finding: Finding, config: LintConfig, view: LintView) -> bool:
    names = (view.layers[index].name for index in finding.layers)
    return bool(config.layers) and config.passes_over(finding, names)


def _weight(finding: Finding) -> tuple[float, int, str, tuple[int, ...]]:
    stake = finding.stake_ms if finding.stake_ms is not None else -1.0
    return -stake, -finding.severity.weight, finding.code, finding.layers
