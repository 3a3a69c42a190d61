"""One side of a comparison of answers on a page: why it fails, its figures, maps and charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.analysis.accuracy.output_diff import OutputDiff
from enginescope.analysis.validation.validation import ValidatedSide
from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.render.accuracy.answer_errors import (
    channel_errors,
    error_histogram,
    sample_errors,
    ulp_histogram,
    value_pairs,
)
from enginescope.render.accuracy.validate_phrases import (
    OUTPUT_HEADERS,
    Panels,
    WorstAnswer,
    difference_text,
    error_text,
    limits_text,
    output_row,
    panels_of,
    reason_texts,
    side_answer,
    suggestion_texts,
    worst_text,
)
from enginescope.render.base.figures import UNKNOWN, Figures, figure
from enginescope.render.bisection.bisect_section import InsideSection, inside_section
from enginescope.render.html.images import Chart

#: Outputs of a side that are drawn, those that fail first.
_MOST_DRAWN = 6


class SideSection(Record, frozen=True, kw_only=True):
    """One side on the page."""

    anchor: str
    label: str
    answer: str
    limits: str
    passes: bool
    differences: tuple[str, ...]
    reasons: tuple[str, ...]
    every_reason: tuple[str, ...]
    failure: str | None
    worst: str | None
    table: Figures | None
    more: Figures | None
    charts: tuple[Chart, ...]
    panels: tuple[Panels, ...]
    notices: tuple[Notice, ...]
    undrawn: int
    inside: InsideSection | None


def side_section(
    key: str, side: ValidatedSide, worst: Sequence[WorstAnswer], *, alone: bool
) -> SideSection:
    """Return what the page shows of a side.

    Args:
        key: Of its anchor and its charts; no other's.
        worst: Values of each side's worst sample, where they are known; further outputs of it after
            that.
        alone: Whether there is no other side: the page's title is the side's answer then.
    """
    diff = side.diff
    outputs = diff.outputs if diff else ()
    drawn = sorted(outputs, key=lambda one: one.passes)[:_MOST_DRAWN]
    own = [one for one in worst if one.side == side.label]
    panels = [panels_of(one) for one in own]
    return SideSection(
        anchor=key,
        label=side.label,
        answer="Outputs" if alone else side_answer(side),
        limits=limits_text(side),
        passes=side.passes,
        differences=tuple(difference_text(binding) for binding in side.bindings),
        reasons=(
            *(text for output in outputs for text in reason_texts(output)),
            *suggestion_texts(side),
        ),
        every_reason=tuple(
            f"{output.name}: {reason.message} ({reason.code})"
            for output in outputs
            for reason in output.reasons
        ),
        failure="; try: ".join(filter(None, (side.failure, side.hint))) or None,
        worst=worst_text(diff) if diff else None,
        table=_table(outputs) if outputs else None,
        more=_more(outputs) if outputs else None,
        charts=tuple(_charts(key, side, drawn, own)),
        panels=tuple(panel for panel in panels if panel is not None),
        notices=tuple(notice for output in outputs for notice in output.notices),
        undrawn=len(outputs) - len(drawn),
        inside=inside_section(side.inside, key, side.precision) if side.inside else None,
    )


def _charts(
    key: str, side: ValidatedSide, drawn: Sequence[OutputDiff], worst: Sequence[WorstAnswer]
) -> Iterator[Chart]:
    made: list[Chart | None] = []
    made += [value_pairs(one, f"{key}-values") for one in worst[:1]]
    if side.diff is not None:
        made.append(sample_errors(side.diff, f"{key}-samples"))
    for n, one in enumerate(drawn):
        own = f"{key}-o{n}"
        made += [
            error_histogram(one, f"{own}-errors"),
            ulp_histogram(one, f"{own}-ulps"),
            channel_errors(one, f"{own}-channels"),
        ]
    yield from (one for one in made if one is not None)


def _table(outputs: Sequence[OutputDiff]) -> Figures:
    return Figures(
        caption="Outputs against the reference",
        headers=OUTPUT_HEADERS,
        rows=tuple(output_row(output) for output in outputs),
        numbers=tuple(range(2, len(OUTPUT_HEADERS))),
    )


def _beyond_header(outputs: Sequence[OutputDiff]) -> str:
    percents = sorted({output.tolerance.percent for output in outputs})
    return f"Rel. error > {', '.join(f'{percent:g} %' for percent in percents)}, %"


def _more(outputs: Sequence[OutputDiff]) -> Figures:
    rows = []
    for output in outputs:
        found = output.figures
        if found is None:
            continue
        where = UNKNOWN
        if found.max_abs_index is not None:
            where = f"{list(found.max_abs_index)} of sample {found.max_abs_sample}"
        rows.append(
            (
                output.name,
                output.dtype.value if output.dtype else UNKNOWN,
                f"{found.elements:,}",
                where,
                error_text(found.max_rel_error),
                error_text(found.rmse),
                error_text(found.bias),
                error_text(found.beyond_pct),
                error_text(found.slope),
                figure(found.snr_db, 4),
                figure(found.psnr_db, 4),
                f"{found.nan:,}",
                f"{found.infinite:,}",
                error_text(found.mismatch_pct),
                figure(output.ranks.top5_pct if output.ranks else None, 4),
            )
        )
    return Figures(
        caption="More of each output",
        headers=(
            "Output",
            "Type",
            "Elements",
            "Largest error at",
            "Max rel. error",
            "RMSE",
            "Bias",
            _beyond_header(outputs),
            "Slope",
            "SNR dB",
            "PSNR dB",
            "NaN",
            "Inf",
            "Mismatch %",
            "Top-5 %",
        ),
        rows=tuple(rows),
        numbers=(2, *range(4, 15)),
    )
