"""Run the lint rules on a plan."""

from __future__ import annotations

from enginescope.analysis.claims.saving import Saving, together
from enginescope.core.gc_paused import gc_paused
from enginescope.core.record import Record, replace
from enginescope.core.result import Result
from enginescope.rules.base import Finding, Found, LintInput, Severity, Symptom
from enginescope.rules.catalogue import LintConfig
from enginescope.rules.causes import FindingGroup, Place, explained, grouped, savings_of
from enginescope.rules.view import LintView


class LintReport(Result, Record, frozen=True, kw_only=True):
    """Findings of the lint rules on one plan.

    Attributes:
        plan: Name of the plan.
        layers, active_layers: Number of all layers, and of layers that launch work.
        sum_ms: Sum of the layers' times in ms; ``None`` without a profile.
        engine_ms: Time of a whole inference without the profiler in ms; `sum_ms` if unknown.
        profiler_ms: Time that the profiler added to each layer, in ms, which no stake contains;
            ``None``: cannot be estimated.
        gpu: GPU whose peaks were used; ``None``: the GPU or its peaks are unknown.
        rules: Codes of the rules that ran.
        findings: Sorted by what each may save, as `Saving.rank` does, then by severity.
        groups: The findings grouped by rule and block, in the same order.
        suppressed: Number of findings that the configuration ignores.
    """

    plan: str
    layers: int
    active_layers: int
    sum_ms: float | None
    engine_ms: float | None = None
    profiler_ms: float | None = None
    gpu: str | None = None
    rules: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    groups: tuple[FindingGroup, ...] = ()
    suppressed: int = 0

    @property
    def saving(self) -> Saving:
        """What all findings may save together."""
        return replace(together(one.saving for one in self.findings), alone_ms=None)


def lint(given: LintInput, config: LintConfig | None = None) -> LintReport:
    """Run the rules on a plan.

    Args:
        config: Which rules run; by default all.
    """
    config = config or LintConfig()
    view = given.view()
    rules = config.rules()
    with gc_paused():  # of a large plan it would take half of the time
        found = [Place(rule, one) for rule in rules for one in rule.check(view)]
        places = [one for one in found if not _is_suppressed(one, config, view)]
        findings = tuple(sorted(_findings(places, view), key=_weight))
    return LintReport(
        plan=given.plan.name,
        layers=len(given.plan.layers),
        active_layers=len(view.plan.active_layers),
        sum_ms=view.sum_ms,
        engine_ms=view.engine_ms,
        profiler_ms=view.profile.profiler_ms if view.profile else None,
        gpu=view.gpu.name if view.gpu else None,
        rules=tuple(rule.code for rule in rules),
        findings=findings,
        groups=grouped(findings, view),
        suppressed=len(found) - len(places),
    )


def _findings(places: list[Place], view: LintView) -> list[Finding]:
    """Turn places into findings, with their symptoms inside."""
    kept = explained(places)
    savings = savings_of([places[at] for at in kept], view)
    return [
        _finding(places[at], [places[symptom] for symptom in symptoms], saving, view)
        for (at, symptoms), saving in zip(kept.items(), savings, strict=True)
    ]


def _finding(place: Place, symptoms: list[Place], saving: Saving, view: LintView) -> Finding:
    rule, found = place
    return Finding(
        code=rule.code,
        rule=rule.name,
        severity=max(map(_severity, (place, *symptoms)), key=lambda symptom: symptom.weight),
        subject=_subject(found, view),
        layers=found.layers,
        message=found.message,
        advice=found.advice or rule.advice,
        evidence=found.evidence,
        saving=saving,
        symptoms=tuple(
            Symptom(
                code=symptom.rule.code,
                subject=_subject(symptom.found, view),
                layers=symptom.found.layers,
                message=symptom.found.message,
            )
            for symptom in symptoms
        ),
    )


def _severity(place: Place) -> Severity:
    return place.found.severity or place.rule.severity


def _subject(found: Found, view: LintView) -> str:
    if found.subject is not None:
        return found.subject
    return view.layers[found.layers[0]].name if found.layers else view.plan.name


def _is_suppressed(place: Place, config: LintConfig, view: LintView) -> bool:
    if not config.layers:
        return False
    names = [view.layers[index].name for index in place.found.layers]
    subject = _subject(place.found, view)
    return config.passes_over(place.rule, names) or config.passes_over(place.rule, [subject])


def _weight(finding: Finding) -> tuple[tuple[int, float], int, str, tuple[int, ...]]:
    return finding.saving.rank, -finding.severity.weight, finding.code, finding.layers
