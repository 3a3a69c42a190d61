"""The builder's choices: chosen against fastest tried, and two builds side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from enginescope.analysis.build_log.build_log_summary import (
    ReformatCost,
    best_trial,
    reformat_costs,
    trial_ms,
)
from enginescope.core.record import Record
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
        if cost is not None:
            found.append(_choice_of_copy(layer, cost))
        else:
            found.append(_choice(layer, blocks.get(layer.name, []), exact.get(layer.name, {})))
    return tuple(found)


def compare_choices(a: BuildTrace, b: BuildTrace) -> tuple[ChoicePair, ...]:
    """Return two builds' choices side by side by layer name, those that differ first.

    A name that repeats is paired by occurrence. Order: by milliseconds of change, then by the
    order of the first build.
    """
    first, second = _by_name(a), _by_name(b)
    pairs = []
    for key in (*first, *(key for key in second if key not in first)):
        one, other = first.get(key), second.get(key)
        change = None
        if one and other and one.chosen_ms is not None and other.chosen_ms is not None:
            change = other.chosen_ms - one.chosen_ms
        pairs.append(
            ChoicePair(
                name=key.name, a=one, b=other, differs=_differences(one, other), change_ms=change
            )
        )
    return tuple(sorted(pairs, key=lambda pair: (not pair.differs, -abs(pair.change_ms or 0.0))))


class _Key(NamedTuple):
    name: str
    occurrence: int


def _by_name(story: BuildTrace) -> dict[_Key, Choice]:
    found: dict[_Key, Choice] = {}
    seen: dict[str, int] = {}
    for choice in choices(story):
        name = choice.layer.name
        seen[name] = seen.get(name, 0) + 1
        found[_Key(name, seen[name])] = choice
    return found


def _differences(one: Choice | None, other: Choice | None) -> tuple[str, ...]:
    if one is None or other is None:
        return ("layer",)
    a, b = one.layer, other.layer
    checks = (
        ("type", a.type, b.type),
        ("tactic", a.tactic or a.tactic_name, b.tactic or b.tactic_name),
        ("precision", _types(a), _types(b)),
        ("formats", _formats(a), _formats(b)),
    )
    return tuple(name for name, left, right in checks if left != right)


def _types(layer: ChosenLayer) -> tuple[object, ...]:
    return tuple(one.dtype for one in (*layer.inputs, *layer.outputs))


def _formats(layer: ChosenLayer) -> tuple[object, ...]:
    return tuple((one.vector_width, one.vector_axis) for one in (*layer.inputs, *layer.outputs))


def _choice(
    layer: ChosenLayer, blocks: list[TunedLayer], exact: dict[tuple[str, int], str]
) -> Choice:
    combinations = [combination for block in blocks for combination in block.combinations]
    fitting = [] if layer.type in INERT_TYPES else _fitting(layer, combinations, exact)
    times = {one.time_ms for one in fitting} - {None}
    chosen_ms = times.pop() if len(times) == 1 else None
    if layer.type in INERT_TYPES:
        evidence: Evidence = "inert"
    elif chosen_ms is not None:
        evidence = "timed"
    elif times:
        evidence = "ambiguous"
    else:
        evidence = "not timed" if combinations else "none"
    fastest = _fastest(combinations)
    known = [block.tuning_s for block in blocks if block.tuning_s is not None]
    return Choice(
        layer=layer,
        evidence=evidence,
        chosen_ms=chosen_ms,
        kernel=layer.tactic_name or next((one.name for one in fitting if one.name), None),
        fastest=fastest,
        gap_ms=_gap(chosen_ms, fastest),
        combinations=len(combinations),
        trials=sum(len(combination.trials) for combination in combinations),
        tuning_s=sum(known) if known else None,
    )


def _choice_of_copy(layer: ChosenLayer, cost: ReformatCost) -> Choice:
    """Judge a conversion: its formats are given, only the tactic was to choose."""
    best = best_trial(cost.tried)
    fastest = None
    if best is not None:
        fastest = Option(inputs=(cost.source,), outputs=(cost.target,), tactic=best)
    is_inert = layer.type in INERT_TYPES
    own = best_trial(tuple(one for one in cost.tried if one.tactic == layer.tactic))
    chosen_ms = own.time_ms if own is not None and not is_inert else None
    evidence: Evidence = "not timed" if cost.tried else "none"
    if is_inert:
        evidence = "inert"
    elif chosen_ms is not None:
        evidence = "timed"
    return Choice(
        layer=layer,
        evidence=evidence,
        chosen_ms=chosen_ms,
        fastest=fastest,
        gap_ms=_gap(chosen_ms, fastest),
        combinations=1 if cost.tried else 0,
        trials=len(cost.tried),
    )


def _fastest(combinations: list[FormatTrial]) -> Option | None:
    options = [
        Option(inputs=combination.inputs, outputs=combination.outputs, tactic=best)
        for combination in combinations
        if (best := best_trial(combination.trials)) is not None
    ]
    return min(options, key=lambda one: trial_ms(one.tactic), default=None)


def _gap(chosen_ms: float | None, fastest: Option | None) -> float | None:
    if chosen_ms is None or fastest is None or fastest.tactic.time_ms is None:
        return None
    return chosen_ms - fastest.tactic.time_ms


def _fitting(
    layer: ChosenLayer, combinations: list[FormatTrial], exact: dict[tuple[str, int], str]
) -> list[TacticTrial]:
    """Trials of the layer's tactic in combinations that may be the one it ended up with."""
    return [
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
        width = max((int(one) for one in _widths(strides)), default=1)
        if tensor.vector_width is not None and tensor.vector_width != width:
            return False
    return True


def _widths(strides: list[str]) -> Iterator[str]:
    return (width for stride in strides if (width := stride.partition(":")[2].strip()).isdecimal())


def _exact_formats(story: BuildTrace) -> dict[str, dict[tuple[str, int], str]]:
    """Formats with strides that added conversions tell of the layers they serve."""
    found: dict[str, dict[tuple[str, int], str]] = {}
    for added in story.reformats:
        match = _REFORMATTED.match(added.name)
        if match is not None:
            own = added.target if match[1] == "Input" else added.source
            found.setdefault(match[3], {})[match[1], int(match[2])] = own
    return found
