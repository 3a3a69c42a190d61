"""Writers of a comparison of outputs: terminal and JSON."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from enginescope._version import __version__
from enginescope.analysis.accuracy.output_diff import OutputDiff, SampleDiff
from enginescope.analysis.errors.element_errors import ULP_EDGES
from enginescope.analysis.errors.error_moments import HISTOGRAM_EDGES
from enginescope.analysis.validation.validation import ValidatedSide, Validation
from enginescope.core.jsonio import encode
from enginescope.render.accuracy.task_writers import task_data, task_lines, task_samples_data
from enginescope.render.accuracy.validate_phrases import (
    OUTPUT_HEADERS,
    answer,
    bindings_text,
    called_apart,
    difference_text,
    limits_text,
    output_row,
    reason_texts,
    side_answer,
    suggestion_texts,
    worst_text,
)
from enginescope.render.base.figures import TextTable
from enginescope.render.base.short_names import column_apart
from enginescope.render.base.text import label_row, notice_lines, table
from enginescope.render.bisection.bisect_writers import (
    bisect_data,
    bisect_lines,
    precision_data,
    precision_lines,
)
from enginescope.render.html.answer_page import Answer

_MEAN_COLUMNS = 12
_LEAST_NAME = 12
_FIGURE_COLUMNS = 64


def validate_text(found: Validation, *, width: int = 80) -> RenderableType:
    """Return the screen."""
    found, shared = called_apart(found)
    lines: list[RenderableType] = [Text(answer(found), style="bold"), Text()]
    lines.append(label_row("reference" if found.sides else "model", found.reference))
    if found.reference_note:
        lines.append(label_row("", found.reference_note))
    lines.append(label_row("samples", _samples(found)))
    if found.sides:
        lines.append(label_row("bindings", bindings_text(found)))
    lines += [label_row("sides", shared)] if shared else []
    for side in found.sides:
        lines += [Text(), *_side(side, width, alone=len(found.sides) == 1)]
    if found.task is not None:
        lines += [Text(), *task_lines(found.task, width=width)]
    lines += [Text(), *notice_lines(found.notices)] if found.notices else []
    return Group(*_single_spaced([*lines, Text()]))


def validate_answer(found: Validation) -> Answer:
    """Return the answer, what was compared, and every output with the reasons of failures."""
    told, shared = called_apart(found)
    rows: list[tuple[str, ...]] = []
    for side in told.sides:
        if side.diff is None:
            why = "; try: ".join(filter(None, (side.failure, side.hint)))
            why = why or "the models have different inputs"
            rows.append((side.label, "", "✗", *[""] * len(OUTPUT_HEADERS[2:]), why))
        rows += [
            (side.label, *output_row(output), "; ".join(reason_texts(output)))
            for output in (side.diff.outputs if side.diff else ())
        ]
    table = TextTable(
        title="Outputs",
        headers=("side", *OUTPUT_HEADERS, "why"),
        rows=tuple(rows),
        numbers=OUTPUT_HEADERS[2:],
        note="; ".join(text for side in told.sides for text in suggestion_texts(side)) or None,
    )
    note = f": {found.reference_note}" if found.reference_note else ""
    return Answer(
        verb="validate",
        title="Validation",
        report=found,
        answer=answer(found),
        facts=(
            ("reference" if found.sides else "model", f"{found.reference}{note}"),
            ("samples", _samples(found)),
            *((("sides", shared),) if shared else ()),
            *((f"limits of {side.label}", limits_text(side)) for side in told.sides),
        ),
        tables=(table,) if rows else (),
        notices=found.notices,
    )


def _single_spaced(lines: list[RenderableType]) -> list[RenderableType]:
    """Return the lines with no more than one empty one at a time."""
    kept: list[RenderableType] = []
    for line in lines:
        is_empty = isinstance(line, Text) and not line.plain
        if not (is_empty and kept and isinstance(kept[-1], Text) and not kept[-1].plain):
            kept.append(line)
    return kept


def _samples(found: Validation) -> str:
    names = found.samples
    listed = "; ".join(names) if len(names) <= 3 else f"{names[0]} … {names[-1]}"
    skipped = f"; {len(found.skipped):,} skipped" if found.skipped else ""
    return f"{len(names):,}: {listed}{skipped}"


def _side(side: ValidatedSide, width: int, *, alone: bool) -> list[RenderableType]:
    head = side.label if alone else side_answer(side)
    lines: list[RenderableType] = [Text(head, style="" if alone else "bold")]
    lines.append(label_row("limits", limits_text(side)))
    lines += [label_row("differs", difference_text(binding)) for binding in side.bindings]
    if side.failure:
        lines.append(label_row("failed", side.failure))
        lines += [label_row("try", side.hint)] if side.hint else []
    if side.diff is None:
        return lines
    lines += _figures(side.diff.outputs, width)
    for output in side.diff.outputs:
        lines += [label_row("✗", text) for text in reason_texts(output)]
    lines += [label_row("renamed?", text) for text in suggestion_texts(side)]
    worst = worst_text(side.diff) if side.diff.samples and not alone_sample(side) else None
    lines += [label_row("worst", worst)] if worst else []
    notices = [notice for output in side.diff.outputs for notice in output.notices]
    lines += notice_lines(notices)
    if side.inside is None:
        return lines
    lines += [*([] if notices else [Text()]), *bisect_lines(side.inside, width=width)]
    return [*lines, *precision_lines(side.precision, width=width)] if side.precision else lines


def alone_sample(side: ValidatedSide) -> bool:
    """Whether there is but one sample, which is then the worst and the best."""
    return side.diff is not None and len({sample.sample for sample in side.diff.samples}) == 1


def _figures(outputs: tuple[OutputDiff, ...], width: int) -> list[RenderableType]:
    with_ranks = any(output.ranks for output in outputs)
    headers = list(OUTPUT_HEADERS)
    rows = [list(output_row(output)) for output in outputs]
    if not with_ranks:
        headers.pop()
        rows = [row[:-1] for row in rows]
    room = width - _FIGURE_COLUMNS - (9 if with_ranks else 0)
    if room < _LEAST_NAME:  # the mean says least
        at = headers.index("mean |err|")
        headers.pop(at)
        rows = [[*row[:at], *row[at + 1 :]] for row in rows]
        room += _MEAN_COLUMNS
    found = column_apart(rows, 0, max(_LEAST_NAME, room))
    return [Text(), table(headers, found, right=tuple(headers[2:])), Text()]


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
