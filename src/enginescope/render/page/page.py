"""The report as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import Record, replace
from enginescope.render.base.facts import made_text, subject_line
from enginescope.render.base.figures import first_figures
from enginescope.render.base.phrases import Headline
from enginescope.render.charts.bars import layer_bars
from enginescope.render.charts.distribution import latency_distribution
from enginescope.render.charts.stacked_time import time_stacked
from enginescope.render.charts.telemetry import telemetry_charts
from enginescope.render.html.images import Chart
from enginescope.render.html.page_frame import (
    PageData,
    charts_data,
    graph_script,
    graph_style,
    page_bytes,
    scripts,
    style,
)
from enginescope.render.page.export import (
    gpu_telemetry_csv,
    latency_percentiles_csv,
    latency_series_csv,
    per_layer_times_csv,
    report_json,
    summary_csv,
    summary_json,
)
from enginescope.render.plans.findings import Linted, findings_json
from enginescope.render.plans.plan_headline import (
    PageSubject,
    plan_about,
    plan_headline,
    plan_title,
)
from enginescope.render.sections.build import build, tool_report
from enginescope.render.sections.card.report_card import report_card
from enginescope.render.sections.findings import Worst, findings, worst_findings
from enginescope.render.sections.graph import KEY as GRAPH
from enginescope.render.sections.graph import graph
from enginescope.render.sections.layers import layers, reformat_layers, tactics
from enginescope.render.sections.load import load
from enginescope.render.sections.measurement import (
    distribution,
    gpu,
    machine,
    method,
    percentiles,
    providers,
    where_the_time_goes,
)
from enginescope.render.sections.onnx_nodes import onnx_nodes
from enginescope.render.sections.roofline import roofline_of
from enginescope.render.sections.section import Section
from enginescope.render.sections.timeline import timeline

if TYPE_CHECKING:
    from enginescope.render.validation.report_answers import AnswersSection, ReportedAnswers


#: Layers in the picture of a first screen without latencies.
_FIRST = 14
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
        picture: The one picture that matters.
    """

    view: Any
    is_measured: bool
    prefix: str
    title: str
    about: tuple[str, ...]
    headline: Headline
    worst: tuple[Worst, ...]
    picture: Chart | None
    sections: tuple[Section, ...]


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
    runs = [_page_run(one, index, len(about), topk) for index, one in enumerate(subjects, start=1)]
    compared = _compared(answers)
    files = _files(subjects, topk, answers)
    has_graph = any(section.key == GRAPH for run in runs for section in run.sections)
    parts = (*scripts(), *((graph_script(),) if has_graph else ()))
    together = _together(views)
    first = _overview(views, tuple(f"{run.prefix}summary" for run in runs))
    laid_over = first["laid_over"]
    return page_bytes(
        "page.html.j2",
        _data(runs, files, (*([laid_over] if laid_over else []), *together, *_charts(compared))),
        parts=parts,
        script_address=script_address,
        css=_style(has_graph=has_graph, has_answers=bool(compared)),
        title=runs[0].title if len(runs) == 1 else f"{len(runs)} runs",
        runs=runs,
        what=_what(subjects),
        together=together,
        answers=compared,
        left_out=_left_out(subjects, files),
        **first,
    )


def _overview(views: Sequence[RunView], anchors: tuple[str, ...]) -> dict[str, Any]:
    if len(views) < 2:  # a run alone needs none of the code that compares runs
        return dict.fromkeys(("names", "overview", "fastest", "laid_over"))
    from enginescope.render.page.overview import overview

    return overview(views, anchors)


def _style(*, has_graph: bool, has_answers: bool) -> str:
    more = ("validate.css",) if has_answers else ()
    return style(*more) + (graph_style() if has_graph else "")


def _compared(answers: Sequence[ReportedAnswers]) -> tuple[AnswersSection, ...]:
    if not answers:  # a plan alone needs none of the code that compares outputs
        return ()
    from enginescope.render.validation.report_answers import answers_sections

    return answers_sections(answers)


def _charts(compared: Sequence[AnswersSection]) -> Iterator[Chart]:
    for one in compared:
        yield from one.charts


def _what(subjects: Sequence[PageSubject]) -> str:
    if len(subjects) > 1:
        return f"report over {len(subjects)} runs"
    return "report over 1 run" if subjects[0].is_measured else "what an engine consists of"


def _page_run(subject: PageSubject, index: int, count: int, topk: int) -> PageRun:
    view, run = subject.view, subject.view.run
    is_measured = subject.is_measured
    place = subject.made_on or "machine not known"
    built = subject.tensorrt_version if run.origin == "imported" else None
    made = (place, f"TensorRT {built}") if built else (place,)
    return PageRun(
        view=view,
        is_measured=is_measured,
        prefix="" if count == 1 else f"run-{index}-",
        title=subject_line(run) if is_measured else plan_title(subject),
        about=(*made, f"run {view.id}", made_text(run), run.origin)
        if is_measured
        else plan_about(subject),
        headline=first_figures(view) if is_measured else plan_headline(subject),
        worst=worst_findings(subject),
        picture=(latency_distribution(view) if is_measured else None)
        or _time_stacked(subject)
        or _slowest(view),
        sections=sections_of(subject, topk),
    )


