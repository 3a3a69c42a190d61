"""Layers with their times, as rows for tables and charts.

Times of a profile to the layers of a plan.
Where the time goes, by a property of the layers.
Where the time goes, by tactic.
Where each layer lies in an inference.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.core.record import Record, replace
from enginescope.core.units import sum_known
from enginescope.judge.samples import Interval
from enginescope.records.plan.plan import (
    AttributedLayer,
    Attribution,
    Layer,
    LayerTiming,
    Plan,
    Profile,
)
from enginescope.records.tensor import Tensor


def attribute(plan: Plan, profile: Profile) -> Attribution:
    """Return the plan's layers with their times.

    Joined by name, the k-th of a name to the k-th of that name, since names repeat; then, for what
    is left, by names that differ only in how fused parts are joined. Never by position: with equal
    counts in another order that gives every layer a wrong time.

    Returns:
        What has no partner stays, on either side.
    """
    timings, left = joined_times(plan, profile)
    return Attribution(
        layers=tuple(
            [AttributedLayer(layer=layer, timing=timings.get(layer.index)) for layer in plan.layers]
        ),
        unmatched=left,
    )


def joined_times(
    plan: Plan, profile: Profile
) -> tuple[dict[int, LayerTiming], tuple[LayerTiming, ...]]:
    """Return times by the index of their layer, as `attribute` joins them, and those left over."""
    profile = layer_times(profile)
    timings: dict[int, LayerTiming] = {}
    left = list(profile.layers)
    # both name the same layers in the same order, as trtexec writes them
    if [layer.name for layer in plan.layers] == [layer.name for layer in profile.layers]:
        timings = {one.index: timing for one, timing in zip(plan.layers, left, strict=True)}
        left = []
    for key in (str, _loosely):
        if not left:
            break
        open_layers = [layer for layer in plan.layers if layer.index not in timings]
        left = _join(open_layers, left, key, timings)
    return timings, tuple(left)


def _join(
    layers: Sequence[Layer],
    times: Iterable[LayerTiming],
    key: Callable[[str], str],
    into: dict[int, LayerTiming],
) -> list[LayerTiming]:
    """Pair layers and times with equal keys in their order; return the times left over."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for layer in reversed(layers):  # the first of a name is to be taken out first
        waiting[key(layer.name)].append(layer.index)
    left = []
    for time in times:
        stack = waiting.get(key(time.name))
        if stack:
            into[stack.pop()] = time
        else:
            left.append(time)
    return left


def _loosely(name: str) -> str:
    # TensorRT joins fused names by U+001E or U+001F; tools rewrite these as "+", spaces or none
    return re.sub(r"\s*[\x1e\x1f+]\s*|\s+", "+", name.strip())


class LayerRow(Record, frozen=True, kw_only=True, gc=False):
    """One layer: what the plan knows of it and what the profile measured.

    Attributes:
        index: Position in the plan, or in the profile where the plan does not have the layer.
        type: Layer type of the plan, else the operator that the profile names.
        subtype: The implementation, from the plan.
        precision: Type of the first input: ``"FP16"``, …
        provider: Execution provider that ran it (ONNX Runtime).
        time_ms: The layer's time per iteration; its own where `raw_ms` is known.
        start_ms: Mean time since the first layer began, where the profile has it.
        interval: 95 % interval of the median in ms.
        raw_ms: What the profiler reported, its event included.
        share_pct: `time_ms` as a part of the sum over layers, 0…100; ``None`` for containers.
        is_inert: Launches nothing; has no time.
        is_container: Its time holds that of other rows, and is left out of sums.
    """

    index: int
    name: str
    type: str | None = None
    subtype: str | None = None
    precision: str | None = None
    provider: str | None = None
    time_ms: float | None = None
    interval: Interval | None = None
    raw_ms: float | None = None
    share_pct: float | None = None
    tactic: str | None = None
    onnx_nodes: tuple[str, ...] = ()
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    is_inert: bool = False
    is_container: bool = False
    in_plan: bool = False
    start_ms: float | None = None

    @property
    def took_time(self) -> bool:
        """Whether it has a time, other than the 0 that profiles give to layers without work."""
        return self.time_ms is not None and not (self.is_inert and self.time_ms == 0)


def layer_rows(
    plan: Plan | None, profile: Profile | None, joined: Attribution | None = None
) -> tuple[LayerRow, ...]:
    """Return the layers of a plan with their times, then those only the profile has.

    With a plan alone all times are ``None``; with a profile alone a row knows its name, its
    times, and its operator and provider where the profile says them.

    Args:
        joined: What `attribute` returns of both, where that is known already.
    """
    profile = profile and layer_times(profile)
    whole_ms = profile.sum_ms if profile else None
    if plan is None:
        return tuple(_stray(one, whole_ms) for one in profile.layers) if profile else ()
    if profile is None:
        return tuple(_row(layer, _UNTIMED, None) for layer in plan.layers)
    joined = joined or attribute(plan, profile)
    return (
        *(_row(one.layer, one.timing or _UNTIMED, whole_ms) for one in joined.layers),
        *(_stray(one, whole_ms) for one in joined.unmatched),
    )


def slowest_first(rows: Iterable[LayerRow]) -> tuple[LayerRow, ...]:
    """Return `rows` by falling time; rows without one last, in their own order."""
    return tuple(sorted(rows, key=lambda row: -row.time_ms if row.time_ms is not None else 1.0))


_UNTIMED = LayerTiming(index=-1, name="")


