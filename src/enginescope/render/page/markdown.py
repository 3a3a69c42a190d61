"""The report as Markdown."""

from collections.abc import Iterator, Sequence

from enginescope.analysis.runs.run_view import RunView
from enginescope.judge.units import format_ms
from enginescope.render.base import phrases
from enginescope.render.base.answer_tables import fact_lines, notice_lines, part_lines, table_lines
from enginescope.render.base.data_table import escaped
from enginescope.render.base.facts import options_line, place_line, subject_line
from enginescope.render.base.figures import TextTable, printed_note, printed_rows
from enginescope.render.page.overview import overview_rows
from enginescope.render.page.tabs import tabs_of
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.plans.plan_tables import text_table
from enginescope.render.sections.first_screen import next_steps
from enginescope.render.sections.section import Section, known
from enginescope.render.validation.validate_answer import ReportedAnswers, answers_parts


def report_markdown(
    about: Sequence[RunView | PageSubject],
    *,
    topk: int = 30,
    answers: Sequence[ReportedAnswers] = (),
) -> bytes:
    """Return the sections of the page as Markdown, for a pull request or a terminal.

    Args:
        topk: Rows of a long table.
    """
    subjects = [PageSubject(one) if isinstance(one, RunView) else one for one in about]
    views = [subject.view for subject in subjects]
    if len(views) == 1:
        lines = _run(subjects[0], topk, level=1)
    else:
        lines = [f"# {len(views)} runs", "", *_captioned(overview_rows(views))]
        for subject in subjects:
            lines += ["", *_run(subject, topk, level=2)]
    for part in answers_parts(answers):
        lines += ["", f"## {escaped(part.heading)}", *part_lines(part, 3)]
    return ("\n".join(lines).rstrip() + "\n").encode()


def _run(subject: PageSubject, topk: int, *, level: int) -> list[str]:
    view, mark = subject.view, "#" * (level + 1)
    lines = [f"{'#' * level} {escaped(subject_line(view.run))}", ""]
    place = "; ".join(filter(None, (place_line(view.run), options_line(view.run))))
    lines += [f"On {escaped(place)}.", ""] if place else []
    lines += _answer(view)
    steps = [(name, ": ".join(filter(None, text))) for name, *text in next_steps(subject)]
    lines += [*fact_lines(steps), ""] if steps else []
    if view.notices:
        lines += [f"{mark} Notices", "", *notice_lines(view.notices), ""]
    for tab in tabs_of(subject, has_graph=False):
        for section in tab.sections:
            lines += [f"{mark} {section.title}", "", *_section(section, topk)]
    return lines


def _section(section: Section, topk: int) -> Iterator[str]:
    """Yield what the page shows, without pictures; long tables are folded."""
    if section.empty:
        yield from (escaped(section.empty), "")
        return
    for text in (*known(section.answer), *section.sentences, *section.notes):
        yield from (escaped(text), "")
    if "command" in section.facts:
        yield from ("```", section.facts["command"] or "unknown command", "```", "")
    for facts in (section.facts.get("phases", ()), section.pairs):
        if facts:
            yield from (*fact_lines(facts), "")
    for table in section.figures:
        yield from _captioned(table)
    for long_table in section.tables:
        part = text_table(long_table, topk)
        assert part is not None
        more = f": {topk:,} of {long_table.length:,}" if part.left_out else ""
        summary = f"<summary>{escaped(f'{part.title}{more}')}</summary>"
        yield from (f"<details>{summary}", *table_lines(part), "", "</details>", "")


def _captioned(table: TextTable) -> list[str]:
    return [f"**{escaped(table.caption)}**", *table_lines(table), ""]


def _answer(view: RunView) -> list[str]:
    latency, outcome = view.latency, view.run.outcome
    lines = []
    if outcome.message:
        hint = f" Next step: {escaped(outcome.hint)}." if outcome.hint else ""
        lines += [f"**{phrases.outcome_text(outcome)}**: {escaped(outcome.message)}.{hint}", ""]
    if latency is None:
        note = printed_note(view)
        printed = [f"- {label}: {' · '.join(parts)}" for label, parts in printed_rows(view)]
        if note is None:
            printed = ["No samples, so no latency to report.", *(["", *printed] if printed else [])]
        else:
            printed = [f"Figures {note}.", "", *printed]
        return [*lines, *printed, ""]
    lines += [f"**{escaped(str(view.usability))}**", ""]
    median = f"**{phrases.metric_title(latency.metric)}: median {format_ms(latency.median_ms)}**"
    lines += [f"{median}, {phrases.interval_text(latency)}; {phrases.count_text(latency)}.", ""]
    if view.throughput:
        lines += [f"Throughput {phrases.throughput_text(view)} ({phrases.rate_formula(view)}).", ""]
    return lines
