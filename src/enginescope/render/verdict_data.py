"""Verdicts as CSV and JSON."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from enginescope.analysis.measured_notices import measured_notices
from enginescope.analysis.measured_sides import MeasuredComparison, MeasuredPair, MeasuredSide
from enginescope.model.verdict import Verdict
from enginescope.render.csv_text import csv_bytes
from enginescope.render.verdict_phrases import headline_sentence, title_of, unit_of


def measured_data(found: MeasuredComparison) -> dict[str, Any]:
    """Return everything that is known, for JSON; times in ms, sizes in bytes."""
    return {
        "comparison": found.comparison,
        "threshold_pct": found.threshold_pct,
        "is_decided": found.is_decided,
        "sides": [_side(one) for one in found.sides],
        "pairs": [_pair(one) for one in found.pairs],
        "noise_floor": found.floor,
        "notices": measured_notices(found),
    }


def verdict_csv(found: MeasuredComparison) -> bytes:
    """Return a row for each verdict."""
    rows = [_flat(pair, one) for pair in found.pairs for one in pair.verdicts]
    return csv_bytes(tuple(rows[0]), [tuple(one.values()) for one in rows])


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
        "meant": pair.meant,
        "differing": pair.differing,
        "verdicts": [_verdict(one) for one in pair.verdicts],
    }


def _verdict(one: Verdict) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(one)
    more = {"title": title_of(one.metric), "unit": unit_of(one.metric)}
    return {**made, **more, "is_decided": one.is_decided}


def _flat(pair: MeasuredPair, one: Verdict) -> dict[str, Any]:
    estimate = one.estimate
    interval = estimate.interval if estimate else None
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
    }
