"""Compare two or more plans, layer by layer: what differs, and what that costs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from string import ascii_uppercase
from typing import Any

from enginescope.analysis.claims.layer_claims import comparable
from enginescope.analysis.frames import Frames, to_pandas
from enginescope.analysis.layers.layer_table import attribute, layer_rows
from enginescope.analysis.layers.reformats import ReformatLayer, reformats
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.analysis.plan_comparison.layer_changes import (
    Cause,
    ComparedLayers,
    Explanation,
    LayersSide,
    Relation,
    changes_between,
    explain,
    layers_side,
    share_of,
)
from enginescope.analysis.plan_comparison.plans_overview import (
    ComparedPlan,
    PlansOverview,
    PlanSummary,
    compared_plan,
    layer_columns,
    plan_columns,
    plans_overview,
)
from enginescope.analysis.runs.build_differences import build_notices
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, Result, replace
from enginescope.core.units import sum_known
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import EXECUTED, Alignment, LayerPair, Plan, Profile
from enginescope.records.run.run import Run


def active_times(plan: Plan, profile: Profile | None) -> tuple[dict[int, float], float | None]:
    """Return the times of the active layers by index, and the sum of all others.

    Others are inert layers, and layers that the plan does not have. Containers (``If``, ``Loop``)
    are left out: their time is that of the layers inside.
    """
    if profile is None:
        return {}, None
    times: dict[int, float] = {}
    beyond = []
    joined = attribute(plan, profile)
    timed = [(one.layer, one.timing) for one in joined.layers]
    for layer, timing in (*timed, *((None, one) for one in joined.unmatched)):
        if timing is None or timing.time_ms is None or timing.is_container:
            continue
        if layer is None or layer.is_inert:
            beyond.append(timing.time_ms)
        else:
            times[layer.index] = timing.time_ms
    return times, sum_known(beyond)


class LayerComparison(Record, frozen=True, kw_only=True):
    """Where the difference between two plans lies.

    Attributes:
        layers: Every layer of either plan that does work, once: in the order of A, then those that
            only B has.
        a_ms, b_ms: The layers' times added up.
        difference_ms: B − A; ``None`` where a plan has no times.
        explanations: The largest first. They add up to `difference_ms`.
        reformats_lost, reformats_added: Those that only A has, and only B, the longest first.
    """

    layers: tuple[ComparedLayers, ...]
    a_ms: float | None
    b_ms: float | None
    difference_ms: float | None
    explanations: tuple[Explanation, ...]
    reformats_lost: tuple[ReformatLayer, ...] = ()
    reformats_added: tuple[ReformatLayer, ...] = ()

    @property
    def difference_pct(self) -> float | None:
        """`difference_ms` as a part of A's time."""
        return share_of(self.difference_ms, self.a_ms)

    @property
    def is_explained(self) -> bool:
        """Whether anything but the times of layers differs."""
        return any(one.cause not in (Cause.NOTHING, Cause.OUTSIDE) for one in self.explanations)

    @property
    def paired(self) -> int:
        """How many have a counterpart."""
        return sum(1 for layer in self.layers if layer.a and layer.b)

    def in_order(self) -> tuple[ComparedLayers, ...]:
        """Return the layers with the largest difference in ms first, changed or not."""
        return tuple(sorted(self.layers, key=lambda one: -abs(one.difference_ms or 0.0)))

    def leading(self, share_pct: float = 80.0) -> tuple[tuple[ComparedLayers, ...], float]:
        """Return the fewest layers that make this share of all differences, and their share in %.

        Layers that take more time and layers that take less count alike. No layers where no
        difference is known.
        """
        rows = [row for row in self.in_order() if row.difference_ms]
        sums = list(accumulate(abs(row.difference_ms or 0.0) for row in rows))
        count = bisect_left(sums, sums[-1] * share_pct / 100) + 1 if sums else 0
        return tuple(rows[:count]), 100 * sums[count - 1] / sums[-1] if sums else 0.0

    def by_difference(self) -> tuple[ComparedLayers, ...]:
        """Return the layers that changed, the largest difference first, then the others."""
        return tuple(sorted(self.in_order(), key=lambda one: not one.is_changed))


