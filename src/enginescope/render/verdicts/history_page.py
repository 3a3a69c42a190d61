"""Histories as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.records.verdict.history import JobHistory
from enginescope.render.base.figures import Figures
from enginescope.render.html.images import Chart
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes
from enginescope.render.verdicts.history import history_chart
from enginescope.render.verdicts.history_text import (
    amount_text,
    fact_text,
    history_json,
    interval_text,
    letter,
    levels_sentence,
    open_sentence,
    span_text,
    title_text,
    way_text,
    when_text,
)


class HistorySection(Record, frozen=True, kw_only=True):
    """One job on the page."""

    anchor: str
    title: str
    label: str
    span: str
    chart: Chart
    changes: Figures | None
    open: tuple[str, ...]


def history_page(
    found: Sequence[JobHistory],
    *,
    model: str,
    notices: Sequence[Notice] = (),
    script_address: str | None = None,
) -> bytes:
    """Return the page over the histories of a model's jobs.

    Args:
        found: One or more.
        model: What was asked for.
        notices: Warnings about the whole, such as skipped runs.
    """
    sections = [_section(one, number) for number, one in enumerate(found)]
    files = {"history.json": history_json(found).decode()}
    return page_bytes(
        "history.html.j2",
        PageData(charts=charts_data(section.chart for section in sections), files=files),
        script_address=script_address,
        title=f"History of {model}",
        sections=sections,
        notices=notices,
        left_out=[],
    )


def _section(found: JobHistory, number: int) -> HistorySection:
    title = title_text(found)
    return HistorySection(
        anchor=f"job-{number + 1}",
        title=f"{title[:1].upper()}{title[1:]}",
        label=found.label,
        span=span_text(found),
        chart=history_chart(
            found, key=f"history-{number + 1}", title="Every session, the oldest first"
        ),
        changes=_changes(found),
        open=tuple(open_sentence(found, change) for change in found.changes if not change.is_sure),
    )


def _changes(found: JobHistory) -> Figures | None:
    if not found.sure:
        return None
    rows = tuple(
        (
            letter(number),
            f"{amount_text(one)}, {way_text(one)}",
            "; ".join(map(fact_text, one.changed)) or "no recorded fact",
            levels_sentence(found, one) or "—",
            interval_text(one),
            when_text(found, one),
            found.points[one.at].runs[0][:8],
        )
        for number, one in enumerate(found.sure)
    )
    headers = ("Change", "By", "What changed, likely causes first", "Levels", "Interval")
    return Figures(
        caption="Changes of level, with what differs between the runs on either side",
        headers=(*headers, "From, UTC", "Run"),
        rows=rows,
    )
