"""A comparison of answers with its sides called by what differs."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from enginescope.analysis.tasks.task_report import TaskReport
from enginescope.analysis.validation.validation import Validation
from enginescope.render.base.shared_options import told_apart


def called_apart(found: Validation) -> tuple[Validation, str | None]:
    """Return a comparison for tables, and the options that its sides' names leave out.

    Files and headings have the names whole. Of a single side nothing is left out.
    """
    labels = [side.label for side in found.sides]
    apart = told_apart(labels)
    if apart.shared is None:
        return found, None
    short = dict(zip(labels, apart.labels, strict=True))
    sides = tuple(replace(side, label=short[side.label]) for side in found.sides)
    task = _scored(found.task, short) if found.task else None
    return replace(found, sides=sides, task=task), apart.shared


def _scored(report: TaskReport, short: Mapping[str, str]) -> TaskReport:
    sides = (replace(side, label=short.get(side.label, side.label)) for side in report.sides)
    return replace(report, sides=tuple(sides))