def compare_layers(
    a: tuple[Plan, Profile | None], b: tuple[Plan, Profile | None]
) -> LayerComparison:
    """Return what differs between two plans, each with its times."""
    a, b = zip((a[0], b[0]), comparable((a[1], b[1])), strict=True)
    alignment = align(a[0], b[0])
    (times_a, rest_a), (times_b, rest_b) = active_times(*a), active_times(*b)
    a_ms, b_ms = (one[1].sum_ms if one[1] else None for one in (a, b))
    difference_ms = b_ms - a_ms if a_ms is not None and b_ms is not None else None
    rows = compared_rows(alignment, times_a, times_b, difference_ms)
    return LayerComparison(
        layers=rows,
        a_ms=a_ms,
        b_ms=b_ms,
        difference_ms=difference_ms,
        explanations=explain(rows, (rest_a, rest_b), difference_ms),
        reformats_lost=_reformats(*a, alignment.only_a),
        reformats_added=_reformats(*b, alignment.only_b),
    )


def compared_rows(
    alignment: Alignment,
    times_a: dict[int, float],
    times_b: dict[int, float],
    whole_ms: float | None,
) -> tuple[ComparedLayers, ...]:
    """Return each pair of an alignment, and each layer without a counterpart.

    Args:
        times_a, times_b: Of layers by index; see `active_times`.
        whole_ms: The difference of the plans.
    """
    a, b = _side_maker(alignment.plan_a, times_a), _side_maker(alignment.plan_b, times_b)
    in_a = [_compared(_relation(one), a(one.a), b(one.b), whole_ms, one) for one in alignment.pairs]
    in_a += [_compared(Relation.ONLY_A, a((one,)), None, whole_ms) for one in alignment.only_a]
    only_b = (_compared(Relation.ONLY_B, None, b((one,)), whole_ms) for one in alignment.only_b)
    return (*sorted(in_a, key=lambda row: row.a.layers if row.a else ()), *only_b)


def _side_maker(plan: Plan, times: dict[int, float]) -> Callable[[tuple[int, ...]], LayersSide]:
    layers = {layer.index: layer for layer in plan.layers}
    return lambda side: layers_side(
        [layers[index] for index in side], sum_known(times.get(index) for index in side)
    )


def _compared(
    relation: Relation,
    a: LayersSide | None,
    b: LayersSide | None,
    whole_ms: float | None,
    pair: LayerPair | None = None,
) -> ComparedLayers:
    a_ms, b_ms = (side.time_ms if side else None for side in (a, b))
    is_unknown = whole_ms is None or (a_ms is None and b_ms is None)
    difference_ms = None if is_unknown else (b_ms or 0.0) - (a_ms or 0.0)
    return ComparedLayers(
        relation=relation,
        a=a,
        b=b,
        evidence=pair.evidence if pair else None,
        score=pair.score if pair else None,
        changes=changes_between(a, b) if a and b else (),
        difference_ms=difference_ms,
        share_pct=share_of(difference_ms, whole_ms),
    )


def _relation(pair: LayerPair) -> Relation:
    if not pair.is_group:
        return Relation.PAIR
    if len(pair.a) == 1:
        return Relation.SPLIT
    return Relation.MERGED if len(pair.b) == 1 else Relation.REGROUPED


def _reformats(
    plan: Plan, profile: Profile | None, unpaired: tuple[int, ...]
) -> tuple[ReformatLayer, ...]:
    every, wanted = reformats(plan, layer_rows(plan, profile)), frozenset(unpaired)
    alone = [reformat for reformat in every if reformat.index in wanted]
    return tuple(sorted(alone, key=lambda one: -(one.time_ms or 0.0)))


#: Field of a run's mode -> what it is called.
_MODES = {
    "kind": "measured for",
    "in_flight": "in flight",
    "transfers": "host-device copies",
    "cuda_graph": "CUDA graph",
    "spin_wait": "spin wait",
    "streams": "streams",
    "cold": "L2 cache flushed",
}


