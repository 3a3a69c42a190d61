"""Comparisons of answers that a report carries: on its page, in its JSON and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from enginescope.analysis.validation.outputs_of_runs import answers_of_runs, run_label
from enginescope.analysis.validation.validation import Validation
from enginescope.core.record import Record
from enginescope.formats.tensors.output_diff_file import ForeignDifference
from enginescope.judge.notice import Notice
from enginescope.records.run.run import Run
from enginescope.render.accuracy.validate_phrases import WorstAnswer, answer, error_text
from enginescope.render.base.figures import Figures
from enginescope.render.html.images import Chart
from enginescope.render.validation.validate_page import facts_of
from enginescope.render.validation.validate_section import SideSection, side_section
from enginescope.render.validation.validate_writers import output_diff_data


class ReportedAnswers(Record, frozen=True, kw_only=True):
    """A comparison of answers that a report carries.

    Attributes:
        source: The file, or what it was made of.
        worst: Values of each side's worst sample, where they are at hand.
        foreign: What another tool found; nothing is judged.
    """

    source: str
    validation: Validation | None = None
    worst: tuple[WorstAnswer, ...] = ()
    foreign: tuple[ForeignDifference, ...] = ()

    @property
    def answer(self) -> str:
        """What it comes to, in one sentence."""
        if self.validation is not None:
            return answer(self.validation)
        return f"{len(self.foreign)} output{'' if len(self.foreign) == 1 else 's'}, not judged"


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


class AnswersSection(Record, frozen=True, kw_only=True):
    """One comparison on the report's page."""

    key: str
    answer: str
    facts: tuple[tuple[str, str], ...]
    notices: tuple[Notice, ...]
    sides: tuple[SideSection, ...]
    foreign: Figures | None

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Those of all sides."""
        return tuple(chart for side in self.sides for chart in side.charts)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Notices, and what is said of each side, without mark-up."""
        notices = (f"{notice.message} ({notice.code})" for notice in self.notices)
        return (*notices, *(text for side in self.sides for text in _said(side)))

    @property
    def tables(self) -> tuple[tuple[str | None, Figures], ...]:
        """Tables with the side that each is of, where there are several."""
        several = len(self.sides) > 1
        of_sides = [
            (side.answer if several else None, side.table)
            for side in self.sides
            if side.table is not None
        ]
        return (*of_sides, *(((None, self.foreign),) if self.foreign else ()))


def answers_sections(found: Sequence[ReportedAnswers]) -> tuple[AnswersSection, ...]:
    """Return what the page shows of each comparison."""
    return tuple(_section(f"answers-{at}", one) for at, one in enumerate(found, start=1))


def _section(key: str, one: ReportedAnswers) -> AnswersSection:
    validation = one.validation
    facts = (("From", one.source),)
    if validation is None:
        return AnswersSection(
            key=key,
            answer=one.answer,
            facts=facts,
            notices=(),
            sides=(),
            foreign=_foreign(one.foreign),
        )
    alone = len(validation.sides) == 1
    return AnswersSection(
        key=key,
        answer=one.answer,
        facts=(*facts_of(validation), *facts),
        notices=validation.notices,
        sides=tuple(
            side_section(f"{key}-side-{at}", side, one.worst, alone=alone)
            for at, side in enumerate(validation.sides, start=1)
        ),
        foreign=None,
    )


def _foreign(found: Sequence[ForeignDifference]) -> Figures:
    names = tuple(dict.fromkeys(name for one in found for name, _ in one.figures))
    rows = []
    for one in found:
        own = dict(one.figures)
        rows.append((one.output, *(error_text(own.get(name)) for name in names)))
    return Figures(
        caption="As another tool wrote it",
        headers=("Output", *names),
        rows=tuple(rows),
        numbers=tuple(range(1, len(names) + 1)),
    )


def answers_data(found: Sequence[ReportedAnswers]) -> list[dict[str, Any]]:
    """Return the comparisons for ``report.json``: as ``output_diff.json`` has them."""
    return [_data(one) for one in found]


def _data(one: ReportedAnswers) -> dict[str, Any]:
    if one.validation is not None:
        return {"source": one.source, **output_diff_data(one.validation)}
    outputs = [{"name": each.output, **dict(each.figures)} for each in one.foreign]
    return {"source": one.source, "passes": None, "outputs": outputs}


def _said(side: SideSection) -> list[str]:
    said = [f"{side.label}: limits of {side.limits}"]
    said += [f"{side.label}: {side.failure}"] if side.failure else []
    said += [f"{side.label}: {one}" for one in (*side.differences, *side.reasons)]
    return said
