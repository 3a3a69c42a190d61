"""Views of a build log: steps, fusions, formats tried, conversions, what tuning cost."""

from __future__ import annotations

from typing import Literal

from enginescope.core.record import Record
from enginescope.records.plan.build_trace import AddedReformat, BuildTrace, TacticTrial, TunedLayer


class TuningCost(Record, frozen=True, kw_only=True):
    """What tuning a layer cost.

    Attributes:
        name: ``None``: blocks that the log does not name, all together.
        pruned: Tactics put aside without timing.
        tuning_s, share_pct: Seconds, and their share of all that the log accounts for.
    """

    name: str | None
    kind: Literal["layer", "reformat"]
    combinations: int
    trials: int
    pruned: int
    tuning_s: float | None
    share_pct: float | None = None


class StepChange(Record, frozen=True, kw_only=True):
    """A step of the graph's optimization.

    Attributes:
        change: Against the step before; ``None`` for the first.
        fused, removed, retyped: Changes that the log names between the two.
    """

    name: str
    layers: int
    change: int | None
    fused: int
    removed: int
    retyped: int


class FusionGroup(Record, frozen=True, kw_only=True):
    """Nodes that ended up in one layer.

    Attributes:
        name: Of the result.
        rules: In the order they were applied.
        in_engine: Whether the finished engine has a layer of that name.
    """

    name: str
    nodes: tuple[str, ...]
    rules: tuple[str, ...]
    in_engine: bool


class ReformatCost(Record, frozen=True, kw_only=True):
    """A conversion between formats that was put into the engine.

    Attributes:
        became: Type of its layer in the finished engine; a ``NoOp`` reads the same bytes in another
            way and takes no time.
        time_ms: In tuning: of the tactic chosen where that is known, else of the fastest; ``None``
            where none was timed.
    """

    name: str
    tensor: str
    source: str
    target: str
    became: str | None
    time_ms: float | None
    tried: tuple[TacticTrial, ...]


def tuning_costs(story: BuildTrace) -> tuple[TuningCost, ...]:
    """Return what tuning cost by layer, the longest first; unnamed blocks as one entry a kind."""
    groups: dict[tuple[str | None, Literal["layer", "reformat"]], list[TunedLayer]] = {}
    for block in story.tuned:
        groups.setdefault((block.name, block.kind), []).append(block)
    whole_s = tuning_total_s(story)
    costs = []
    for (name, kind), blocks in groups.items():
        trials = [combination for block in blocks for combination in block.combinations]
        known = [block.tuning_s for block in blocks if block.tuning_s is not None]
        tuning_s = sum(known) if known else None
        costs.append(
            TuningCost(
                name=name,
                kind=kind,
                combinations=len(trials),
                trials=sum(len(trial.trials) for trial in trials),
                pruned=sum(trial.pruned or 0 for trial in trials),
                tuning_s=tuning_s,
                share_pct=100 * tuning_s / whole_s if whole_s and tuning_s is not None else None,
            )
        )
    return tuple(sorted(costs, key=lambda one: (-(one.tuning_s or 0.0), -one.trials)))


def tuning_total_s(story: BuildTrace) -> float | None:
    """Return the seconds of timing that the log accounts for (8.6 and later)."""
    known = [block.tuning_s for block in story.tuned if block.tuning_s is not None]
    return sum(known) if known else None


def step_changes(story: BuildTrace) -> tuple[StepChange, ...]:
    """Return the layers after each step, and what the log names of how they got fewer."""
    counts: dict[int, dict[str, int]] = {}
    for change in story.changes:
        of_step = counts.setdefault(change.step, {})
        of_step[change.action] = of_step.get(change.action, 0) + 1
    found = []
    for index, step in enumerate(story.steps):
        of_step = counts.get(index, {})
        found.append(
            StepChange(
                name=step.name,
                layers=step.layers,
                change=step.layers - story.steps[index - 1].layers if index else None,
                fused=of_step.get("fuse", 0),
                removed=of_step.get("remove", 0),
                retyped=of_step.get("retype", 0),
            )
        )
    return tuple(found)


def fusion_groups(story: BuildTrace) -> tuple[FusionGroup, ...]:
    """Return the fusions that no later one took further, with the nodes each joined."""
    engine = {layer.name for layer in story.layers}
    rules: dict[str, tuple[str, ...]] = {}
    nodes: dict[str, tuple[str, ...]] = {}
    for change in story.changes:
        if change.action != "fuse":
            continue
        before = [rule for name in change.names for rule in rules.pop(name, ())]
        for name in change.names:
            nodes.pop(name, None)
        result = " + ".join(change.names)
        rules[result] = (*before, *((change.rule,) if change.rule else ()))
        nodes[result] = change.nodes
    return tuple(
        FusionGroup(name=name, nodes=joined, rules=rules[name], in_engine=name in engine)
        for name, joined in nodes.items()
    )


def reformat_costs(story: BuildTrace) -> tuple[ReformatCost, ...]:
    """Return the conversions put into the engine, with the times that tuning found for them.

    Where the log has no times for the tensor itself, those of the first conversion between equal
    formats with equal strides stand for it: it is the same work, and the builder times it once.
    """
    tried: dict[tuple[str, str], dict[str | None, tuple[TacticTrial, ...]]] = {}
    for block in story.tuned:
        for one in block.combinations if block.kind == "reformat" else ():
            if len(one.inputs) == len(one.outputs) == 1 and one.trials:
                pair = tried.setdefault((one.inputs[0], one.outputs[0]), {})
                pair.setdefault(block.name, one.trials)
    layers = {layer.name: layer for layer in story.layers}
    found = []
    for added in story.reformats:
        trials = _of_tensor(added, tried.get((added.source, added.target), {}))
        layer = layers.get(added.name.replace("Reformatted", "Reformatting CopyNode for", 1))
        tactic = layer.tactic if layer else None
        chosen = best_trial(tuple(trial for trial in trials if trial.tactic == tactic))
        chosen = chosen or best_trial(trials)
        found.append(
            ReformatCost(
                name=added.name,
                tensor=added.tensor,
                source=added.source,
                target=added.target,
                became=layer.type if layer else None,
                time_ms=chosen.time_ms if chosen else None,
                tried=trials,
            )
        )
    return tuple(found)


def best_trial(trials: tuple[TacticTrial, ...]) -> TacticTrial | None:
    """Return the fastest of those with a time."""
    timed = [trial for trial in trials if trial.time_ms is not None]
    return min(timed, key=trial_ms, default=None)


def trial_ms(trial: TacticTrial | None) -> float:
    """Return a trial's time for sorting: one without comes last."""
    return trial.time_ms if trial is not None and trial.time_ms is not None else float("inf")


def _of_tensor(
    added: AddedReformat, tried: dict[str | None, tuple[TacticTrial, ...]]
) -> tuple[TacticTrial, ...]:
    own = (f"({added.tensor} -> <out>)", f"(<in> -> {added.tensor})")
    names = [name for name in tried if name is not None and name.endswith(own)]
    return tried[names[0]] if names else next(iter(tried.values()), ())