def comparison_notices(
    plans: Sequence[ComparedPlan], found: LayerComparison | None
) -> tuple[Notice, ...]:
    """Return what must be known before the differences are believed, the weightiest first."""
    summaries = [plan.summary for plan in plans]
    is_engine = any(plan.plan.source_schema != EXECUTED for plan in plans)
    conditions = tuple(_conditions(summaries, is_engine=is_engine))
    codes = {notice.code for notice in conditions}
    builds = build_notices({plan.label: plan.view.run for plan in plans})
    return (
        *conditions,
        *(notice for notice in builds if notice.code not in codes),
        *_modes(summaries),
        *_times(summaries),
        *(_networks(summaries, found) if found else ()),
        *_labelled(plans),
    )


def _conditions(plans: Sequence[PlanSummary], *, is_engine: bool) -> Iterator[Notice]:
    part = "part of the difference is"
    facts = (
        ("W-OTHER-GPU", "GPU", "gpu", f"{part} the GPU's"),
        ("W-OTHER-TENSORRT", "TensorRT version", "tensorrt", f"{part} TensorRT's"),
        ("W-OTHER-BATCH", "batch", "batch", "compare the times per item"),
    )
    unknown = []
    for code, what, field, so in facts if is_engine else facts[2:]:
        values = {plan.label: getattr(plan, field) for plan in plans}
        known = {label: value for label, value in values.items() if value is not None}
        if len(set(known.values())) > 1:
            message = f"different {what} ({listed(known)}): {so}"
            yield Notice(code, message, known)
        if len(known) < len(values):
            missing = ", ".join(label for label in values if label not in known)
            unknown.append(f"{what} of {missing if known else 'all plans'}")
    if unknown:
        yield Notice("I-CONDITIONS-UNKNOWN", f"unknown: {'; '.join(unknown)}", {"unknown": unknown})


def differing_modes(plans: Sequence[PlanSummary]) -> dict[str, dict[str, object]]:
    """Return how requests were issued where plans differ: name -> label -> value."""
    timed = [plan for plan in plans if plan.latencies]
    differing = {}
    for field, name in _MODES.items():
        values = {one.label: getattr(one.mode, field) for one in timed}
        known = {label: value for label, value in values.items() if value is not None}
        if len(set(known.values())) > 1:
            differing[name] = known
    return differing


def _modes(plans: Sequence[PlanSummary]) -> Iterator[Notice]:
    differing = differing_modes(plans)
    if differing:
        texts = "; ".join(f"{name}: {listed(known)}" for name, known in differing.items())
        yield Notice(
            "W-OTHER-MODE",
            f"requests were issued differently ({texts}), which also changes the times",
            differing,
        )


def listed(known: Mapping[str, object]) -> str:
    """Return each value with the plans that have it: ``A, B yes, C no``."""
    groups: dict[str, list[str]] = {}
    for label, value in known.items():
        word = ("yes" if value else "no") if isinstance(value, bool) else str(value)
        groups.setdefault(word, []).append(label)
    return ", ".join(f"{', '.join(labels)} {value}" for value, labels in groups.items())


def _times(plans: Sequence[PlanSummary]) -> Iterator[Notice]:
    own = {one.label: one.has_own_times for one in plans if one.has_own_times is not None}
    if len(set(own.values())) > 1:
        yield Notice(
            "W-OTHER-PROFILE",
            f"layer times without the profiler's part: {listed(own)}; the difference of "
            "the layers contains that part: measure both sides in one --profile-mode",
            own,
        )
    untimed = [plan.label for plan in plans if plan.sum_ms is None]
    if untimed:
        yield Notice(
            "W-NO-LAYER-TIMES",
            f"no layer times for {', '.join(untimed)}, so only the structure is compared; "
            "trtexec --exportProfile writes them",
            {"plans": untimed},
        )
    counts = {one.label: one.iterations for one in plans if one.iterations is not None}
    few = {label: count for label, count in counts.items() if count < 10}  # hardly means
    if few:
        yield Notice(
            "W-FEW-ITERATIONS",
            f"layer times are means of few iterations ({listed(few)}): small differences "
            "can be noise",
            few,
        )


def _networks(plans: Sequence[PlanSummary], found: LayerComparison) -> Iterator[Notice]:
    smaller = min(plan.totals.active_layers for plan in plans)
    pairs = ((layer.a.layers, layer.b.layers) for layer in found.layers if layer.a and layer.b)
    paired = sum(min(len(a), len(b)) for a, b in pairs)
    if smaller and paired < smaller / 2:
        yield Notice(
            "W-OTHER-NETWORK",
            f"only {paired:,} of {smaller:,} layers have a counterpart: these may be two networks",
            {"paired": paired, "of": smaller},
        )


