"""Run the lint rules on a plan.

Findings are combined: symptoms under causes, time at stake once, repeated blocks in groups.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from enginescope.analysis.claims.layer_claims import Saving, together
from enginescope.analysis.graph.folding.levels import module_path
from enginescope.core.process_control import gc_paused
from enginescope.core.record import Record, Result, replace
from enginescope.records.plan.plan import EXECUTED
from enginescope.rules.base import Finding, Found, Rule, Severity, Symptom
from enginescope.rules.catalogue import RULES, LintConfig
from enginescope.rules.view import LintInput, LintView


class Place(NamedTuple):
    """A result of a rule, with the rule."""

    rule: Rule
    found: Found


def explained(places: Sequence[Place]) -> dict[int, list[int]]:
    """Return the places that remain findings, each with the places that it explains.

    A place is a symptom if findings of rules that explain its code have more than half of its
    layers. It belongs to the finding with most of these layers, or to the cause of that finding.
    """
    holders: dict[str, dict[int, list[int]]] = {}  # code -> layer -> the places that may explain it
    for at, (rule, place) in enumerate(places):
        for code in rule.explains:
            by_layer = holders.setdefault(code, {})
            for layer in place.layers:
                by_layer.setdefault(layer, []).append(at)
    parent: dict[int, int] = {}
    for at, (rule, place) in enumerate(places):
        by_layer = holders.get(rule.code, {})
        causes_of = [by_layer[layer] for layer in place.layers if layer in by_layer]
        if 2 * len(causes_of) > len(place.layers):
            counts = Counter(cause for causes in causes_of for cause in causes)
            parent[at] = max(counts, key=lambda cause: (counts[cause], -cause))
    kept: dict[int, list[int]] = {at: [] for at in range(len(places)) if at not in parent}
    for at in parent:
        cause = parent[at]
        while cause in parent:
            cause = parent[cause]
        kept[cause].append(at)
    return kept


def savings_of(places: Sequence[Place], view: LintView) -> list[Saving]:
    """Return what changing each place may save.

    The place that saves most by itself comes first. A later place has only the time at stake that
    exceeds the stake of an earlier place on the same layer. So the stakes on a layer add up to its
    own time at most. What a larger batch saves of each item is counted apart.
    """
    claims = [_claims(place.found, view) for place in places]
    # the exact sum: that of `sum` depends on the release of Python
    alone_ms = [math.fsum(claim.values()) for claim in claims]
    order = sorted(range(len(places)), key=lambda at: -alone_ms[at])
    taken_by: dict[bool, dict[int, float]] = {False: {}, True: {}}
    engine_ms = view.engine_ms
    savings = [Saving(engine_ms=engine_ms)] * len(places)
    for at in order:
        taken = taken_by[places[at].rule.is_per_item]
        more = {it: ms for it, ms in claims[at].items() if ms > taken.get(it, 0.0)}
        won_ms = math.fsum(ms - taken.get(layer, 0.0) for layer, ms in more.items())
        taken |= more
        if claims[at]:
            kind = "item_ms" if places[at].rule.is_per_item else "bound_ms"
            savings[at] = Saving(alone_ms=alone_ms[at], engine_ms=engine_ms, **{kind: won_ms})
    for at, claim in enumerate(claims):
        own = {} if claim else view.part_ms(places[at].found.layers)
        if own:
            left = sum(max(0.0, ms - taken_by[False].get(it, 0.0)) for it, ms in own.items())
            savings[at] = Saving(unknown_of_ms=left, engine_ms=engine_ms)
    return savings


def _claims(found: Found, view: LintView) -> Mapping[int, float]:
    if found.stakes_ms is None:
        return view.part_ms(found.layers)
    own = view.times_ms
    claims = found.stakes_ms.items()
    return {layer: min(max(ms, 0.0), own[layer]) for layer, ms in claims if layer in own}


#: A figure, but not digits in a type, a layout or a name: INT8, NC/32HW32, conv_1.
_FIGURE = re.compile(r"(?<![\w./])\d+(?:[.,]\d+)*(?![\w/])")
_DIGITS = re.compile(r"\d+")


class FindingGroup(Record, frozen=True, kw_only=True):
    """Findings that differ only in their figures and the number of their block.

    Attributes:
        count: ``each of 8 places``, ``16 layers``; ``None`` for a single layer.
        names: The layer, or the first and the last layer; blocks, if the layers are in numbered
            blocks.
        of_blocks: Whether `names` are names of blocks.
        message: Common message, with a range where figures differ.
        saving: What all of them may save together.
        findings: Positions in the report's list of findings.
        layers: Number of affected layers.
    """

    code: str
    rule: str
    severity: Severity
    count: str | None
    names: tuple[str, ...]
    of_blocks: bool
    message: str
    advice: str
    saving: Saving
    findings: tuple[int, ...]
    layers: int

    def subject(self, shorten: Callable[[str], str] = str) -> str:
        """Return the subject of `message`.

        Args:
            shorten: Shortens a name.
        """
        names = " … ".join(map(shorten, dict.fromkeys(self.names)))
        if self.count is None:
            return names
        return f"{self.count} in {names}" if self.of_blocks else f"{self.count} ({names})"


def grouped(findings: Sequence[Finding], view: LintView) -> tuple[FindingGroup, ...]:
    """Group the findings, in the order of `LintReport.findings`."""
    members: dict[tuple[str, ...], list[int]] = {}
    blocks = [_block(finding.layers, view) for finding in findings]
    for at, finding in enumerate(findings):
        family = _DIGITS.sub("#", blocks[at] or "")
        message = _FIGURE.sub("#", finding.message)
        key = (finding.code, finding.severity.value, finding.advice, message, family)
        members.setdefault(key, []).append(at)
    groups = [_group(findings, blocks, some, view) for some in members.values()]
    groups.sort(key=lambda one: (one.saving.rank, -one.severity.weight, min(one.findings)))
    return tuple(groups)


def _block(layers: Sequence[int], view: LintView) -> str | None:
    """Return the outermost numbered module of the first layer that has one."""
    for index in layers:
        path = module_path(view.layers[index]) or ()
        for depth, step in enumerate(path):
            if _DIGITS.search(step):
                above = () if depth and step.startswith(f"{path[depth - 1]}.") else path[:depth]
                return "/".join((*above, step))
    return None


def _group(
    findings: Sequence[Finding], blocks: Sequence[str | None], some: list[int], view: LintView
) -> FindingGroup:
    # layers.10 follows layers.9
    numbers = {at: tuple(map(int, _DIGITS.findall(blocks[at] or ""))) for at in some}
    inside = sorted(some, key=lambda at: (numbers[at], findings[at].layers))
    first = findings[inside[0]]
    layers = len({layer for at in some for layer in findings[at].layers})
    many = f"{layers:,} layers"
    count: str | None = None
    names: list[str | None] = [first.subject]
    inner: list[str | None] = [None]
    if len(some) > 1:
        count = f"each of {len(some):,} {'layers' if layers == len(some) else 'places'}"
        names = [findings[at].subject for at in (inside[0], inside[-1])]
        inner = [blocks[at] for at in (inside[0], inside[-1])]
    elif first.subject.startswith(f"{many} ("):
        count = many
        ends = (first.layers[:1], first.layers[-1:])
        names = [view.layers[index].name for (index,) in ends]
        inner = [_block(end, view) for end in ends]
    of_blocks = None not in inner
    return FindingGroup(
        code=first.code,
        rule=first.rule,
        severity=first.severity,
        count=count,
        names=tuple(name or "" for name in (inner if of_blocks else names)),
        of_blocks=of_blocks,
        message=_merged([findings[at].message for at in inside]),
        advice=first.advice,
        saving=together(findings[at].saving for at in some),
        findings=tuple(some),
        layers=layers,
    )


def _merged(messages: Sequence[str]) -> str:
    """Merge messages into one, with a range where a figure differs."""
    columns = zip(*map(_FIGURE.findall, messages), strict=True)

    def value(figure: str) -> float:
        return float(figure.replace(",", "")) if figure.count(".") < 2 else 0.0

    ranges = (sorted(set(column), key=value) for column in columns)
    words = iter([one[0] if len(one) == 1 else f"{one[0]} … {one[-1]}" for one in ranges])
    return _FIGURE.sub(lambda _: next(words), messages[0])


class LintReport(Result, Record, frozen=True, kw_only=True):
    """Findings of the lint rules on one plan.

    Attributes:
        plan: Name of the plan.
        layers, active_layers: Number of all layers, and of layers that launch work.
        sum_ms: Sum of the layers' times in ms; ``None`` without a profile.
        engine_ms: Time of a whole inference without the profiler, in ms; at least `sum_ms`.
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
        return replace(together(finding.saving for finding in self.findings), alone_ms=None)