def _time_stacked(subject: PageSubject) -> Chart | None:
    """Where the time goes, and what each rule's findings may save of it."""
    report, savings = subject.findings, dict[str, float]()
    for finding in report.findings if report else ():
        if finding.saving.bound_ms:
            savings[finding.code] = savings.get(finding.code, 0.0) + finding.saving.bound_ms
    return time_stacked(subject.view, savings, report.engine_ms if report else None)


def _slowest(view: RunView) -> Chart | None:
    """As many layers as the first screen has room for; another section has more."""
    chart = layer_bars(view, _FIRST)
    return replace(chart, key="slowest_layers") if chart else None


def _left_out(subjects: Sequence[PageSubject], files: dict[str, str]) -> list[str]:
    """Say which files are too long to be carried, and where the same is."""
    said = []
    if "latency_series.csv" not in files and any(subject.view.run.samples for subject in subjects):
        said.append(
            f"The run has more than {MAX_SERIES_SAMPLES:,} samples; latency_series.csv has them, "
            "in the folder of this page."
        )
    if "per_layer_times.csv" not in files:
        said.append(
            f"The layers are more than {MAX_CARRIED_LAYERS:,}: the tables of layers and findings "
            "save what they show."
        )
    return said


def _together(views: Sequence[RunView]) -> tuple[Chart, ...]:
    """Return the telemetry of all runs over one axis each, where more than one has some."""
    sampled = [view for view in views if view.run.gpu and view.run.gpu.series]
    return telemetry_charts(sampled, prefix="all_") if len(sampled) > 1 else ()


def _data(runs: Sequence[PageRun], files: dict[str, str], of_all: Sequence[Chart]) -> PageData:
    charts, tables = charts_data(of_all), {}
    for run in runs:
        pictures = [run.picture] if run.picture else []
        pictures += [chart for section in run.sections for chart in section.charts]
        charts.update(charts_data(pictures, run.prefix))
        for table in (table for section in run.sections for table in section.tables):
            tables[f"{run.prefix}table-{table.key}"] = {**table.packed(), "prefix": run.prefix}
    return PageData(charts=charts, tables=tables, files=files)


def _files(
    subjects: Sequence[PageSubject], topk: int, answers: Sequence[ReportedAnswers]
) -> dict[str, str]:
    views = [subject.view for subject in subjects]
    samples = sum(len(sample) for view in views for sample in view.run.samples)
    made = {
        "report.json": report_json(views, topk=topk, answers=answers),
        "summary.json": summary_json(views),
    }
    if any(view.run.gpu for view in views):
        made["gpu_telemetry.csv"] = gpu_telemetry_csv(views)
    if samples or any(subject.is_measured for subject in subjects):
        made["summary.csv"] = summary_csv(views)
        made["latency_percentiles.csv"] = latency_percentiles_csv(views)
        if samples <= MAX_SERIES_SAMPLES:
            made["latency_series.csv"] = latency_series_csv(views)
    if sum(len(subject.layers) for subject in subjects) > MAX_CARRIED_LAYERS:
        return {name: data.decode() for name, data in made.items()}
    made["per_layer_times.csv"] = per_layer_times_csv(views)
    linted = [
        Linted(
            source=subject.view.id,
            plan=subject.view.run.plan,
            report=subject.findings,
            is_file=False,
        )
        for subject in subjects
        if subject.findings is not None and subject.view.run.plan is not None
    ]
    if linted:
        made["findings.json"] = findings_json(linted)
    return {name: data.decode() for name, data in made.items()}


#: What stands open; the heading of every other section has its answer, and opens it.
_OPEN = ("findings", "graph", "load", "distribution")


def sections_of(subject: PageSubject, topk: int) -> tuple[Section, ...]:
    """Return the sections that apply to a run: findings first, then what explains them."""
    view = subject.view
    every = (
        findings(subject),
        graph(subject),
        load(view) if view.run.load else None,
        distribution(view) if subject.is_measured else None,
        percentiles(view) if subject.is_measured else None,
        where_the_time_goes(view, topk),
        timeline(subject),
        providers(view),
        layers(subject),
        *report_card(subject),
        tactics(subject),
        reformat_layers(subject),
        roofline_of(subject),
        onnx_nodes(subject),
        build(subject),
        tool_report(view),
        gpu(view),
        machine(view),
        method(view),
    )
    return tuple(replace(one, is_folded=one.key not in _OPEN) for one in every if one is not None)
