"""Measured sides as JSON and CSV."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from enginescope.analysis.verdicts.evidence import evidence_level
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import (
    MeasuredComparison,
    MeasuredPair,
    MeasuredSide,
)
from enginescope.analysis.verdicts.ranking import ranking_of
from enginescope.judge.verdict import Verdict
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.verdicts.verdict_phrases import (
    headline_sentence,
    is_other_ratio,
    rate_note,
    ratio_note,
    title_of,
    unit_of,
)


def measured_data(found: MeasuredComparison) -> dict[str, Any]:
    """Return everything that is known, for JSON; times in ms, sizes in bytes."""
    return {
        "comparison": found.comparison,
        "threshold_pct": found.threshold_pct,
        "is_decided": found.is_decided,
        "throughput_is": rate_note(found),
        "sides": [_side(side) for side in found.sides],
        "evidence": evidence_level(*(side.runs for side in found.sides)),
        "ranking": ranking_of(found),
        "pairs": [_pair(pair) for pair in found.pairs],
        "other_pairs": [_pair(pair) for pair in found.other_pairs],
        "noise_floor": found.floor,
        "notices": measured_notices(found),
    }


def verdict_csv(comparison: MeasuredComparison) -> bytes:
    """Return a row for each verdict."""
    pairs = (*comparison.pairs, *comparison.other_pairs)
    rows = [_flat(pair, verdict) for pair in pairs for verdict in pair.verdicts]
    return csv_bytes(tuple(rows[0]), [tuple(row.values()) for row in rows])


def _side(side: MeasuredSide) -> dict[str, Any]:
    return {
        "label": side.label,
        "name": side.name,
        "processes": len(side.measured),
        "runs": [_process(run) for run in side.runs],
    }


def _process(run: Any) -> dict[str, Any]:
    headline = run.headline
    median = float(np.median(headline.values_ms)) if headline else None
    return {
        "run": run.id,
        "outcome": run.outcome.kind.value,
        "round": run.turn.round if run.turn else None,
        "place": run.turn.place if run.turn else None,
        "median_ms": median,
    }


def _pair(pair: MeasuredPair) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "sentence": headline_sentence(pair),
        "ratio_note": ratio_note(pair),
        "meant": pair.meant,
        "differing": pair.differing,
        "verdicts": [_verdict(verdict) for verdict in pair.verdicts],
    }


def _verdict(one: Verdict) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(one)
    more = {"title": title_of(one.metric), "unit": unit_of(one.metric)}
    return {
        **made,
        **more,
        "is_decided": one.is_decided,
        "ratio_per": one.estimate.basis if one.estimate else None,
        "is_other_ratio": is_other_ratio(one),
    }


def _flat(pair: MeasuredPair, one: Verdict) -> dict[str, Any]:
    estimate = one.estimate
    interval = estimate.interval if estimate else None
    disturbed = estimate.disturbed if estimate else None
    return {
        "side": pair.b,
        "against": pair.a,
        "metric": one.metric,
        "unit": unit_of(one.metric),
        "verdict": one.kind.value,
        "reason": one.reason.value,
        "a": one.a,
        "b": one.b,
        "ratio": estimate.ratio if estimate else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "confidence": interval.confidence if interval else None,
        "threshold_pct": one.threshold_pct,
        "method": estimate.method if estimate else None,
        "processes_a": one.processes_a,
        "processes_b": one.processes_b,
        "samples_a": one.samples_a,
        "samples_b": one.samples_b,
        "effective_a": one.effective_a,
        "effective_b": one.effective_b,
        "more": one.more,
        "evidence": one.evidence.value if one.evidence else None,
        "ratio_per": estimate.basis if estimate else None,
        "corrected_ratio": one.corrected_ratio,
        "is_tested": one.is_tested,
        "rounds_left_out": estimate.left_out if estimate else None,
        "disturbed_a": disturbed.a if disturbed else None,
        "disturbed_b": disturbed.b if disturbed else None,
        "disturbed_both": disturbed.both if disturbed else None,
        "unstable": disturbed.unstable if disturbed else None,
    }
