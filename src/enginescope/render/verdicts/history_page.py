"""Histories as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.records.verdict.history import JobHistory
from enginescope.render.base.figures import Figures
from enginescope.render.html.images import Chart
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes
from enginescope.render.verdicts.history import history_chart
from enginescope.render.verdicts.history_text import (
    amount_text,
    anchor,
    fact_text,
    group_title,
    grouped,
    history_json,
    interval_text,
    lettered,
    level_text,
    levels_sentence,
    open_sentence,
    span_text,
    way_text,
    when_text,
)


class JobRow(Record, frozen=True, kw_only=True):
    """A job in the table of its section; `runs` are ids of the newest session, with addresses."""

    anchor: str
    name: str
    value: str
    sessions: str
    span: str
    runs: tuple[tuple[str, str | None], ...]
    command: str | None


class HistorySection(Record, frozen=True, kw_only=True):
    """The jobs of a model on one backend; `chart` is ``None`` where none has two sessions."""

    anchor: str
    title: str
    label: str
    jobs: tuple[JobRow, ...]
    chart: Chart | None
    changes: Figures | None
    open: tuple[str, ...]


#: Runs of the newest session that a job leads to.
_MOST_RUNS = 3


def history_page(
    found: Sequence[JobHistory],
    *,
    model: str,
    notices: Sequence[Notice] = (),
    runs: Mapping[str, str] | None = None,
    script_address: str | None = None,
) -> bytes:
    """Return the page over the histories of a model's jobs.

    Args:
        found: One or more.
        model: What was asked for.
        notices: Warnings about the whole, such as skipped runs.
        runs: Addresses of runs by their ids, where there is a server.
    """
    sections = [
        _section(jobs, f"history-{number}", runs or {})
        for number, jobs in enumerate(grouped(found), start=1)
    ]
    charts = [section.chart for section in sections if section.chart is not None]
    files = {"history.json": history_json(found).decode()}
    return page_bytes(
        "history.html.j2",
        PageData(charts=charts_data(charts), files=files),
        script_address=script_address,
        title=f"History of {model}",
        sections=sections,
        notices=notices,
        left_out=[],
    )


def _section(jobs: Sequence[JobHistory], key: str, runs: Mapping[str, str]) -> HistorySection:
    title = group_title(jobs)
    has_chart = any(len(job.points) > 1 for job in jobs)
    return HistorySection(
        anchor=key,
        title=f"{title[:1].upper()}{title[1:]}",
        label=f"{jobs[0].model} · {jobs[0].backend}",
        jobs=tuple(_row(job, runs) for job in jobs),
        chart=history_chart(jobs, key=key, title="Every session, the oldest first")
        if has_chart
        else None,
        changes=_changes(jobs),
        open=tuple(
            f"{job.case or job.label}: {open_sentence(job, change)}"
            for job in jobs
            for change in job.changes
            if not change.is_sure
        ),
    )


def _row(job: JobHistory, runs: Mapping[str, str]) -> JobRow:
    newest = job.points[-1]
    name = " · ".join(filter(None, (job.case, job.inputs if job.inputs != job.case else None)))
    return JobRow(
        anchor=anchor(job),
        name=name or job.label,
        value=level_text(job, newest),
        sessions=f"{len(job.points):,}",
        span=span_text(job),
        runs=tuple((run[:8], runs.get(run)) for run in newest.runs[-_MOST_RUNS:]),
        command=job.command,
    )


def _changes(jobs: Sequence[JobHistory]) -> Figures | None:
    rows = tuple(
        (
            *((name,) if len(jobs) == 1 else (f"{name} {job.case}",)),
            f"{amount_text(one)}, {way_text(one)}",
            "; ".join(map(fact_text, one.changed)) or "no recorded fact",
            levels_sentence(job, one) or "—",
            interval_text(one),
            when_text(job, one),
            job.points[one.at].runs[0][:8],
        )
        for name, job, one in lettered(jobs)
    )
    if not rows:
        return None
    headers = ("Change", "By", "What changed, likely causes first", "Levels", "Interval")
    return Figures(
        caption="Changes of level, with what differs between the runs on either side",
        headers=(*headers, "From, UTC", "Run"),
        rows=rows,
    )
