"""Summarize a build log: steps, fusions, choices of the builder, and what tuning cost."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Literal

from enginescope.core.record import Record, copied, replace
from enginescope.core.units import sum_known
from enginescope.formats.plan.tensor_format import parse_dtype
from enginescope.records.plan.build_trace import (
    BuildTrace,
    ChosenLayer,
    ChosenTensor,
    FormatTrial,
    TacticTrial,
    TunedLayer,
)
from enginescope.records.plan.plan import INERT_TYPES


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
        tuning_s = sum_known(block.tuning_s for block in blocks)
        cost = TuningCost(
            name=name,
            kind=kind,
            combinations=len(trials),
            trials=sum(len(trial.trials) for trial in trials),
            pruned=sum(trial.pruned or 0 for trial in trials),
            tuning_s=tuning_s,
            share_pct=100 * tuning_s / whole_s if whole_s and tuning_s is not None else None,
        )
        costs.append(cost)
    return tuple(sorted(costs, key=lambda one: (-(one.tuning_s or 0.0), -one.trials)))


def tuning_total_s(story: BuildTrace) -> float | None:
    """Return the seconds of timing that the log accounts for (8.6 and later)."""
    return sum_known(block.tuning_s for block in story.tuned)


def step_changes(story: BuildTrace) -> tuple[StepChange, ...]:
    """Return the layers after each step, and what the log names of how they got fewer."""
    counts = Counter((change.step, change.action) for change in story.changes)
    return tuple(
        StepChange(
            name=step.name,
            layers=step.layers,
            change=step.layers - story.steps[index - 1].layers if index else None,
            fused=counts[index, "fuse"],
            removed=counts[index, "remove"],
            retyped=counts[index, "retype"],
        )
        for index, step in enumerate(story.steps)
    )


def fusion_groups(story: BuildTrace) -> tuple[FusionGroup, ...]:
    """Return the fusions that no later one took further, with the nodes each joined."""
    engine = {layer.name for layer in story.layers}
    groups: dict[str, FusionGroup] = {}
    for change in story.changes:
        if change.action == "fuse":
            joined = [groups.pop(name) for name in change.names if name in groups]
            rules = [rule for group in joined for rule in group.rules]
            rules += [change.rule] if change.rule else []
            name = " + ".join(change.names)
            groups[name] = FusionGroup(
                name=name, nodes=change.nodes, rules=tuple(rules), in_engine=name in engine
            )
    return tuple(groups.values())


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
        timed = tried.get((added.source, added.target), {})
        own = (f"({added.tensor} -> <out>)", f"(<in> -> {added.tensor})")
        names = [name for name in timed if name is not None and name.endswith(own)]
        trials = timed[names[0]] if names else next(iter(timed.values()), ())
        layer = layers.get(added.name.replace("Reformatted", "Reformatting CopyNode for", 1))
        tactic = layer.tactic if layer else None
        chosen = best_trial([trial for trial in trials if trial.tactic == tactic])
        chosen = chosen or best_trial(trials)
        became, time_ms = layer.type if layer else None, chosen.time_ms if chosen else None
        found.append(copied(ReformatCost, added, became=became, time_ms=time_ms, tried=trials))
    return tuple(found)


def best_trial(trials: Sequence[TacticTrial]) -> TacticTrial | None:
    """Return the fastest of those with a time."""
    timed = [trial for trial in trials if trial.time_ms is not None]
    return min(timed, key=trial_ms, default=None)


def trial_ms(trial: TacticTrial | None) -> float:
    """Return a trial's time for sorting: one without comes last."""
    return trial.time_ms if trial is not None and trial.time_ms is not None else float("inf")


Evidence = Literal["timed", "ambiguous", "not timed", "none", "inert"]
_PRINTED = re.compile(r"^(\w+)\(([^)]*)\)$")
_REFORMATTED = re.compile(r"^Reformatted (Input|Output) Tensor (\d{1,6}) to (.+)$")
_COPY = re.compile(r"^Reformatting CopyNode for (Input|Output) Tensor (\d{1,6}) to (.+)$")


