"""A comparison of answers on the terminal: the answer, then the figures, then why."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.accuracy.output_diff import OutputDiff
from enginescope.analysis.validation.validation import ValidatedSide, Validation
from enginescope.render.accuracy.task_text import task_lines
from enginescope.render.accuracy.validate_labels import called_apart
from enginescope.render.accuracy.validate_phrases import (
    OUTPUT_HEADERS,
    answer,
    bindings_text,
    difference_text,
    limits_text,
    output_row,
    reason_texts,
    side_answer,
    suggestion_texts,
    worst_text,
)
from enginescope.render.base.phrases import shorten
from enginescope.render.base.text import label_row, notice_lines, table
from enginescope.render.bisection.bisect_text import bisect_lines
from enginescope.render.bisection.precision_text import precision_lines

_NARROW = 76
_LEAST_NAME = 12
_FIGURE_COLUMNS = 54


def validate_text(
    found: Validation, *, width: int = 80, files: str | None = None
) -> RenderableType:
    """Return the screen.

    Args:
        files: Folder of the files that were written.
    """
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
    where = f"files: {files}" if files else "files and a page: --output DIR"
    return Group(*_single_spaced([*lines, Text(), Text(f"  {where}")]))


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
    if width < _NARROW:  # the mean says least
        at = headers.index("mean |err|")
        headers.pop(at)
        rows = [[*row[:at], *row[at + 1 :]] for row in rows]
    room = max(_LEAST_NAME, width - _FIGURE_COLUMNS - (9 if with_ranks else 0))
    rows = [[shorten(row[0], room), *row[1:]] for row in rows]
    return [Text(), table(headers, rows, right=tuple(headers[2:])), Text()]
