"""Histories as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted
from enginescope.records.verdict.history import JobHistory
from enginescope.render.base.data_table import UNKNOWN
from enginescope.render.base.figures import TextTable
from enginescope.render.html.answer_page import Answer, Part, written_page
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
    way_text,
    when_text,
)

#: Runs of the newest session that a job leads to.
_MOST_RUNS = 3
_JOB_HEADERS = ("job", "newest session", "sessions", "its runs", "command")
_CHANGE_HEADERS = (
    *("change", "by", "what changed, likely causes first", "levels", "interval"),
    *("from, UTC", "run"),
)


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
    parts = [
        _part(f"history-{number}", jobs, runs or {})
        for number, jobs in enumerate(grouped(found), start=1)
    ]
    first = parts[0]
    changes = counted(sum(len(job.sure) for job in found), "change")
    answered = Answer(
        verb="history",
        title=f"History of {model}",
        report=None,
        answer=f"{changes} of level in {len(parts)} histories of {model}",
        facts=(),
        notices=tuple(notices),
        parts=tuple(parts),
        files={"history.json": history_json(found)},
    )
    if len(parts) == 1:
        answered = replace(
            answered,
            answer=first.answer,
            facts=first.facts,
            tables=first.tables,
            charts=first.charts,
            parts=(),
        )
    return written_page(answered, script_address=script_address)


def _part(key: str, jobs: Sequence[JobHistory], runs: Mapping[str, str]) -> Part:
    """Return the jobs of a model on one backend."""
    has_chart = any(len(job.points) > 1 for job in jobs)
    chart = history_chart(jobs, key=key, title="Every session, the oldest first")
    changes = _changes(jobs)
    table = TextTable(
        title="Jobs",
        headers=_JOB_HEADERS,
        rows=tuple(_row(job, runs) for job in jobs),
        numbers=_JOB_HEADERS[1:3],
        sentences=_JOB_HEADERS[-1:],
    )
    return Part(
        key=key,
        title=f"{jobs[0].model} · {jobs[0].backend}",
        answer=group_title(jobs),
        facts=tuple(
            ("open", f"{job.case or job.label}: {open_sentence(job, change)}")
            for job in jobs
            for change in job.changes
            if not change.is_sure
        ),
        tables=(*((changes,) if changes.rows else ()), table),
        charts=(chart,) if has_chart else (),
    )


def _row(job: JobHistory, runs: Mapping[str, str]) -> tuple[str, ...]:
    newest = job.points[-1]
    name = " · ".join(filter(None, (job.case, job.inputs if job.inputs != job.case else None)))
    return (
        Markup('<span id="{}">{}</span>').format(anchor(job), name or job.label),
        level_text(job, newest),
        f"{len(job.points):,}",
        Markup(" ").join(_links(newest.runs[-_MOST_RUNS:], runs)),
        job.command or UNKNOWN,
    )


def _links(ids: Sequence[str], runs: Mapping[str, str]) -> Iterator[str]:
    for run in ids:
        is_known = run in runs
        yield Markup('<a href="{}">{}</a>').format(runs[run], run[:8]) if is_known else run[:8]


def _changes(jobs: Sequence[JobHistory]) -> TextTable:
    rows = tuple(
        (
            name if len(jobs) == 1 else f"{name} {job.case}",
            f"{amount_text(one)}, {way_text(one)}",
            "; ".join(map(fact_text, one.changed)) or "no recorded fact",
            levels_sentence(job, one) or UNKNOWN,
            interval_text(one),
            when_text(job, one),
            job.points[one.at].runs[0][:8],
        )
        for name, job, one in lettered(jobs)
    )
    title = "Changes of level, with what differs between the runs on either side"
    sentences = _CHANGE_HEADERS[2:3]
    return TextTable(title=title, headers=_CHANGE_HEADERS, rows=rows, sentences=sentences)