def _row(layer: Layer, timing: LayerTiming, whole_ms: float | None) -> LayerRow:
    time_ms, precision = timing.time_ms, layer.precision
    has_share = time_ms is not None and whole_ms and not timing.is_container
    return LayerRow(
        index=layer.index,
        name=layer.name,
        type=layer.type if layer.type != "unknown" else timing.kind,
        subtype=layer.subtype,
        precision=precision._value_ if precision else None,
        provider=timing.provider,
        time_ms=time_ms,
        interval=timing.interval,
        raw_ms=timing.raw_ms,
        share_pct=100 * (time_ms or 0.0) / (whole_ms or 1.0) if has_share else None,
        tactic=layer.tactic_name,
        onnx_nodes=layer.onnx_nodes,
        inputs=layer.inputs,
        outputs=layer.outputs,
        is_inert=layer.is_inert,
        is_container=timing.is_container,
        in_plan=True,
        start_ms=timing.start_ms,
    )


def _stray(timing: LayerTiming, whole_ms: float | None) -> LayerRow:
    unknown = Layer(index=timing.index, name=timing.name)
    return replace(_row(unknown, timing, whole_ms), in_plan=False)


class TimeShare(Record, frozen=True, kw_only=True):
    """Layers that share a property, and their time.

    Attributes:
        key: The property's value; ``None``: not known.
        layers: How many have a time.
        time_ms: Sum of their times.
        share_pct: Of the sum over all layers; ``None`` at a sum of 0.
    """

    key: str | None
    layers: int
    time_ms: float
    share_pct: float | None


def time_by(
    rows: tuple[LayerRow, ...], key: Callable[[LayerRow], str | None]
) -> tuple[TimeShare, ...]:
    """Group the timed rows by `key`, the longest time first; containers are left out."""
    groups: dict[str | None, list[float]] = {}
    for row in rows:
        if row.time_ms is not None and not row.is_container:
            groups.setdefault(key(row), []).append(row.time_ms)
    whole_ms = sum(sum(times) for times in groups.values())
    shares = [
        TimeShare(
            key=name,
            layers=len(times),
            time_ms=sum(times),
            share_pct=100 * sum(times) / whole_ms if whole_ms else None,
        )
        for name, times in groups.items()
    ]
    return tuple(sorted(shares, key=lambda one: (-one.time_ms, one.key or "")))


class TacticShare(Record, frozen=True, kw_only=True):
    """Layers that run the same tactic, and their time.

    Attributes:
        tactic: Without the hash at its end; ``None``: the plan names none.
        types: Types of these layers, each once, sorted.
        variants: How many names there are, hashes included; 0 where there is no name.
        time_ms: Sum of the layers' times; ``None`` if none of them has one.
        share_pct: Of the sum over all layers.
    """

    tactic: str | None
    types: tuple[str, ...]
    layers: int
    variants: int
    time_ms: float | None
    share_pct: float | None


@lru_cache(maxsize=4096)
def tactic_family(name: str) -> str:
    """Return a tactic's name without the hash at its end.

    >>> tactic_family("__myl_Res_0x63adb2bae59ff89a94fc133e2755c132")
    '__myl_Res'
    """
    # Myelin ends a kernel's name in the hash of its code: one build's, and no other's
    return re.sub(r"_0x[0-9a-fA-F]+$", "", name) or name


def tactic_shares(rows: Iterable[LayerRow]) -> tuple[TacticShare, ...]:
    """Return the tactics of the plan's layers that launch work, by time, then by layers."""
    whole_ms = 0.0
    groups: dict[str | None, list[LayerRow]] = {}
    for row in rows:
        if row.time_ms is not None and not row.is_container:
            whole_ms += row.time_ms
        if not row.in_plan or row.is_inert:
            continue
        key = tactic_family(row.tactic) if row.tactic is not None else None
        groups.setdefault(key, []).append(row)
    shares = []
    for name, members in groups.items():
        time_ms = sum_known(row.time_ms for row in members)
        share = TacticShare(
            tactic=name,
            types=tuple(sorted({row.type for row in members if row.type is not None})),
            layers=len(members),
            variants=len({row.tactic for row in members if row.tactic is not None}),
            time_ms=time_ms,
            share_pct=100 * time_ms / whole_ms if time_ms is not None and whole_ms else None,
        )
        shares.append(share)
    shares.sort(key=lambda one: (-(one.time_ms or 0.0), -one.layers, one.tactic or ""))
    return tuple(shares)


class LayerSpan(Record, frozen=True, kw_only=True):
    """A layer's place in an inference.

    Attributes:
        start_ms: Since the first layer began.
    """

    row: LayerRow
    start_ms: float
    ms: float


def layer_spans(rows: Iterable[LayerRow]) -> tuple[LayerSpan, ...]:
    """Return the layers that take time, by their times, the first one first.

    They begin where the profile says so of all of them. Other profiles have durations and no
    starts: gaps and overlap are not in them, and the layers follow each other end to end.

    Args:
        rows: In the order in which they run.
    """
    timed = [(row, row.time_ms) for row in rows if row.time_ms and not row.is_container]
    starts = [row.start_ms for row, _ in timed if row.start_ms is not None]
    if len(starts) < len(timed):
        starts = list(accumulate((ms for _, ms in timed[:-1]), initial=0.0))
    spans = (
        LayerSpan(row=row, start_ms=start_ms, ms=ms)
        for (row, ms), start_ms in zip(timed, starts, strict=False)
    )
    return tuple(sorted(spans, key=lambda span: span.start_ms))


def is_stamped(spans: Sequence[LayerSpan]) -> bool:
    """Whether the layers have the starts of their profile."""
    return all(span.row.start_ms is not None for span in spans)
