"""A comparison of answers on the terminal: the answer, then the figures, then why."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.output_diff import OutputDiff
from enginescope.analysis.validation import ValidatedSide, Validation
from enginescope.render.bisect_text import bisect_lines
from enginescope.render.phrases import shorten
from enginescope.render.precision_text import precision_lines
from enginescope.render.task_text import task_lines
from enginescope.render.text import label_row, notice_lines, table
from enginescope.render.validate_labels import called_apart
from enginescope.render.validate_phrases import (
    answer,
    bindings_text,
    difference_text,
    limits_text,
    output_row,
    reason_texts,
    side_answer,
    worst_text,
)

_NARROW = 76
_LEAST_NAME = 12
_FIGURE_COLUMNS = 54


def validate_text(
    found: Validation, *, width: int = 80, files: str | None = None
) -> RenderableType:
    """Return the screen.

    Parameters
    ----------
    files : str, optional
        Folder of the files that were written.
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
    for one in lines:
        is_empty = isinstance(one, Text) and not one.plain
        if not (is_empty and kept and isinstance(kept[-1], Text) and not kept[-1].plain):
            kept.append(one)
    return kept


def _samples(found: Validation) -> str:
    names = found.samples
    if len(names) <= 3:
        return f"{len(names):,}: {'; '.join(names)}"
    return f"{len(names):,}: {names[0]} … {names[-1]}"


def _side(side: ValidatedSide, width: int, *, alone: bool) -> list[RenderableType]:
    head = side.label if alone else side_answer(side)
    lines: list[RenderableType] = [Text(head, style="" if alone else "bold")]
    lines.append(label_row("limits", limits_text(side)))
    lines += [label_row("differs", difference_text(one)) for one in side.bindings]
    if side.failure:
        lines.append(label_row("failed", side.failure))
    if side.diff is None:
        return lines
    lines += _figures(side.diff.outputs, width)
    for one in side.diff.outputs:
        lines += [label_row("✗", text) for text in reason_texts(one)]
    worst = worst_text(side.diff) if side.diff.samples and not alone_sample(side) else None
    lines += [label_row("worst", worst)] if worst else []
    notices = [notice for one in side.diff.outputs for notice in one.notices]
    lines += notice_lines(notices)
    if side.inside is None:
        return lines
    lines += [*([] if notices else [Text()]), *bisect_lines(side.inside, width=width)]
    return [*lines, *precision_lines(side.precision, width=width)] if side.precision else lines


def alone_sample(side: ValidatedSide) -> bool:
    """Whether there is but one sample, which is then the worst and the best."""
    return side.diff is not None and len({one.sample for one in side.diff.samples}) == 1


def _figures(outputs: tuple[OutputDiff, ...], width: int) -> list[RenderableType]:
    with_ranks = any(one.ranks for one in outputs)
    headers = ["output", "", "max |err|", "mean |err|", "err ÷ spread", "cosine", "top-1 %"]
    rows = [list(output_row(one)) for one in outputs]
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
