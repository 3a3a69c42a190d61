"""Compare two stacks for one model: a row for outputs, for each metric, and for its layers."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from enginescope.analysis.errors.channel_errors import flat_numbers
from enginescope.analysis.gate.gate import failure_text
from enginescope.analysis.plan_comparison.comparison import compare_layers
from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers, Relation
from enginescope.analysis.runs.run_view import Runs, RunView
from enginescope.analysis.validation.validation import ValidatedSide
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.compared_figures import HEADLINE
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredSide
from enginescope.analysis.verdicts.verdicts import verdict_on
from enginescope.core.record import Record, copied, replace
from enginescope.core.units import format_bytes
from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS
from enginescope.judge.comparison.ratio import is_out_of_reach
from enginescope.judge.verdict import Reason, Verdict, VerdictKind
from enginescope.records.plan.plan import Layer, Plan, Profile
from enginescope.records.run.run import TensorValues
from enginescope.records.verdict.gate import DEFAULT_REGRESSION_PCT, Limit
from enginescope.records.verdict.upgrade import (
    MEMORY_FLOOR_BYTES,
    OUTPUTS,
    DifferenceCause,
    LayerChange,
    LayerDifferences,
    UpgradeKind,
    UpgradeReason,
    UpgradeRow,
)

#: Metric to its figures in processes with an empty model, of the old stack and of the new one.
LibraryMemory = Mapping[str, tuple[float, float]]
#: Measures processes with an empty model; ``None``: it was stopped before they had ended.
Library = Callable[[], LibraryMemory | None]
_MEMORY = frozenset({"peak_memory", "device_memory"})
_KINDS = {
    VerdictKind.SLOWER: UpgradeKind.WORSE,
    VerdictKind.FASTER: UpgradeKind.BETTER,
    VerdictKind.SAME: UpgradeKind.SAFE,
}


def look_confidence(models: int) -> float:
    """Return the confidence of each look, so that all models together err as one does."""
    return 1 - (1 - LOOK_CONFIDENCE) / models


def is_settled(rows: Sequence[UpgradeRow], last: int) -> bool:
    """Whether rounds up to the look after `last` would not make another row that counts clear."""
    return not any(
        _may_settle(row.verdict, last)
        for row in rows
        if row.decides and row.kind is UpgradeKind.INCONCLUSIVE and row.verdict is not None
    )


def _may_settle(verdict: Verdict, last: int) -> bool:
    if verdict.kind is VerdictKind.INCOMPARABLE or verdict.reason is Reason.BUILD_SPREAD:
        return False
    units = verdict.estimate.n_a if verdict.estimate else 0
    # one disturbed round of the first look may be all the variation
    return units < LOOKS[1] or not is_out_of_reach(verdict, last)


def latency_limit_pct(limits: Sequence[Limit]) -> float:
    own = (limit.regression_pct for limit in limits if limit.metric == HEADLINE)
    return next(own, DEFAULT_REGRESSION_PCT)


def metric_rows(
    comparison: MeasuredComparison,
    limits: Sequence[Limit],
    terms: CompareConfig,
    library: Library = dict,
) -> tuple[UpgradeRow, ...]:
    """Return the headline's row, then the rows of all other figures.

    Args:
        terms: Of the comparison; each metric has its own limit.
    """
    named = {limit.metric: limit.regression_pct for limit in limits}
    pair = comparison.pairs[0]
    old, new = (side.measured for side in comparison.sides)
    rows = [_row(pair.headline, decides=True)]
    is_printed = pair.headline.reason is Reason.PRINTED_ONLY
    others = {verdict.metric: verdict for verdict in pair.verdicts[1:]}
    # the host's part of a request on a GPU is compared apart from the GPU's
    for metric in dict.fromkeys((*others, *(() if is_printed else ("enqueue",)))):
        config = replace(terms, threshold_pct=named.get(metric, 5.0))  # metrics that do not count
        own = None if is_printed else verdict_on(old, new, metric, config)
        verdict = own or others.get(metric)
        if verdict is not None:
            rows.append(_model_memory_row(_row(verdict, decides=metric in named), library))
    # a backend may not have figures of memory and of an engine
    known = {row.metric for row in rows[1:]} | _MEMORY | {"engine_size", HEADLINE}
    why = UpgradeReason.MISSING, "a stack does not have it"
    missing = [metric for metric in named if metric not in known]
    return (*rows, *(open_row(metric, *why, named[metric]) for metric in missing))


def open_row(
    metric: str, reason: UpgradeReason, message: str, limit_pct: float | None = None
) -> UpgradeRow:
    """Return the row of a metric that is not compared."""
    return UpgradeRow(
        metric=metric,
        kind=UpgradeKind.INCONCLUSIVE,
        reason=reason.value,
        message=message,
        limit_pct=limit_pct,
    )


def _row(verdict: Verdict, *, decides: bool) -> UpgradeRow:
    kind, reason = UpgradeKind.INCONCLUSIVE, verdict.reason.value
    if verdict.is_decided:
        kind = _KINDS[verdict.kind]
    elif verdict.rules_out_a_loss:
        kind, reason = UpgradeKind.SAFE, UpgradeReason.NOT_WORSE.value
    return UpgradeRow(
        metric=verdict.metric,
        kind=kind,
        reason=reason,
        message=verdict.detail,
        decides=decides,
        limit_pct=verdict.threshold_pct,
        old=verdict.a,
        new=verdict.b,
        verdict=verdict,
    )


def stopped_row(metric: str, step: str, row: UpgradeRow | None = None) -> UpgradeRow:
    """Return the row of a metric that is open, since the upgrade was stopped before a step.

    Args:
        row: What is known of the metric.
    """
    known = row or UpgradeRow(metric=metric, kind=UpgradeKind.INCONCLUSIVE, reason="")
    return replace(
        known,
        kind=UpgradeKind.INCONCLUSIVE,
        reason=UpgradeReason.NOT_REACHED.value,
        message=f"stopped before {step}",
    )


def untimed_row(outputs: UpgradeRow, limit_pct: float) -> UpgradeRow:
    """Return the row of the latency of a model whose outputs do not pass: nothing is timed."""
    why = f"not timed, because the outputs are {outputs.kind.value} ({outputs.reason})"
    return open_row(HEADLINE, UpgradeReason.OUTPUTS_FIRST, why, limit_pct)


def without_wins(rows: Sequence[UpgradeRow]) -> tuple[UpgradeRow, ...]:
    """Return the rows of a model whose outputs were not compared: no figure is called better."""
    why = {
        "kind": UpgradeKind.INCONCLUSIVE,
        "reason": UpgradeReason.OUTPUTS_FIRST.value,
        "message": "no win without compared outputs",
    }
    return tuple(replace(row, **why) if row.kind is UpgradeKind.BETTER else row for row in rows)


def failed_row(sides: Sequence[MeasuredSide], limit_pct: float) -> UpgradeRow:
    """Return the row of the latency where the processes of a stack failed."""
    old, new = sides
    is_new = not new.measured or not new.runs[-1].is_ok
    failed = new if is_new else old
    bad = [run for run in failed.runs if not run.is_ok]
    message = (
        f"{len(bad)} of {len(failed.runs)} processes of the {'new' if is_new else 'old'} "
        f"stack failed: {failure_text(bad[-1]) if bad else 'unknown'}"
    )
    row = open_row(HEADLINE, UpgradeReason.PROCESS_FAILED, message, limit_pct)
    return replace(row, kind=UpgradeKind.WORSE) if is_new else row


def _model_memory_row(row: UpgradeRow, library: Library) -> UpgradeRow:
    """Return a row of memory as the model's own growth decides it.

    The growth is the largest that the interval allows, less what an empty model's process grew by.
    It has to be above the row's limit and above `MEMORY_FLOOR_BYTES`.

    Args:
        library: Asked only where the memory of the whole process is beyond the limit.
    """
    if row.metric not in _MEMORY or row.kind is not UpgradeKind.WORSE or not row.old or not row.new:
        return row
    measured = library()
    if measured is None:
        return stopped_row(row.metric, "the memory of the runtime alone was measured", row)
    shares = measured.get(row.metric)
    estimate = row.verdict.estimate if row.verdict else None
    interval = estimate.interval if estimate else None
    growth = max(row.new, row.old * interval.high if interval else row.new) - row.old
    text = f"{format_bytes(row.new - row.old)} more"
    if shares:
        before, after = map(format_bytes, shares)
        growth -= shares[1] - shares[0]
        text += f"; the runtime by itself, with an empty model: {before} → {after}"
    allowed = max(MEMORY_FLOOR_BYTES, row.old * (row.limit_pct or 0.0) / 100)
    if growth > allowed:
        return replace(row, message=text, library=shares)
    text += f"; a model may take {format_bytes(allowed)} more"
    small = UpgradeReason.SMALL_GROWTH.value
    return replace(row, kind=UpgradeKind.SAFE, reason=small, message=text, library=shares)


class Drift(Record, frozen=True, kw_only=True):
    """Largest absolute difference between outputs, over all samples.

    Attributes:
        old, new: Between two processes of the same stack: its nondeterminism.
        between: Between the two stacks, over those processes whose outputs are nearest.
    """

    old: float
    new: float
    between: float


def output_gap(a: Sequence[TensorValues], b: Sequence[TensorValues]) -> float:
    """Return the largest absolute difference; infinite where names, shapes or NaNs differ."""
    ours, theirs = ({tensor.name: tensor for tensor in side} for side in (a, b))
    if ours.keys() != theirs.keys():
        return math.inf
    return max((_gap(tensor, theirs[name]) for name, tensor in ours.items()), default=0.0)


def _gap(a: TensorValues, b: TensorValues) -> float:
    if a.shape != b.shape or a.dtype != b.dtype:
        return math.inf
    if a.data.tobytes() == b.data.tobytes():
        return 0.0
    numbers = flat_numbers(a), flat_numbers(b)
    if any(one.dtype.kind not in "fiub" for one in numbers):  # texts have no distance
        return math.inf
    first, second = (one.astype(np.float64) for one in numbers)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore"):
        gaps = np.where(same, 0.0, np.abs(first - second))
    return math.inf if np.isnan(gaps).any() else float(gaps.max(initial=0.0))


def drift_of(gaps: Mapping[tuple[int, int], Sequence[float]], repeats: int) -> Drift:
    """Return the drift, from the gaps of each sample by pair of processes.

    Args:
        gaps: Process 0 … `repeats` − 1 are the old stack's, the others the new one's.
    """
    largest = {pair: max(values, default=0.0) for pair, values in gaps.items()}
    old = [gap for (a, b), gap in largest.items() if b < repeats]
    new = [gap for (a, b), gap in largest.items() if a >= repeats]
    between = [gap for (a, b), gap in largest.items() if a < repeats <= b]
    return Drift(old=max(old, default=0.0), new=max(new, default=0.0), between=min(between))


def output_row(
    old: Sequence[ValidatedSide], new: Sequence[ValidatedSide], drift: Drift | None
) -> UpgradeRow:
    """Return the verdict on the outputs.

    Args:
        old, new: Each fresh process of a stack, compared with the reference.
        drift: ``None`` where a stack has no outputs.
    """
    failed_old, failed_new = _failure(old), _failure(new)
    if failed_old and failed_new:
        kind, reason = UpgradeKind.WORSE, UpgradeReason.BOTH_FAIL
        message = f"both stacks fail against the reference; the new one: {failed_new}"
    elif failed_new:
        kind, reason = UpgradeKind.WORSE, UpgradeReason.OUTPUTS_FAIL
        message = f"only the new stack fails against the reference: {failed_new}"
    elif failed_old:
        kind, reason = UpgradeKind.BETTER, UpgradeReason.OLD_FAILS
        message = f"only the old stack fails against the reference: {failed_old}"
    else:
        assert drift is not None
        kind, (reason, message) = UpgradeKind.SAFE, _passes(drift, len(new))
    return UpgradeRow(
        metric=OUTPUTS,
        kind=kind,
        reason=reason.value,
        message=message,
        old=_error(old),
        new=_error(new),
    )


def _passes(drift: Drift, repeats: int) -> tuple[UpgradeReason, str]:
    own = max(drift.old, drift.new)
    if not drift.between and not own:
        return UpgradeReason.IDENTICAL, f"identical bits in all {2 * repeats} processes"
    if drift.between <= own:
        return UpgradeReason.WITHIN_REPEATS, (
            f"the stacks differ by {drift.between:.2g}, no more than processes of one stack "
            f"({own:.2g})"
        )
    return UpgradeReason.WITHIN_LIMITS, (
        f"the stacks differ by up to {drift.between:.2g}, processes of one stack by {own:.2g}; "
        "both pass against the reference"
    )


def _failure(sides: Sequence[ValidatedSide]) -> str | None:
    bad = [side for side in sides if not side.passes]
    if not bad:
        return None
    some = f" ({len(bad)} of {len(sides)} processes)" if len(bad) < len(sides) else ""
    return f"{why_side_fails(bad[0])}{some}"


def why_side_fails(side: ValidatedSide) -> str:
    """Return the first reason for which a side does not pass."""
    if side.failure:
        return side.failure
    if side.blocked:
        one = side.blocked[0]
        return f"{one.role} {one.name} is {one.side or 'missing'}, not {one.reference}"
    for output in side.diff.outputs if side.diff else ():
        if output.reasons:
            return f"{output.name}: {output.reasons[0].message}"
    return "it has no outputs"


def _error(sides: Sequence[ValidatedSide]) -> float | None:
    errors = [
        output.figures.max_abs_error
        for side in sides
        for output in (side.diff.outputs if side.diff else ())
        if output.figures is not None and output.figures.max_abs_error is not None
    ]
    return max(errors, default=None)


#: Layers that a report lists; the causes add up all of them.
MOST_LAYERS = 20
_ALONE = {Relation.PAIR: (), Relation.ONLY_A: ("only old",), Relation.ONLY_B: ("only new",)}


def layer_differences(old: Runs, new: Runs) -> LayerDifferences | None:
    """Return how the layers of two stacks differ, by a process of each; ``None``: a side has none.

    ONNX Runtime has no plan: there the nodes that its profile names are the layers.
    """
    a, b = _layers_of(old), _layers_of(new)
    if a is None or b is None:
        return None
    compared = compare_layers(a, b)
    are_timed = compared.a_ms is not None and compared.b_ms is not None
    return LayerDifferences(
        old=sum(len(pair.a.layers) for pair in compared.layers if pair.a),
        new=sum(len(pair.b.layers) for pair in compared.layers if pair.b),
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


def _layers_of(runs: Runs) -> tuple[Plan, Profile | None] | None:
    """Return the plan of the first process that has one, with its layer times if any has them.

    Without plans the nodes of a profile are the layers.
    """
    good = [run for run in runs if run.is_ok]
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
