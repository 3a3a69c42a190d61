"""A comparison of plans as CSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from enginescope._version import __version__
from enginescope.analysis.build_log.build_choices import Choice, ChoicePair
from enginescope.analysis.plan_comparison.comparison import Comparison
from enginescope.analysis.plan_comparison.comparison_columns import layer_columns, plan_columns
from enginescope.analysis.plan_comparison.difference_causes import cause_of
from enginescope.analysis.plan_comparison.layer_comparison import LayerComparison
from enginescope.analysis.plan_comparison.paired_layers import ComparedLayers
from enginescope.analysis.plan_comparison.plan_summary import PlanSummary
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.core.jsonio import encode
from enginescope.render.base.csv_text import csv_bytes
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.verdicts.verdict_data import measured_data

#: Version of the JSON document's shape.
COMPARE_SCHEMA = 1


def compare_csv(found: Comparison, chosen: Chosen) -> bytes:
    """Return a row for each pair of two plans; for each plan where there are more."""
    if found.layers is None:
        columns = plan_columns(found.overview)
    else:
        columns = layer_columns([one for one in found.layers.by_difference() if chosen.admits(one)])
    return csv_bytes(tuple(columns), zip(*columns.values(), strict=True))


def compare_json(
    found: Comparison | None,
    chosen: Chosen,
    choices: Sequence[ChoicePair] | None = None,
    *,
    measured: MeasuredComparison | None = None,
) -> bytes:
    """Return everything that is known as strict JSON; times in ms, sizes in bytes.

    Args:
        found: ``None``: a side has no plan, or only build logs were given.
        chosen: Layers that are left out are counted in the sums all the same.
        choices: What two builds chose.
        measured: Verdicts, where every side has samples.
    """
    made: dict[str, Any] = {"schema": COMPARE_SCHEMA, "enginescope": __version__}
    if measured is not None:
        made["measured"] = measured_data(measured)
    if found is not None:
        overview = found.overview
        made["threshold_pct"], made["only"] = chosen.threshold_pct, chosen.only
        made["plans"] = [
            {
                **_plan(one),
                "difference_ms": overview.difference_ms(at),
                "speedup": overview.speedup(at),
            }
            for at, one in enumerate(overview.plans)
        ]
        for name in ("by_type", "by_precision", "by_output_precision"):
            made[name] = getattr(overview, name)
        made["notices"] = found.notices
        if found.layers is not None:
            made |= _layers(found.layers, chosen)
    if choices is not None:
        made["build_choices"] = [_choice_pair(choice) for choice in choices]
    return encode(made)


def _plan(one: PlanSummary) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(one)
    return {**made, "sum_per_item_ms": one.sum_per_item_ms, "items_per_s": one.items_per_s}


def _layers(layers: LayerComparison, chosen: Chosen) -> dict[str, Any]:
    rows = [(at, one) for at, one in enumerate(layers.layers) if chosen.admits(one)]
    return {
        "difference": {
            "a_ms": layers.a_ms,
            "b_ms": layers.b_ms,
            "difference_ms": layers.difference_ms,
            "difference_pct": layers.difference_pct,
        },
        "explanations": layers.explanations,
        "reformats_lost": layers.reformats_lost,
        "reformats_added": layers.reformats_added,
        "layers": [_pair(at, one) for at, one in rows],
    }


def _pair(position: int, one: ComparedLayers) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(one)
    more = {"position": position, "cause": cause_of(one).value, "speedup": one.speedup}
    return {**more, **made}


def _choice_pair(pair: ChoicePair) -> dict[str, Any]:
    return {
        "name": pair.name,
        "differs": pair.differs,
        "change_ms": pair.change_ms,
        "a": _choice(pair.a),
        "b": _choice(pair.b),
    }


def _choice(one: Choice | None) -> dict[str, Any] | None:
    if one is None:
        return None
    made: dict[str, Any] = msgspec.to_builtins(one.layer)
    more = {"evidence": one.evidence, "chosen_ms": one.chosen_ms, "kernel": one.kernel}
    return {**made, **more, "gap_ms": one.gap_ms}
