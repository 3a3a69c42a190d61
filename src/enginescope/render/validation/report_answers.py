"""Comparisons of outputs that a report carries: on its page, in its JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from enginescope.analysis.validation.outputs_of_runs import answers_of_runs, run_label
from enginescope.analysis.validation.validation import Validation
from enginescope.core.record import Record
from enginescope.formats.tensors.output_diff_file import ForeignDifference
from enginescope.judge.units import counted
from enginescope.records.run.run import Run
from enginescope.render.accuracy.validate_phrases import WorstAnswer, answer, error_text
from enginescope.render.base.figures import TextTable
from enginescope.render.html.answer_page import Part
from enginescope.render.validation.validate_answer import (
    output_diff_data,
    side_part,
    validation_facts,
)


class ReportedAnswers(Record, frozen=True, kw_only=True):
    """A comparison of outputs that a report carries.

    Attributes:
        source: The file, or what it was made of.
        worst: Values of each side's worst sample, where they are at hand.
        foreign: What another tool found; nothing is judged.
    """

    source: str
    validation: Validation | None = None
    worst: tuple[WorstAnswer, ...] = ()
    foreign: tuple[ForeignDifference, ...] = ()


def answers_kept(runs: Sequence[Run]) -> ReportedAnswers | None:
    """Return the comparison of the outputs that runs kept; ``None`` for fewer than two."""
    found = answers_of_runs(runs)
    if found is None:
        return None
    by_label = {run_label(run): run.answers for run in runs}
    worst = []
    for side in found.sides:
        one = side.diff.worst if side.diff else None
        if one is None or one.figures is None:
            continue
        reference, candidate = (
            next(values for values in by_label[label] if values.name == one.output)
            for label in (found.reference, side.label)
        )
        worst.append(
            WorstAnswer(
                side=side.label, sample=0, name=one.name, reference=reference, candidate=candidate
            )
        )
    return ReportedAnswers(
        source="the outputs that the runs kept", validation=found, worst=tuple(worst)
    )


def answers_parts(found: Sequence[ReportedAnswers]) -> Iterator[Part]:
    """Yield what a report says of each comparison."""
    for at, one in enumerate(found, start=1):
        key, title, source = f"answers-{at}", "Outputs compared", ("from", one.source)
        validation = one.validation
        if validation is None:
            yield Part(
                key=key,
                title=title,
                label=title,
                answer=f"{counted(len(one.foreign), 'output')}, not judged",
                facts=(source,),
                tables=(_foreign(one.foreign),),
            )
            continue
        is_alone = len(validation.sides) == 1
        sides = (
            side_part(
                f"{key}-side-{number}",
                side,
                [worst for worst in one.worst if worst.side == side.label],
                is_alone=is_alone,
            )
            for number, side in enumerate(validation.sides, start=1)
        )
        yield Part(
            key=key,
            title=title,
            label=title,
            answer=answer(validation),
            facts=(*validation_facts(validation), source),
            notices=validation.notices,
            parts=tuple(sides),
        )


def _foreign(found: Sequence[ForeignDifference]) -> TextTable:
    names = tuple(dict.fromkeys(name for one in found for name, _ in one.figures))
    rows = []
    for one in found:
        own = dict(one.figures)
        rows.append((one.output, *(error_text(own.get(name)) for name in names)))
    return TextTable(
        title="As another tool wrote it",
        headers=("output", *names),
        rows=tuple(rows),
        numbers=names,
    )


def answers_data(found: Sequence[ReportedAnswers]) -> list[dict[str, Any]]:
    """Return the comparisons for ``report.json``: as ``output_diff.json`` has them."""
    return [_data(one) for one in found]


def _data(one: ReportedAnswers) -> dict[str, Any]:
    if one.validation is not None:
        return {"source": one.source, **output_diff_data(one.validation)}
    outputs = [{"name": each.output, **dict(each.figures)} for each in one.foreign]
    return {"source": one.source, "passes": None, "outputs": outputs}
