"""The answer of a comparison of outputs: for terminal, Markdown, page, JSON and reports."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from enginescope._version import __version__
from enginescope.analysis.accuracy.output_diff import OutputDiff, SampleDiff
from enginescope.analysis.errors.element_errors import ULP_EDGES
from enginescope.analysis.errors.error_moments import HISTOGRAM_EDGES
from enginescope.analysis.validation.validation import (
    ValidatedSide,
    Validation,
    answers_of_runs,
    run_label,
)
from enginescope.core.jsonio import encode
from enginescope.core.record import Record, replace
from enginescope.formats.tensors.output_diff_file import ForeignDifference
from enginescope.judge.units import counted
from enginescope.records.run.run import Run
from enginescope.render.accuracy.compared_outputs import (
    MOST_DRAWN,
    WorstAnswer,
    answer,
    bindings_text,
    called_apart,
    cosine_text,
    difference_text,
    error_text,
    limits_text,
    output_charts,
    panels_of,
    reason_texts,
    side_answer,
    worst_text,
)
from enginescope.render.accuracy.task_answer import task_data, task_part, task_samples_data
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.figures import UNKNOWN, TextTable, figure
from enginescope.render.bisection import bisect_answer as bisection
from enginescope.render.html.answer_page import Answer, Part

#: Samples above which the page does not carry the figures of each.
_MOST_CARRIED = 500


def validate_answer(found: Validation, worst: Sequence[WorstAnswer] = ()) -> Answer:
    """Return the answer, what was compared, the task's figures, and a part for each side.

    Args:
        worst: Values of each side's worst sample, for a page.
    """
    told, shared = called_apart(found)
    sides = _side_parts("", found.sides, told.sides, worst)
    document = output_diff_json(found)
    is_carried = len(found.samples) <= _MOST_CARRIED
    again = f"{found.command or 'enginescope validate …'} --bisect"
    left_out = f"per_sample_diff.json has more than {_MOST_CARRIED} samples; --output writes it."
    is_open = any(side.diff and not side.passes and not side.inside for side in found.sides)
    is_open = is_open and again.count(" --bisect") == 1
    after = f"find where the error starts: {again}" if is_open else None
    made = found.created and f"{found.created[:19].replace('T', ' ')} UTC"
    return Answer(
        verb="validate",
        title=answer(told),
        report=found,
        document=document,
        answer=answer(told),
        begins_with_name=True,
        fails=not found.passes,
        facts=(
            *_why(found.sides),
            *stated(("next", after)),
            *validation_facts(found),
            *stated(("sides", shared), ("made", None if found.command else made)),
        ),
        tables=(_overview(told),) if len(sides) > 1 else (),
        notices=found.notices,
        parts=(*((task_part(told.task),) if told.task else ()), *sides),
        command=found.command and (f"{found.command}  # {made}" if made else found.command),
        files={
            "output_diff.json": document,
            **({"per_sample_diff.json": per_sample_json(found)} if is_carried else {}),
        },
        left_out=() if is_carried else (left_out,),
    )


def _why(sides: Sequence[ValidatedSide], name: str = "why") -> Iterator[tuple[str, str]]:
    """Yield why the only side fails; nothing of several."""
    for side in sides if len(sides) == 1 else ():
        yield from stated((name, side.failure), ("next", side.failure and side.hint))
        for output in side.diff.outputs if side.diff else ():
            yield from ((name, text) for text in reason_texts(output))


def validation_facts(found: Validation) -> tuple[tuple[str, str], ...]:
    """Return what the outputs were compared with, and on which samples."""
    names, note = found.samples, found.reference_note
    listed = "; ".join(names) if len(names) <= 3 else f"{names[0]} … {names[-1]}"
    skipped = f"; {len(found.skipped):,} skipped" if found.skipped else ""
    return stated(
        ("reference" if found.sides else "model", found.reference + (f"; {note}" if note else "")),
        ("samples", f"{len(names):,}: {listed}{skipped}"),
        ("bindings", bindings_text(found) if found.sides and found.inputs else None),
    )


def _side_parts(
    key: str,
    whole: Sequence[ValidatedSide],
    sides: Sequence[ValidatedSide],
    worst: Sequence[WorstAnswer],
) -> tuple[Part, ...]:
    """Return the parts of sides; `worst` names them as `whole` does."""
    is_alone, parts = len(sides) == 1, []
    for at, (own, side) in enumerate(zip(whole, sides, strict=True), 1):
        of_side = [sample for sample in worst if sample.side == own.label]
        parts.append(side_part(f"{key}side-{at}", side, of_side, is_alone=is_alone))
    return tuple(parts)


def side_part(
    key: str, side: ValidatedSide, worst: Sequence[WorstAnswer], *, is_alone: bool
) -> Part:
    """Return what is found of a side: why it fails, its figures, and where its error starts.

    Args:
        key: Of its anchor and its charts; no other's.
        worst: Values of its worst sample, where they are known; further outputs of it after that.
        is_alone: Whether there is no other side: the whole answer is the side's then.
    """
    diff, inside, kept = side.diff, side.inside, side.precision
    outputs = diff.outputs if diff else ()
    has_samples = diff is not None and len({sample.sample for sample in diff.samples}) > 1
    renamed = [
        f"same shape, nearest values (err ÷ spread {error_text(pair.error_to_spread)}); to compare "
        f"them: --map {pair.side}={pair.reference}"
        for pair in side.suggested_pairs
    ]
    drawn = f"of {MOST_DRAWN} outputs, those that fail first" if len(outputs) > MOST_DRAWN else None
    return Part(
        key=key,
        title=side.label,
        answer=side.label if is_alone else side_answer(side),
        facts=(
            ("limits", limits_text(side)),
            *(("differs", difference_text(binding)) for binding in side.bindings),
            *(() if is_alone else _why([side], "fails")),
            *(("renamed?", text) for text in renamed),
            *stated(
                ("worst", worst_text(diff) if diff and has_samples else None), ("pictures", drawn)
            ),
        ),
        tables=tuple(_tables(outputs)),
        notices=tuple(notice for output in outputs for notice in output.notices),
        parts=(
            *((bisection.inside_part(inside, key),) if inside else ()),
            *((bisection.precision_part(kept, key),) if kept and inside else ()),
        ),
        charts=tuple(output_charts(key, diff, worst)) if diff else (),
        panels=tuple(filter(None, map(panels_of, worst))),
    )


def _tables(outputs: Sequence[OutputDiff]) -> Iterator[TextTable]:
    """Yield the figures of outputs, then what is of interest less often."""
    if not outputs:
        return
    figures = ("max |err|", "mean |err|", "err ÷ spread", "limit", "cosine", "top-1 %")
    yield TextTable(
        title="err ÷ spread: RMSE ÷ the standard deviation of the reference",
        headers=("output", "", *figures),
        rows=tuple(map(_row, outputs)),
        numbers=figures,
        shortened={"output": 0},
        spared=("mean |err|",),
    )
    reasons = [(output.name, one.message, one.code) for output in outputs for one in output.reasons]
    if len(reasons) > sum(len(reason_texts(output)) for output in outputs):
        title = f"Every limit that does not hold ({len(reasons)})"
        headers = ("output", "why", "limit")
        yield TextTable(
            title=title, headers=headers, rows=tuple(reasons), sentences=("why",), is_detail=True
        )
    yield _more_figures([output for output in outputs if output.figures is not None])


def _row(one: OutputDiff) -> tuple[str, ...]:
    mark, found = "ok" if one.passes else "✗", one.figures
    if found is None:
        return (one.name, mark, *[UNKNOWN] * 6)
    errors = (found.max_abs_error, found.mean_abs_error, found.error_to_spread, one.error_limit)
    top1 = figure(one.ranks.top1_pct if one.ranks else None, 3)
    return (one.name, mark, *map(error_text, errors), cosine_text(found.cosine), top1)


def _more_figures(outputs: Sequence[OutputDiff]) -> TextTable:
    percents = ", ".join(f"{one:g} %" for one in sorted({one.tolerance.percent for one in outputs}))
    headers = (
        *("output", "type", "elements", "largest error at", "max rel. error", "RMSE", "bias"),
        *(f"rel. error > {percents}, %", "slope", "SNR dB", "PSNR dB", "NaN", "Inf"),
        *("mismatch %", "top-5 %"),
    )
    return TextTable(
        title="More of each output",
        headers=headers,
        rows=tuple(
            (
                one.name,
                one.dtype.value if one.dtype else UNKNOWN,
                f"{found.elements:,}",
                f"{list(place)} of sample {found.max_abs_sample}" if place is not None else UNKNOWN,
                *map(error_text, (found.max_rel_error, found.rmse, found.bias)),
                *map(error_text, (found.beyond_pct, found.slope)),
                *(figure(value, 4) for value in (found.snr_db, found.psnr_db)),
                *(f"{count:,}" for count in (found.nan, found.infinite)),
                error_text(found.mismatch_pct),
                figure(one.ranks.top5_pct if one.ranks else None, 4),
            )
            for one in outputs
            if (found := one.figures) is not None
            for place in (found.max_abs_index,)
        ),
        numbers=(headers[2], *headers[4:]),
        is_detail=True,
    )


def _overview(found: Validation) -> TextTable:
    rows = []
    for side in found.sides:
        mark = "ok" if side.passes else "no outputs" if side.failure else "✗"
        worst = side.diff.worst if side.diff else None
        one = worst.figures if worst else None
        errors = (one.max_abs_error, one.error_to_spread) if one else (None, None)
        texts = (*map(error_text, errors), cosine_text(one.cosine if one else None))
        output = worst.output if worst else UNKNOWN
        rows.append((side.label, mark, side.tolerance, output, *texts))
    headers = ("side", "", "limits", "output", "max |err|", "err ÷ spread", "cosine")
    return TextTable(
        title="Sides, each with the output and sample farthest from the reference",
        headers=headers,
        rows=tuple(rows),
        numbers=headers[4:],
        shortened={"side": 0, "output": 16},
        spared=("limits", "output", "max |err|"),
    )


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
    diff, names = one.diff, ("passes", "tolerance", "tolerance_why", "failure", "hint")
    return {
        "side": one.label,
        **{name: getattr(one, name) for name in names},
        "suggested_map": one.suggested_pairs,
        "binding_differences": one.bindings,
        "worst": _sample(diff.worst) if diff and diff.worst else None,
        **({"bisect": bisection.bisect_data(one.inside)} if one.inside else {}),
        **({"precision": bisection.precision_data(one.precision)} if one.precision else {}),
        "outputs": [_output(each) for each in diff.outputs] if diff else [],
    }


def _output(one: OutputDiff) -> dict[str, Any]:
    ranks = one.ranks
    names = ("name", "passes", "reasons", "dtype", "reference_dtype", "shapes", "samples")
    return {
        **{name: getattr(one, name) for name in names},
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
    own = {name: getattr(one, name) for name in ("sample", "name", "output", "shape")}
    return {**own, "breaks": one.reason, **_json_figures(one.figures)}


def _json_figures(figures: Any) -> dict[str, Any]:
    return dict(msgspec.to_builtins(figures)) if figures is not None else {}


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
        if one is not None and one.figures is not None:
            values = {
                role: next(values for values in by_label[label] if values.name == one.output)
                for role, label in (("reference", found.reference), ("candidate", side.label))
            }
            worst.append(WorstAnswer(side=side.label, sample=0, name=one.name, **values))
    source = "the outputs that the runs kept"
    return ReportedAnswers(source=source, validation=found, worst=tuple(worst))


def answers_parts(found: Sequence[ReportedAnswers]) -> Iterator[Part]:
    """Yield what a report says of each comparison."""
    for at, one in enumerate(found, start=1):
        key, title, validation = f"answers-{at}", "Outputs compared", one.validation
        names = tuple(dict.fromkeys(name for diff in one.foreign for name, _ in diff.figures))
        owns = [(diff.output, dict(diff.figures)) for diff in one.foreign]
        rows = tuple((name, *map(error_text, map(own.get, names))) for name, own in owns)
        foreign = TextTable(
            title="As another tool wrote it", headers=("output", *names), rows=rows, numbers=names
        )
        part = Part(
            key=key,
            title=title,
            label=title,
            answer=f"{counted(len(one.foreign), 'output')}, not judged",
            facts=(("from", one.source),),
            tables=(foreign,),
        )
        if validation is not None:
            part = replace(
                part,
                answer=answer(validation),
                facts=(*_why(validation.sides), *validation_facts(validation), *part.facts),
                tables=(),
                notices=validation.notices,
                parts=_side_parts(f"{key}-", validation.sides, validation.sides, one.worst),
            )
        yield part


def answers_data(found: Sequence[ReportedAnswers]) -> list[dict[str, Any]]:
    """Return the comparisons for ``report.json``: as ``output_diff.json`` has them."""
    made: list[dict[str, Any]] = []
    for one in found:
        outputs = [{"name": each.output, **dict(each.figures)} for each in one.foreign]
        data = output_diff_data(one.validation) if one.validation is not None else None
        made.append({"source": one.source, **(data or {"passes": None, "outputs": outputs})})
    return made
