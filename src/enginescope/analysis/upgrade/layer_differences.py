"""What the layers of two stacks differ in, paired by ONNX operator."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers, Relation
from enginescope.analysis.plan_comparison.layer_comparison import compare_layers
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import copied, replace
from enginescope.records.plan.plan import Layer, Plan, Profile
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.records.verdict.upgrade import DifferenceCause, LayerChange, LayerDifferences

#: Layers that a report lists; the causes add up all of them.
MOST_LAYERS = 20
_ALONE = {Relation.PAIR: (), Relation.ONLY_A: ("only old",), Relation.ONLY_B: ("only new",)}


def layer_differences(old: Sequence[Run], new: Sequence[Run]) -> LayerDifferences | None:
    """Return how the layers of two stacks differ, by a process of each; ``None``: a side has none.

    ONNX Runtime has no plan: there the nodes that its profile names are the layers.
    """
    a, b = _layers_of(old), _layers_of(new)
    if a is None or b is None:
        return None
    compared = compare_layers(a, b)
    are_timed = compared.a_ms is not None and compared.b_ms is not None
    return LayerDifferences(
        old=_count(compared.layers, "a"),
        new=_count(compared.layers, "b"),
        paired=compared.paired,
        differing=sum(pair.is_changed for pair in compared.layers if pair.a and pair.b),
        only_old=sum(pair.b is None for pair in compared.layers),
        only_new=sum(pair.a is None for pair in compared.layers),
        old_ms=compared.a_ms if are_timed else None,
        new_ms=compared.b_ms if are_timed else None,
        causes=tuple(
            copied(DifferenceCause, cause, cause=cause.cause.value, layers=len(cause.members))
            for cause in compared.explanations
        ),
        layers=tuple(map(_change, compared.by_difference()[:MOST_LAYERS])),
    )


def _layers_of(runs: Sequence[Run]) -> tuple[Plan, Profile | None] | None:
    """Return the plan of the first process that has one, with its layer times if any has them.

    Without plans the nodes of a profile are the layers.
    """
    good = [run for run in runs if run.outcome.kind is OutcomeKind.OK]
    planned = [run for run in good if run.plan is not None]
    timed = [run for run in planned or good if run.profile is not None]
    chosen = next(iter((*timed, *planned)), None)
    if chosen is None:
        return None
    run = RunView(chosen).run
    if run.plan is not None:
        return run.plan, run.profile
    assert run.profile is not None
    profile = run.profile
    nodes = tuple(node for node in profile.layers if not node.is_container)
    layers = (Layer(index=one.index, name=one.name, type=one.kind or "unknown") for one in nodes)
    plan = Plan(name=run.job.subject.name, layers=tuple(layers), source_schema=profile.source)
    # times of a host that enqueues nodes of a GPU are not theirs
    return plan, None if profile.mode == "host" else replace(profile, layers=nodes)


def _count(layers: Sequence[ComparedLayers], side: str) -> int:
    sides = (getattr(one, side) for one in layers)
    return sum(len(one.layers) for one in sides if one is not None)


def _change(pair: ComparedLayers) -> LayerChange:
    words = [
        f"precision {one.a} → {one.b}" if one.what == "precision" else one.what
        for one in pair.changes
    ]
    return LayerChange(
        name=pair.name,
        type=pair.type,
        changes=tuple(words) or _ALONE.get(pair.relation, ("fused otherwise",)),
        old_ms=pair.a_ms,
        new_ms=pair.b_ms,
        difference_ms=pair.difference_ms,
    )
