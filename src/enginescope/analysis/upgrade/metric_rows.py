"""What measured figures say of an upgrade: a row for each metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginescope.analysis.gate.gate import failure_text
from enginescope.analysis.upgrade.memory_rows import LibraryMemory, model_memory_row
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.compared_figures import HEADLINE
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredSide
from enginescope.analysis.verdicts.verdicts import verdict_on
from enginescope.core.record import replace
from enginescope.judge.comparison.ratio import LOOK_CONFIDENCE
from enginescope.judge.verdict import Reason, Verdict, VerdictKind
from enginescope.records.run.run import OutcomeKind
from enginescope.records.verdict.gate import DEFAULT_REGRESSION_PCT, Limit
from enginescope.records.verdict.upgrade import UpgradeKind, UpgradeReason, UpgradeRow

#: The host's part of a request on a GPU, which is compared apart from the GPU's.
_HOST = "enqueue"
#: Limit of metrics that do not count, in percent.
_SHOWN_PCT = 5.0


def look_confidence(models: int) -> float:
    """Return the confidence of each look, so that all models together err as one does."""
    return 1 - (1 - LOOK_CONFIDENCE) / models


def is_settled(comparison: MeasuredComparison) -> bool:
    """Whether more rounds are not needed: the new stack is worse, better, or not worse."""
    headline = comparison.pairs[0].headline
    return comparison.is_final or _kind(headline)[0] is not UpgradeKind.INCONCLUSIVE


def latency_limit_pct(limits: Sequence[Limit]) -> float:
    """Return the limit of the headline."""
    own = (limit.regression_pct for limit in limits if limit.metric == HEADLINE)
    return next(own, DEFAULT_REGRESSION_PCT)


def metric_rows(
    comparison: MeasuredComparison,
    limits: Sequence[Limit],
    terms: CompareConfig,
    library: Callable[[], LibraryMemory] = dict,
) -> tuple[UpgradeRow, ...]:
    """Return the headline's row, then the rows of all other figures.

    Args:
        terms: Of the comparison; each metric has its own limit.
        library: Measures processes with an empty model.
    """
    named = {limit.metric: limit.regression_pct for limit in limits}
    pair = comparison.pairs[0]
    old, new = (side.measured for side in comparison.sides)
    rows = [_row(pair.headline, decides=True)]
    is_printed = pair.headline.reason is Reason.PRINTED_ONLY
    others = {verdict.metric: verdict for verdict in pair.verdicts[1:]}
    for metric in dict.fromkeys((*others, *(() if is_printed else (_HOST,)))):
        held = replace(terms, threshold_pct=named.get(metric, _SHOWN_PCT))
        own = None if is_printed else verdict_on(old, new, metric, held)
        verdict = own or others.get(metric)
        if verdict is not None:
            rows.append(model_memory_row(_row(verdict, decides=metric in named), library))
    known = {row.metric for row in rows[1:]}
    asked = [one for one in named if one not in known and one != HEADLINE and one not in _OPTIONAL]
    return (*rows, *(_missing(metric, named[metric]) for metric in asked))


#: Metrics that a backend may not have.
_OPTIONAL = frozenset({"device_memory", "engine_size", "peak_memory"})


def _missing(metric: str, limit_pct: float) -> UpgradeRow:
    return UpgradeRow(
        metric=metric,
        kind=UpgradeKind.INCONCLUSIVE,
        reason=UpgradeReason.MISSING.value,
        message="a stack does not have it",
        limit_pct=limit_pct,
    )


def _row(verdict: Verdict, *, decides: bool) -> UpgradeRow:
    kind, reason = _kind(verdict)
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


def _kind(verdict: Verdict) -> tuple[UpgradeKind, str]:
    if verdict.is_decided:
        return _KINDS[verdict.kind], verdict.reason.value
    if verdict.rules_out_a_loss:
        return UpgradeKind.SAFE, UpgradeReason.NOT_WORSE.value
    return UpgradeKind.INCONCLUSIVE, verdict.reason.value


_KINDS = {
    VerdictKind.SLOWER: UpgradeKind.WORSE,
    VerdictKind.FASTER: UpgradeKind.BETTER,
    VerdictKind.SAME: UpgradeKind.SAFE,
}


def untimed_row(outputs: UpgradeRow, limit_pct: float) -> UpgradeRow:
    """Return the row of the latency of a model whose outputs do not pass: nothing is timed."""
    return UpgradeRow(
        metric=HEADLINE,
        kind=UpgradeKind.INCONCLUSIVE,
        reason=UpgradeReason.OUTPUTS_FIRST.value,
        message=f"not timed, because the outputs are {outputs.kind.value} ({outputs.reason})",
        limit_pct=limit_pct,
    )


def without_wins(rows: Sequence[UpgradeRow]) -> tuple[UpgradeRow, ...]:
    """Return the rows of a model whose outputs were not compared: no figure is called better."""
    return tuple(
        replace(
            row,
            kind=UpgradeKind.INCONCLUSIVE,
            reason=UpgradeReason.OUTPUTS_FIRST.value,
            message="no win without compared outputs",
        )
        if row.kind is UpgradeKind.BETTER
        else row
        for row in rows
    )


def failed_row(sides: Sequence[MeasuredSide], limit_pct: float) -> UpgradeRow:
    """Return the row of the latency where the processes of a stack failed."""
    old, new = sides
    is_new = not new.measured or new.runs[-1].outcome.kind is not OutcomeKind.OK
    failed = new if is_new else old
    bad = [run for run in failed.runs if run.outcome.kind is not OutcomeKind.OK]
    return UpgradeRow(
        metric=HEADLINE,
        kind=UpgradeKind.WORSE if is_new else UpgradeKind.INCONCLUSIVE,
        reason=UpgradeReason.PROCESS_FAILED.value,
        message=f"{len(bad)} of {len(failed.runs)} processes of the {'new' if is_new else 'old'} "
        f"stack failed: {failure_text(bad[-1]) if bad else 'unknown'}",
        limit_pct=limit_pct,
    )
