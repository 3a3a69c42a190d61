"""The report as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import Record
from enginescope.render.base.facts import made_text, options_line, subject_line
from enginescope.render.base.phrases import Headline
from enginescope.render.charts.distribution import latency_distribution
from enginescope.render.charts.telemetry import telemetry_charts
from enginescope.render.html.answer_page import Part, every_chart
from enginescope.render.html.images import Chart
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes
from enginescope.render.page.export import data_files
from enginescope.render.page.tabs import Tab, tabs_of
from enginescope.render.plans.findings import Linted, findings_json, first_changes
from enginescope.render.plans.plan_headline import (
    PageSubject,
    first_numbers,
    plan_about,
    plan_title,
)
from enginescope.render.sections import first_screen
from enginescope.render.sections.section import Section, known

if TYPE_CHECKING:
    from enginescope.render.validation.validate_answer import ReportedAnswers


#: Above this many layers the page leaves their files out: its tables save the same.
MAX_CARRIED_LAYERS = 5_000
#: Above this many samples the page leaves the series to the file beside it.
MAX_SERIES_SAMPLES = 100_000


class PageRun(Record, frozen=True, kw_only=True):
    """One run as the page shows it.

    Attributes:
        is_measured: Whether it is about requests, not about a plan alone.
        prefix: Before every anchor of this run: empty when it is the only one.
        about: Where, when and from what.
        steps: What to do next.
        changes: Those that may save most after the first.
        look: The layers of the first screen; ``None`` for a run without layers.
        where: What takes most of the layers' time; ``None`` without times.
        picture: The latencies of a run without layer times.
    """

    view: Any
    is_measured: bool
    prefix: str
    title: str
    about: tuple[str, ...]
    headline: Headline
    steps: tuple[tuple[str, str, str], ...]
    changes: tuple[str, ...]
    look: first_screen.FirstScreen | None
    where: str | None
    icicle: dict[str, Any] | None
    picture: Chart | None
    tabs: tuple[Tab, ...]

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections of all tabs."""
        return tuple(section for tab in self.tabs for section in tab.sections)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The charts of the first screen and of all sections."""
        pictures = (self.picture,) if self.picture else ()
        return (*pictures, *(chart for section in self.sections for chart in section.charts))


def report_page(
    about: Sequence[RunView | PageSubject],
    *,
    topk: int = 30,
    answers: Sequence[ReportedAnswers] = (),
    script_address: str | None = None,
) -> bytes:
    """Return the page over runs: an overview first where there are several, then each run."""
    subjects = [PageSubject(one) if isinstance(one, RunView) else one for one in about]
    views = [subject.view for subject in subjects]
    runs = [_page_run(one, index, len(about)) for index, one in enumerate(subjects, start=1)]
    compared: tuple[Part, ...] = ()
    if answers:  # a plan alone needs none of the code that compares outputs
        from enginescope.render.validation.validate_answer import answers_parts

        compared = tuple(answers_parts(answers))
    what = "report over 1 run" if subjects[0].is_measured else "what an engine consists of"
    files = _files(subjects, topk, answers)
    has_graph = any(section.key == "graph" for run in runs for section in run.sections)
    sampled = [view for view in views if view.run.gpu and view.run.gpu.series]
    together = telemetry_charts(sampled, prefix="all_") if len(sampled) > 1 else ()
    first = _overview(views, tuple(f"{run.prefix}summary" for run in runs))
    laid_over = first["laid_over"]
    drawn = [*([laid_over] if laid_over else []), *together]
    drawn += [chart for part in compared for chart in every_chart(part)]
    return page_bytes(
        "page.html.j2",
        _data(runs, files, drawn),
        parts=["graph"] if has_graph else [],
        script_address=script_address,
        title=runs[0].title if len(runs) == 1 else f"{len(runs)} runs",
        runs=runs,
        what=what if len(subjects) == 1 else f"report over {len(subjects)} runs",
        together=together,
        answers=compared,
        left_out=_left_out(subjects, files),
        **first,
    )


def run_charts(about: RunView | PageSubject) -> tuple[Chart, ...]:
    """Return every chart of the page of one run or plan."""
    return _page_run(PageSubject(about) if isinstance(about, RunView) else about, 1, 1).charts


def _overview(views: Sequence[RunView], anchors: tuple[str, ...]) -> dict[str, Any]:
    if len(views) < 2:  # a run alone needs none of the code that compares runs
        return dict.fromkeys(("names", "overview", "fastest", "laid_over"))
    from enginescope.render.page.overview import overview

    return overview(views, anchors)


def _page_run(subject: PageSubject, index: int, count: int) -> PageRun:
    view, run = subject.view, subject.view.run
    is_measured = subject.is_measured
    place = subject.made_on or "machine not known"
    built = subject.tensorrt_version if run.origin == "imported" else None
    made = (place, f"TensorRT {built}") if built else (place,)
    about = (*made, *known(options_line(run)), f"run {view.id}", made_text(run), run.origin)
    icicle = first_screen.icicle_data(subject)
    return PageRun(
        view=view,
        is_measured=is_measured,
        prefix="" if count == 1 else f"run-{index}-",
        title=subject_line(run) if is_measured else plan_title(subject),
        about=about if is_measured else plan_about(subject),
        headline=first_numbers(subject),
        steps=first_screen.next_steps(subject),
        changes=first_changes(subject.findings, 3)[1:],
        look=first_screen.first_screen(subject),
        where=first_screen.where_text(subject, icicle) if icicle else None,
        icicle=icicle,
        picture=latency_distribution(view) if is_measured and view.layer_sum is None else None,
        tabs=tabs_of(subject),
    )


def _left_out(subjects: Sequence[PageSubject], files: dict[str, str]) -> list[str]:
    said = []
    if "latency_series.csv" not in files and any(subject.view.run.samples for subject in subjects):
        count = f"The run has more than {MAX_SERIES_SAMPLES:,} samples"
        said.append(f"{count}; latency_series.csv has them, in the folder of this page.")
    if "per_layer_times.csv" not in files:
        count = f"The layers are more than {MAX_CARRIED_LAYERS:,}"
        said.append(f"{count}: the tables of layers and findings save what they show.")
    return said


def _data(runs: Sequence[PageRun], files: dict[str, str], of_all: Sequence[Chart]) -> PageData:
    charts, tables = charts_data(of_all), {}
    for run in runs:
        charts.update(charts_data(run.charts, run.prefix))
        for table in (table for section in run.sections for table in section.tables):
            tables[f"{run.prefix}table-{table.key}"] = {**table.packed(), "prefix": run.prefix}
    icicles = {run.prefix: run.icicle for run in runs if run.icicle}
    return PageData(charts=charts, tables=tables, files=files, more={"icicles": icicles})


def _files(
    subjects: Sequence[PageSubject], topk: int, answers: Sequence[ReportedAnswers]
) -> dict[str, str]:
    views = [subject.view for subject in subjects]
    samples = sum(len(sample) for view in views for sample in view.run.samples)
    is_long = sum(len(subject.layers) for subject in subjects) > MAX_CARRIED_LAYERS
    left = {"per_layer_times.csv"} if is_long else set[str]()
    if not samples and not any(subject.is_measured for subject in subjects):
        left |= {"summary.csv", "latency_series.csv", "latency_percentiles.csv"}
    if samples > MAX_SERIES_SAMPLES:
        left.add("latency_series.csv")
    files = data_files(views, topk, answers)
    made = {name: make() for name, make in files.items() if name not in left}
    linted = [
        Linted(source=one.view.id, plan=plan, report=one.findings, is_file=False)
        for one in subjects
        if one.findings is not None and (plan := one.view.run.plan) is not None
    ]
    if linted and not is_long:
        made["findings.json"] = findings_json(linted)
    return {name: data.decode() for name, data in made.items()}