class Option(Record, frozen=True, kw_only=True):
    """A tactic in one combination of formats, with its time in tuning."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tactic: TacticTrial


class Choice(Record, frozen=True, kw_only=True):
    """What was chosen for a layer, against all that was tried for it.

    Attributes:
        evidence: Whether the log holds the chosen tactic's time: yes; for several combinations of
            formats that the chosen one may be, with several times; the layer was tuned, but this
            tactic has no time in it (taken from the timing cache); nothing was tried under the
            layer's name; or the layer does no work in the finished engine.
        chosen_ms: Time in tuning; only for ``"timed"``.
        kernel: Name of the chosen tactic.
        fastest: The fastest of all combinations. TensorRT minimizes the sum over the network,
            reformats included, so this is often not the one chosen.
        gap_ms: Chosen less fastest: what the choice costs this layer, and saves elsewhere.
        combinations, trials: How much was tried.
        tuning_s: What that took.
    """

    layer: ChosenLayer
    evidence: Evidence
    chosen_ms: float | None = None
    kernel: str | None = None
    fastest: Option | None = None
    gap_ms: float | None = None
    combinations: int = 0
    trials: int = 0
    tuning_s: float | None = None


class ChoicePair(Record, frozen=True, kw_only=True):
    """A layer's choice in two builds; ``None`` where a build has no such layer.

    Attributes:
        differs: Of ``"layer"``, ``"type"``, ``"tactic"``, ``"precision"``, ``"formats"``.
        change_ms: Time in tuning, b less a.
    """

    name: str
    a: Choice | None
    b: Choice | None
    differs: tuple[str, ...]
    change_ms: float | None = None


def choices(story: BuildTrace) -> tuple[Choice, ...]:
    """Return the choice for every layer of the finished engine, in its order."""
    blocks: dict[str, list[TunedLayer]] = {}
    for block in story.tuned:
        if block.name is not None:
            blocks.setdefault(block.name, []).append(block)
    copies = {one.name: one for one in reformat_costs(story)}
    exact = _exact_formats(story)
    found = []
    for layer in story.layers:
        copy = _COPY.match(layer.name)
        cost = copies.get(f"Reformatted {copy[1]} Tensor {copy[2]} to {copy[3]}") if copy else None
        if cost is None:
            found.append(_choice(layer, blocks.get(layer.name, []), exact.get(layer.name, {})))
            continue
        # the formats of a conversion are given: only the tactic was to choose
        only = FormatTrial(inputs=(cost.source,), outputs=(cost.target,), line=0, trials=cost.tried)
        best = best_trial([trial for trial in cost.tried if trial.tactic == layer.tactic])
        found.append(_chosen(layer, [only] if cost.tried else [], [best] if best else []))
    return tuple(found)


def compare_choices(a: BuildTrace, b: BuildTrace) -> tuple[ChoicePair, ...]:
    """Return two builds' choices side by side by layer name, those that differ first.

    A name that repeats is paired by occurrence. Order: by milliseconds of change, then by the
    order of the first build.
    """
    first, second = _by_name(a), _by_name(b)
    pairs = []
    for name, number in dict.fromkeys((*first, *second)):
        one, other = first.get((name, number)), second.get((name, number))
        change = None
        if one and other and one.chosen_ms is not None and other.chosen_ms is not None:
            change = other.chosen_ms - one.chosen_ms
        differs = _differences(one, other)
        pairs.append(ChoicePair(name=name, a=one, b=other, differs=differs, change_ms=change))
    return tuple(sorted(pairs, key=lambda pair: (not pair.differs, -abs(pair.change_ms or 0.0))))


def _by_name(story: BuildTrace) -> dict[tuple[str, int], Choice]:
    numbers: defaultdict[str, Iterator[int]] = defaultdict(count)
    return {(one.layer.name, next(numbers[one.layer.name])): one for one in choices(story)}


def _differences(one: Choice | None, other: Choice | None) -> tuple[str, ...]:
    if one is None or other is None:
        return ("layer",)
    facts: list[dict[str, object]] = []
    for layer in (one.layer, other.layer):
        tensors = (*layer.inputs, *layer.outputs)
        known = {"type": layer.type, "tactic": layer.tactic or layer.tactic_name}
        types = [tensor.dtype for tensor in tensors]
        formats = [(tensor.vector_width, tensor.vector_axis) for tensor in tensors]
        facts.append({**known, "precision": types, "formats": formats})
    a, b = facts
    return tuple(name for name in a if a[name] != b[name])


def _choice(
    layer: ChosenLayer, blocks: list[TunedLayer], exact: dict[tuple[str, int], str]
) -> Choice:
    combinations = [combination for block in blocks for combination in block.combinations]
    fitting = [
        trial
        for combination in combinations
        if _fits(layer.inputs, combination.inputs, exact, "Input")
        and _fits(layer.outputs, combination.outputs, exact, "Output")
        for trial in combination.trials
        if trial.tactic == layer.tactic
        and (
            trial.runner == layer.type or all(of.runner != layer.type for of in combination.trials)
        )
    ]
    is_inert = layer.type in INERT_TYPES
    named = next((one.name for one in fitting if one.name), None) if not is_inert else None
    return replace(
        _chosen(layer, combinations, fitting),
        kernel=layer.tactic_name or named,
        tuning_s=sum_known(block.tuning_s for block in blocks),
    )


def _chosen(
    layer: ChosenLayer, combinations: list[FormatTrial], fitting: list[TacticTrial]
) -> Choice:
    """Judge a layer by what was tried for it, and by what of that may be the tactic chosen."""
    is_inert = layer.type in INERT_TYPES
    known_ms = (one.time_ms for one in fitting if not is_inert)
    times = {time_ms for time_ms in known_ms if time_ms is not None}
    chosen_ms = min(times) if len(times) == 1 else None
    evidence: Evidence = "not timed" if combinations else "none"
    if is_inert:
        evidence = "inert"
    elif times:
        evidence = "timed" if len(times) == 1 else "ambiguous"
    options = [
        Option(inputs=combination.inputs, outputs=combination.outputs, tactic=best)
        for combination in combinations
        if (best := best_trial(combination.trials)) is not None
    ]
    fastest = min(options, key=lambda one: trial_ms(one.tactic), default=None)
    best_ms = fastest.tactic.time_ms if fastest else None
    return Choice(
        layer=layer,
        evidence=evidence,
        chosen_ms=chosen_ms,
        fastest=fastest,
        gap_ms=chosen_ms - best_ms if chosen_ms is not None and best_ms is not None else None,
        combinations=len(combinations),
        trials=sum(len(combination.trials) for combination in combinations),
    )


def _fits(
    tensors: tuple[ChosenTensor, ...],
    printed: tuple[str, ...],
    exact: dict[tuple[str, int], str],
    side: str,
) -> bool:
    """Whether formats with strides may be those that a layer ended up with."""
    if len(tensors) != len(printed):
        return False
    for index, (tensor, text) in enumerate(zip(tensors, printed, strict=True)):
        known = exact.get((side, index))
        if known is not None and known != text:
            return False
        match = _PRINTED.match(text)
        if match is None or parse_dtype(match[1]) != tensor.dtype:
            return False
        strides = match[2].split(",")
        if tensor.shape is not None and len(strides) != len(tensor.shape):
            return False
        widths = (stride.partition(":")[2].strip() for stride in strides)
        width = max((int(one) for one in widths if one.isdecimal()), default=1)
        if tensor.vector_width is not None and tensor.vector_width != width:
            return False
    return True


def _exact_formats(story: BuildTrace) -> dict[str, dict[tuple[str, int], str]]:
    """Formats with strides that added conversions tell of the layers they serve."""
    found: dict[str, dict[tuple[str, int], str]] = {}
    for added in story.reformats:
        match = _REFORMATTED.match(added.name)
        if match is not None:
            own = added.target if match[1] == "Input" else added.source
            found.setdefault(match[3], {})[match[1], int(match[2])] = own
    return found
