"""The report as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from enginescope.analysis.layers.layer_table import slowest_first
from enginescope.analysis.runs.run_view import RunView
from enginescope.judge.units import format_ms
from enginescope.render.base.data_table import escaped, markdown_row
from enginescope.render.base.facts import (
    Facts,
    machine_facts,
    method_facts,
    phase_facts,
    place_line,
    subject_line,
)
from enginescope.render.base.figures import (
    UNKNOWN,
    figure,
    percentile_rows,
    printed_note,
    printed_rows,
    summary_rows,
)
from enginescope.render.base.gpu_phrases import gpu_facts
from enginescope.render.base.phrases import (
    count_text,
    interval_text,
    layer_sum_sentence,
    metric_title,
    outcome_text,
    pass_sentence,
    path_sentence,
    throughput_text,
)
from enginescope.render.page.overview import overview_rows
from enginescope.render.validation.report_answers import (
    AnswersSection,
    ReportedAnswers,
    answers_sections,
)


def report_markdown(
    views: Sequence[RunView], *, topk: int = 30, answers: Sequence[ReportedAnswers] = ()
) -> bytes:
    """Return the report as Markdown, for reading in a pull request or a terminal."""
    if len(views) == 1:
        lines = _run(views[0], topk, level=1)
    else:
        found = overview_rows(views)
        lines = [f"# {len(views)} runs", "", *_table(found.headers, found.rows)]
        for view in views:
            lines += ["", *_run(view, topk, level=2)]
    for text in answers_sections(answers):
        lines += ["", *_answers(text)]
    return ("\n".join(lines).rstrip() + "\n").encode()


def _run(view: RunView, topk: int, *, level: int) -> list[str]:
    run, mark = view.run, "#" * (level + 1)
    lines = [f"{'#' * level} {escaped(subject_line(run))}", ""]
    place = place_line(run)
    lines += [f"On {escaped(place)}.", ""] if place else []
    lines += _answer(view)
    if view.notices:
        notices = [
            f"- {_level(notice.level)} {escaped(notice.message)} ({notice.code})"
            for notice in view.notices
        ]
        lines += [f"{mark} Notices", "", *notices, ""]
    if view.summaries:
        for title, rows in (("Figures", summary_rows), ("Percentiles", percentile_rows)):
            made = rows(view)
            lines += [f"{mark} {title}", "", *_table(made.headers, made.rows), ""]
    lines += [f"{mark} Where the time goes", "", *_layers(view, topk), ""]
    sections = (
        ("Phases", phase_facts(run)),
        ("GPU", gpu_facts(view)),
        ("Machine", machine_facts(run)),
        ("How it was measured", method_facts(run)),
    )
    for title, facts in sections:
        lines += [f"{mark} {title}", "", *_facts(facts), ""] if facts else []
    return lines


def _answers(found: AnswersSection) -> list[str]:
    lines = ["## Outputs compared", "", f"**{escaped(found.answer)}**.", ""]
    facts = [f"{name}: {value}" if name else value for name, value in found.facts]
    lines += [f"- {escaped(text)}" for text in (*facts, *found.sentences)]
    for side, table in found.tables:
        lines += ["", escaped(side), ""] if side else [""]
        lines += _table([escaped(header) or " " for header in table.headers], table.rows)
    return lines


def _answer(view: RunView) -> list[str]:
    latency, outcome = view.latency, view.run.outcome
    lines = []
    if outcome.message:
        hint = f" Next step: {escaped(outcome.hint)}." if outcome.hint else ""
        lines += [f"**{outcome_text(outcome)}**: {escaped(outcome.message)}.{hint}", ""]
    if latency is None:
        note = printed_note(view)
        printed = [f"- {label}: {' · '.join(parts)}" for label, parts in printed_rows(view)]
        if note is None:
            printed = ["No samples, so no latency to report.", *(["", *printed] if printed else [])]
        else:
            printed = [f"Figures {note}.", "", *printed]
        return [*lines, *printed, ""]
    lines += [f"**{escaped(str(view.usability))}**", ""]
    median = f"**{metric_title(latency.metric)}: median {format_ms(latency.median_ms)}**"
    lines += [f"{median}, {interval_text(latency)}; {count_text(latency)}.", ""]
    if view.throughput:
        lines += [f"Throughput {throughput_text(view)} ({view.throughput.definition}).", ""]
    return lines


def _layers(view: RunView, topk: int) -> list[str]:
    path = path_sentence(view)
    lines = [path] if path else []
    if view.layer_sum is None:
        return [*lines, "No profile: layers cannot be timed."]
    lines.append(layer_sum_sentence(view.layer_sum))
    more = pass_sentence(view.layer_sum)
    lines += [more] if more else []
    rows = [
        [
            *(row.name, row.type or UNKNOWN, row.precision or UNKNOWN),
            *(figure(row.time_ms), figure(row.share_pct, 3)),
        ]
        for row in slowest_first(view.layers)[:topk]
    ]
    headers = (view.layer_sum.part.capitalize(), "Type", "Precision", "Time ms", "Share %")
    return [*lines, "", *_table(headers, rows)]


def _facts(facts: Facts) -> list[str]:
    return [f"- {escaped(name)}: {escaped(value)}" for name, value in facts]


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    marks = ["---"] * len(headers)
    return [*map(markdown_row, (headers, marks, *(list(map(escaped, row)) for row in rows)))]


def _level(level: str) -> str:
    return "**Warning:**" if level == "warning" else "Note:"