def lint(given: LintInput, config: LintConfig | None = None) -> LintReport:
    """Run the rules on a plan.

    Args:
        config: Which rules run; by default all.
    """
    config = config or LintConfig()
    view = LintView(given)
    is_executed = given.plan.source_schema == EXECUTED
    rules = tuple(one for one in config.rules() if one.is_general or not is_executed)
    with gc_paused():  # of a large plan it would take half of the time
        found = [Place(rule, one) for rule in rules for one in _found(rule, view)]
        places = [one for one in found if not _is_suppressed(one, config, view)]
        kept = explained(places)
        savings = savings_of([places[at] for at in kept], view)
        findings = [
            _finding(places[at], [places[symptom] for symptom in symptoms], saving, view)
            for (at, symptoms), saving in zip(kept.items(), savings, strict=True)
        ]
        findings.sort(key=lambda one: (one.saving.rank, -one.severity.weight, one.code, one.layers))
    return LintReport(
        plan=given.plan.name,
        layers=len(given.plan.layers),
        active_layers=len(view.active),
        sum_ms=view.sum_ms,
        engine_ms=view.engine_ms,
        profiler_ms=view.profile.profiler_ms if view.profile else None,
        gpu=view.gpu.name if view.gpu else None,
        rules=tuple(rule.code for rule in rules),
        findings=tuple(findings),
        groups=grouped(findings, view),
        suppressed=len(found) - len(places),
    )


def _found(rule: Rule, view: LintView) -> Sequence[Found]:
    """Return what a rule finds; of a rule of a plug-in that fails, its error."""
    try:
        return tuple(rule.check(view))
    except Exception as error:
        if rule in RULES:
            raise
        return (
            Found(
                layers=(),
                message=f"was not checked: the rule failed ({type(error).__name__}: {error})",
                severity=Severity.ERROR,
                advice=f"update the package of the rule, or ignore {rule.code}",
            ),
        )


def _finding(place: Place, symptoms: list[Place], saving: Saving, view: LintView) -> Finding:
    rule, found = place
    severities = [each.severity or its.severity for its, each in (place, *symptoms)]
    return Finding(
        code=rule.code,
        rule=rule.name,
        severity=max(severities, key=lambda severity: severity.weight),
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
