"""A comparison of outputs as data."""

from __future__ import annotations

from typing import Any

import msgspec

from enginescope._version import __version__
from enginescope.analysis.accuracy.output_diff import OutputDiff, SampleDiff
from enginescope.analysis.errors.element_errors import ULP_EDGES
from enginescope.analysis.errors.error_moments import HISTOGRAM_EDGES
from enginescope.analysis.validation.validation import ValidatedSide, Validation
from enginescope.core.jsonio import encode
from enginescope.render.accuracy.task_answer import task_data, task_samples_data
from enginescope.render.bisection.bisect_answer import bisect_data, precision_data


def output_diff_json(found: Validation) -> bytes:
    """Return what every output of every side comes to, over all samples."""
    return encode(output_diff_data(found))


def output_diff_data(found: Validation) -> dict[str, Any]:
    """Return the same before it is written."""
    return {
        "enginescope": __version__,
        "created": found.created,
        "command": found.command,
        "passes": found.passes,
        "reference": found.reference,
        "reference_note": found.reference_note,
        "num_samples": len(found.samples),
        "samples": found.samples,
        "num_skipped": len(found.skipped),
        "skipped": found.skipped,
        "inputs": found.inputs,
        "error_histogram_edges": HISTOGRAM_EDGES,
        "ulp_histogram_edges": ULP_EDGES,
        "sides": [_json_side(side) for side in found.sides],
        **({"task": task_data(found.task)} if found.task else {}),
        "notices": found.notices,
    }


def per_sample_json(found: Validation) -> bytes:
    """Return the figures of every sample, output and side."""
    return encode(
        {
            "reference": found.reference,
            "sides": [
                {
                    "side": side.label,
                    "samples": [_sample(each) for each in side.diff.samples] if side.diff else [],
                }
                for side in found.sides
            ],
            **({"task": task_samples_data(found.task)} if found.task else {}),
        }
    )


def _json_side(one: ValidatedSide) -> dict[str, Any]:
    diff = one.diff
    return {
        "side": one.label,
        "passes": one.passes,
        "tolerance": one.tolerance,
        "tolerance_why": one.tolerance_why,
        "failure": one.failure,
        "hint": one.hint,
        "suggested_map": one.suggested_pairs,
        "binding_differences": one.bindings,
        "worst": _sample(diff.worst) if diff and diff.worst else None,
        **({"bisect": bisect_data(one.inside)} if one.inside else {}),
        **({"precision": precision_data(one.precision)} if one.precision else {}),
        "outputs": [_output(each) for each in diff.outputs] if diff else [],
    }


def _output(one: OutputDiff) -> dict[str, Any]:
    ranks = one.ranks
    return {
        "name": one.name,
        "passes": one.passes,
        "reasons": one.reasons,
        "dtype": one.dtype,
        "reference_dtype": one.reference_dtype,
        "shapes": one.shapes,
        "samples": one.samples,
        **_json_figures(one.figures),
        "ranked_items": ranks.rows if ranks else None,
        "top1_agreement_pct": ranks.top1_pct if ranks else None,
        "top5_agreement_pct": ranks.top5_pct if ranks else None,
        "samples_nearer_to_another_reference": one.astray,
        "error_histogram": one.errors,
        "zero_errors": one.zero_errors,
        "ulp_histogram": one.ulps,
        "channels": one.channels,
        "expected_noise": one.expected_noise,
        "error_to_spread_limit": one.error_limit,
        "tolerance": one.tolerance,
        "notices": one.notices,
    }


def _sample(one: SampleDiff) -> dict[str, Any]:
    return {
        "sample": one.sample,
        "name": one.name,
        "output": one.output,
        "shape": one.shape,
        "breaks": one.reason,
        **_json_figures(one.figures),
    }


def _json_figures(figures: Any) -> dict[str, Any]:
    return dict(msgspec.to_builtins(figures)) if figures is not None else {}
