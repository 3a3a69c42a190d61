"""A comparison of answers as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from enginescope._version import __version__
from enginescope.analysis.output_diff import OutputDiff
from enginescope.analysis.validation import ValidatedSide, Validation
from enginescope.core.record import Record
from enginescope.model.notice import Notice
from enginescope.render.answer_panels import Panels, WorstAnswer, panels_of
from enginescope.render.bisect_section import InsideSection, inside_section
from enginescope.render.charts.answer_errors import (
    channel_errors,
    error_histogram,
    sample_errors,
    ulp_histogram,
    value_pairs,
)
from enginescope.render.charts.spec import Chart
from enginescope.render.figures import UNKNOWN, Figures, figure
from enginescope.render.page_frame import chart_themes, content_policy, page_template, script_json
from enginescope.render.validate_data import output_diff_json, per_sample_json
from enginescope.render.validate_phrases import (
    answer,
    bindings_text,
    cosine_text,
    difference_text,
    error_text,
    side_answer,
    worst_text,
)
from enginescope.render.vendored import licences, scripts, style

#: Outputs of a side that are drawn, those that fail first.
_MOST_DRAWN = 6
#: Samples above which the page does not carry the figures of each.
_MOST_CARRIED = 500


class SideSection(Record, frozen=True, kw_only=True):
    """One side on the page."""

    anchor: str
    label: str
    answer: str
    limits: str
    passes: bool
    differences: tuple[str, ...]
    reasons: tuple[str, ...]
    failure: str | None
    worst: str | None
    table: Figures | None
    more: Figures | None
    charts: tuple[Chart, ...]
    panels: tuple[Panels, ...]
    notices: tuple[Notice, ...]
    undrawn: int
    inside: InsideSection | None


def validate_page(found: Validation, worst: Sequence[WorstAnswer]) -> bytes:
    """Return the page.

    Parameters
    ----------
    worst : sequence of WorstAnswer
        Values of each side's worst sample.
    """
    alone = len(found.sides) == 1
    sides = [_section(at, one, worst, alone=alone) for at, one in enumerate(found.sides)]
    files = {"output_diff.json": output_diff_json(found).decode()}
    if len(found.samples) <= _MOST_CARRIED:
        files["per_sample_diff.json"] = per_sample_json(found).decode()
    charts = [chart for one in sides for chart in one.charts]
    charts += [chart for one in sides if one.inside for chart in one.inside.charts]
    parts = scripts()
    data = {
        "charts": {f"chart-{one.key}": one.complete(titled=False) for one in charts},
        "tables": {},
        "files": files,
        "themes": chart_themes(),
    }
    template = page_template("validate.html.j2")
    return template.render(
        title=answer(found),
        answer=answer(found),
        passes=found.passes,
        facts=_facts(found),
        sides=sides,
        notices=found.notices,
        files={name: len(text) for name, text in files.items()},
        left_out=[]
        if len(files) > 1
        else [f"per_sample_diff.json has more than {_MOST_CARRIED} samples; it lies beside."],
        command=found.command,
        policy=content_policy([one.csp_source for one in parts]),
        style=Markup(style("compare.css", "validate.css")),  # noqa: S704 - ours
        scripts=[Markup(one.text) for one in parts],  # noqa: S704 - ours and vendored
        data=script_json(data),
        licences=licences(),
        version=__version__,
    ).encode()


def _facts(found: Validation) -> tuple[tuple[str, str], ...]:
    names = found.samples
    shown = "; ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]}"
    rows = [
        ("Reference", found.reference),
        ("", found.reference_note or ""),
        ("Samples", f"{len(names):,}: {shown}"),
        ("Bindings", bindings_text(found)),
        ("Made", found.created or ""),
    ]
    return tuple(row for row in rows if row[1])


def _section(
    at: int, side: ValidatedSide, worst: Sequence[WorstAnswer], *, alone: bool
) -> SideSection:
    diff = side.diff
    outputs = diff.outputs if diff else ()
    drawn = sorted(outputs, key=lambda one: one.passes)[:_MOST_DRAWN]
    own = [one for one in worst if one.side == side.label]
    panels = [panels_of(one) for one in own]
    return SideSection(
        anchor=f"side-{at + 1}",
        label=side.label,
        answer="Outputs" if alone else side_answer(side),
        limits=f"{side.tolerance}: {side.tolerance_why}",
        passes=side.passes,
        differences=tuple(difference_text(one) for one in side.bindings),
        reasons=tuple(
            f"{one.name}: {reason.message} ({reason.code})"
            for one in outputs
            for reason in one.reasons
        ),
        failure=side.failure,
        worst=worst_text(diff) if diff else None,
        table=_table(outputs) if outputs else None,
        more=_more(outputs) if outputs else None,
        charts=tuple(_charts(at, side, drawn, own)),
        panels=tuple(one for one in panels if one is not None),
        notices=tuple(notice for one in outputs for notice in one.notices),
        undrawn=len(outputs) - len(drawn),
        inside=inside_section(side.inside, f"s{at}") if side.inside else None,
    )


def _charts(
    at: int, side: ValidatedSide, drawn: Sequence[OutputDiff], worst: Sequence[WorstAnswer]
) -> Iterator[Chart]:
    made: list[Chart | None] = []
    made += [value_pairs(one, f"s{at}w{n}-values") for n, one in enumerate(worst)]
    if side.diff is not None:
        made.append(sample_errors(side.diff, f"s{at}-samples"))
    for n, one in enumerate(drawn):
        key = f"s{at}o{n}"
        made += [
            error_histogram(one, f"{key}-errors"),
            ulp_histogram(one, f"{key}-ulps"),
            channel_errors(one, f"{key}-channels"),
        ]
    yield from (one for one in made if one is not None)


def _table(outputs: Sequence[OutputDiff]) -> Figures:
    headers = ("Output", "", "Max |error|", "Mean |error|", "RMSE ÷ spread", "Cosine", "Mismatch %")
    return Figures(
        caption="Outputs against the reference",
        headers=(*headers, "Top-1 %", "Top-5 %"),
        rows=tuple(_row(one) for one in outputs),
        numbers=tuple(range(2, 9)),
    )


def _row(one: OutputDiff) -> tuple[str, ...]:
    found, ranks = one.figures, one.ranks
    mark = "within" if one.passes else "fails"
    if found is None:
        return (one.name, mark, *[UNKNOWN] * 7)
    return (
        one.name,
        mark,
        error_text(found.max_abs_error),
        error_text(found.mean_abs_error),
        error_text(found.error_to_spread),
        cosine_text(found.cosine),
        error_text(found.mismatch_pct),
        figure(ranks.top1_pct if ranks else None, 4),
        figure(ranks.top5_pct if ranks else None, 4),
    )


def _more(outputs: Sequence[OutputDiff]) -> Figures:
    rows = []
    for one in outputs:
        found = one.figures
        if found is None:
            continue
        where = UNKNOWN
        if found.max_abs_index is not None:
            where = f"{list(found.max_abs_index)} of sample {found.max_abs_sample}"
        rows.append(
            (
                one.name,
                one.dtype.value if one.dtype else UNKNOWN,
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
            "Beyond limit %",
            "Slope",
            "SNR dB",
            "PSNR dB",
            "NaN",
            "Inf",
        ),
        rows=tuple(rows),
        numbers=(2, *range(4, 13)),
    )