def _labelled(plans: Sequence[ComparedPlan]) -> Iterator[Notice]:
    """Yield the notices of the plans; one that several plans have, once with all their labels."""
    groups: dict[tuple[str, str], tuple[Notice, dict[str, None]]] = {}
    for plan in plans:
        for notice in plan.view.notices:
            labels = groups.setdefault((notice.code, notice.message), (notice, {}))[1]
            labels[plan.label] = None
    for notice, labels in groups.values():
        plans_text = ", ".join(labels)
        evidence = {"plan": plans_text, **notice.evidence}
        yield replace(notice, message=f"{plans_text}: {notice.message}", evidence=evidence)


#: Pairs whose times differ by less are shown as equal, in percent of A's.
THRESHOLD_PCT = 3.0


class Comparison(Frames, Result, Record, frozen=True, kw_only=True):
    """Compared plans; the first is the baseline.

    Attributes:
        overview: Every plan: counts, bytes, times, by type, by precision.
        layers: Layer by layer and what explains the difference; only of two plans.
        notices: What must be known before the differences are believed, then those of each plan.
        plans: What is compared: each plan with its times.
    """

    overview: PlansOverview
    layers: LayerComparison | None
    notices: tuple[Notice, ...] = ()
    plans: tuple[ComparedPlan, ...] = ()

    def against_first(self) -> tuple[LayerComparison, ...]:
        """Return each plan but the first, compared with the first layer by layer."""
        base, *others = ((one.plan, one.view.run.profile) for one in self.plans)
        return (self.layers,) if self.layers else tuple(compare_layers(base, one) for one in others)

    @property
    def pairs(self) -> LayerComparison:
        """`layers` of two plans.

        Raises:
            UsageError: There are more than two.
        """
        if self.layers is None:
            raise UsageError(
                f"{len(self.overview.plans)} plans have no pairs of layers",
                hint="compare two of them at a time",
            )
        return self.layers

    def columns(self) -> dict[str, list[Any]]:
        """Return the layers of two plans as columns, one row a pair; see ``docs/reference/csv.md``.

        Raises:
            UsageError: There are more than two plans.
        """
        return layer_columns(self.pairs.layers)

    def plans_to_pandas(self) -> Any:
        """Return the plans as a ``pandas.DataFrame``, one row each."""
        return to_pandas(plan_columns(self.overview))


def compare(
    runs: Sequence[Run], *, names: Sequence[str] | None = None, plan_profile: int = 0
) -> Comparison:
    """Compare the plans of runs.

    Args:
        runs: Two or more, measured or imported, each with a plan. The first is the base.
        names: By default those of the runs' subjects.
        plan_profile: Optimization profile to look at, of plans that have several.

    Raises:
        UsageError: Fewer than two runs, more than there are letters, one without a plan, or a plan
            without that optimization profile.
    """
    if not 1 < len(runs) <= len(ascii_uppercase):
        raise UsageError(
            f"{len(runs)} {'plan' if len(runs) == 1 else 'plans'} to compare",
            hint=f"give 2 to {len(ascii_uppercase)}",
        )
    given = names or [one.job.subject.name for one in runs]
    plans = [
        compared_plan(run, label=label, name=name, plan_profile=plan_profile)
        for run, label, name in zip(runs, ascii_uppercase, given, strict=False)
    ]
    profiles = comparable([plan.view.run.profile for plan in plans])
    plans = [
        plan
        if profile is plan.view.run.profile
        else compared_plan(replace(plan.view.run, profile=profile), label=plan.label, name=name)
        for plan, profile, name in zip(plans, profiles, given, strict=False)
    ]
    pairs = [(plan.plan, plan.view.run.profile) for plan in plans]
    layers = compare_layers(*pairs) if len(pairs) == 2 else None
    return Comparison(
        overview=plans_overview([plan.summary for plan in plans]),
        layers=layers,
        notices=comparison_notices(plans, layers),
        plans=tuple(plans),
    )
