"""The report as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from enginescope._version import __version__
from enginescope.analysis.run_view import RunView
from enginescope.core.record import Record
from enginescope.render.charts.distribution import latency_distribution
from enginescope.render.charts.layers import layer_bars
from enginescope.render.charts.spec import Chart
from enginescope.render.export import report_json, summary_json
from enginescope.render.export_csv import (
    latency_percentiles_csv,
    latency_series_csv,
    per_layer_times_csv,
    summary_csv,
)
from enginescope.render.facts import made_text, place_line, subject_line
from enginescope.render.figures import overview_rows
from enginescope.render.headline import Headline, headline
from enginescope.render.page_frame import chart_themes, content_policy, page_template, script_json
from enginescope.render.page_subject import PageSubject
from enginescope.render.sections.every import sections_of
from enginescope.render.sections.section import Section
from enginescope.render.vendored import licences, scripts, style

#: Above this many samples the page leaves the series to the file beside it.
MAX_SERIES_SAMPLES = 100_000


class PageRun(Record, frozen=True, kw_only=True):
    """One run as the page shows it.

    Attributes
    ----------
    view : RunView
    prefix : str
        Before every anchor of this run: empty when it is the only one.
    title, made : str
    place : str or None
    headline : Headline
    picture : Chart or None
        The one picture that matters.
    sections : tuple of Section
    """

    view: Any
    prefix: str
    title: str
    made: str
    place: str | None
    headline: Headline
    picture: Chart | None
    sections: tuple[Section, ...]


def report_page(about: Sequence[RunView | PageSubject], *, topk: int = 30) -> bytes:
    """Return the page over runs: an overview first where there are several, then each run."""
    subjects = [PageSubject(one) if isinstance(one, RunView) else one for one in about]
    views = [one.view for one in subjects]
    runs = [_page_run(one, index, len(about), topk) for index, one in enumerate(subjects, start=1)]
    files = _files(views, topk)
    parts = scripts()
    anchors = tuple(f"{run.prefix}summary" for run in runs)
    template = page_template("page.html.j2")
    return template.render(
        title=runs[0].title if len(runs) == 1 else f"{len(runs)} runs",
        runs=runs,
        overview=overview_rows(views, anchors) if len(runs) > 1 else None,
        files={name: len(text) for name, text in files.items()},
        series_left_out=None if "latency_series.csv" in files else MAX_SERIES_SAMPLES,
        policy=content_policy([one.csp_source for one in parts]),
        style=Markup(style()),  # noqa: S704 - ours
        scripts=[Markup(one.text) for one in parts],  # noqa: S704 - ours and vendored
        data=script_json(_data(runs, files)),
        licences=licences(),
        version=__version__,
    ).encode()


def _page_run(subject: PageSubject, index: int, count: int, topk: int) -> PageRun:
    view = subject.view
    return PageRun(
        view=view,
        prefix="" if count == 1 else f"run-{index}-",
        title=subject_line(view.run),
        place=place_line(view.run),
        made=made_text(view.run),
        headline=headline(view),
        picture=latency_distribution(view) or layer_bars(view, topk),
        sections=sections_of(subject, topk),
    )


def _data(runs: Sequence[PageRun], files: dict[str, str]) -> dict[str, Any]:
    charts = {}
    tables = {}
    for run in runs:
        pictures = [run.picture] if run.picture else []
        pictures += [chart for section in run.sections for chart in section.charts]
        for chart in pictures:
            charts[f"{run.prefix}chart-{chart.key}"] = chart.complete(titled=False)
        for table in (table for section in run.sections for table in section.tables):
            tables[f"{run.prefix}table-{table.key}"] = {**table.packed(), "prefix": run.prefix}
    return {"charts": charts, "tables": tables, "files": files, "themes": chart_themes()}


def _files(views: Sequence[RunView], topk: int) -> dict[str, str]:
    made = {
        "report.json": report_json(views, topk=topk),
        "summary.json": summary_json(views),
        "summary.csv": summary_csv(views),
        "latency_percentiles.csv": latency_percentiles_csv(views),
        "per_layer_times.csv": per_layer_times_csv(views),
    }
    if sum(len(one) for view in views for one in view.run.samples) <= MAX_SERIES_SAMPLES:
        made["latency_series.csv"] = latency_series_csv(views)
    return {name: data.decode() for name, data in made.items()}
