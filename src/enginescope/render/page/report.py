"""A report: every file about some runs, in one folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.core.jsonio import write_atomic
from enginescope.core.record import Record, Result
from enginescope.core.suggest import did_you_mean
from enginescope.judge.units import format_ms
from enginescope.render.base.facts import backend_text, options_line, subject_line
from enginescope.render.base.figures import first_figures
from enginescope.render.base.phrases import count_text, interval_text, metric_title
from enginescope.render.charts.bars import layer_bars
from enginescope.render.charts.distribution import latency_distribution, percentiles
from enginescope.render.charts.telemetry import telemetry_picture
from enginescope.render.html.answer_page import Slide
from enginescope.render.html.images import Chart, png_bytes
from enginescope.render.page.export import data_files
from enginescope.render.page.markdown import report_markdown
from enginescope.render.page.page import report_page
from enginescope.render.plans.findings import first_changes
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.validation.validate_answer import ReportedAnswers, answers_kept

#: Kinds of files a report can have.
FORMATS = ("json", "csv", "md", "html", "png")
TOPK = 30


class WrittenReport(Result, Record, frozen=True, kw_only=True):
    """Files of a report, and the files that were skipped.

    Attributes:
        skipped: Files that were not written, and why.
    """

    folder: Path
    files: tuple[Path, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def page(self) -> Path | None:
        """The HTML page, if it was asked for."""
        return next((file for file in self.files if file.suffix == ".html"), None)


def write_report(
    about: Sequence[RunView | PageSubject],
    folder: Path,
    *,
    topk: int = TOPK,
    formats: Collection[str] = FORMATS,
    answers: Sequence[ReportedAnswers] = (),
) -> WrittenReport:
    """Write a report over some runs into `folder`, which is made if it is not there.

    Args:
        about: At least one. With several, one report is over all; plots are one per run, their
            names ending in the model. What a `PageSubject` has beside its run is in the page alone.
        topk: Layers in pictures and short lists; at least 1. ``per_layer_times.csv`` has all.
        formats: Of `FORMATS`.
        answers: Comparisons to carry, before that of the outputs that the runs themselves kept.

    Raises:
        UsageError: No runs, an unknown format, or a `topk` below 1.
        OSError: The folder cannot be written.
    """
    subjects = [PageSubject(one) if isinstance(one, RunView) else one for one in about]
    _check(subjects, topk, formats)
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    skipped: list[tuple[str, str]] = []
    for name, make in _parts(subjects, topk, formats, answers):
        try:
            data = make()
        except MissingDependencyError as error:
            skipped.append((name, f"{error}; {error.hint}"))
            continue
        if isinstance(data, str):
            skipped.append((name, data))
            continue
        write_atomic(folder / name, data)
        files.append(folder / name)
    return WrittenReport(folder=folder, files=tuple(files), skipped=tuple(skipped))


def _check(subjects: Sequence[PageSubject], topk: int, formats: Collection[str]) -> None:
    if not subjects:
        raise UsageError("a report needs at least one run", hint="enginescope runs lists them")
    if topk < 1:
        raise UsageError(f"topk is {topk}", hint="give at least 1")
    for one in formats:
        if one not in FORMATS:
            raise UsageError(f"{one!r} is not a report format", hint=did_you_mean(one, FORMATS))


#: Returns a file's content, or a sentence on why there is none.
_Make: TypeAlias = Callable[[], "bytes | str"]


def _parts(
    subjects: Sequence[PageSubject],
    topk: int,
    formats: Collection[str],
    answers: Sequence[ReportedAnswers],
) -> Iterator[tuple[str, _Make]]:
    views = [subject.view for subject in subjects]
    own = answers_kept([view.run for view in views])
    answers = answers if own is None else (*answers, own)
    every: dict[str, _Make] = {
        **data_files(views, topk, answers),
        "report.md": lambda: report_markdown(subjects, topk=topk, answers=answers),
        "report.html": lambda: report_page(subjects, topk=topk, answers=answers),
    }
    yield from ((name, make) for name, make in every.items() if name.partition(".")[2] in formats)
    if "png" in formats:
        if any(view.run.gpu and view.run.gpu.series for view in views):
            yield "gpu_telemetry.png", lambda: _png(telemetry_picture(views), "no GPU telemetry")
        for view, ending in zip(views, _endings(views), strict=True):
            yield from _plots(view, ending, topk)


def _endings(views: Sequence[RunView]) -> list[str]:
    """Return what plots' names end in: the model, and the run where several have that model."""
    if len(views) == 1:
        return [""]
    names = [re.sub(r"[^\w.-]+", "_", view.run.job.subject.name) for view in views]
    return [
        f"_{name}_{view.id}" if names.count(name) > 1 else f"_{name}"
        for name, view in zip(names, views, strict=True)
    ]


def _plots(view: RunView, ending: str, topk: int) -> Iterator[tuple[str, _Make]]:
    yield f"latency_hist{ending}.png", lambda: _png(latency_distribution(view), "no samples")
    yield f"percentiles{ending}.png", lambda: _png(percentiles(view), "no samples")
    bars = layer_bars(view.layers, topk)
    yield f"per_layer_time{ending}.png", lambda: _png(bars, "no layer times")


def _png(chart: Chart | None, why_none: str) -> bytes | str:
    return png_bytes(chart) if chart else f"the run has {why_none}"


def subject_slide(subjects: Sequence[PageSubject]) -> Slide:
    """Return the figure of a run with where its time goes, or several runs on one scale."""
    if len(subjects) > 1:
        return _several(subjects)
    (subject,) = subjects
    view, told = subject.view, []
    answer = f"{view.run.job.subject.name} · {backend_text(view.run.job.backend)}"
    if (latency := view.latency) is not None:
        median = f"median {format_ms(latency.median_ms)}"
        answer += f": {metric_title(latency.metric).lower()}, {median}"
        told = [f"{interval_text(latency)}, {count_text(latency)}"]
    elif main := first_figures(view).main:
        answer += f": {main.label} {main.value}"
    version = subject.tensorrt_version
    conditions = (
        *(subject_line(view.run), options_line(view.run), subject.made_on),
        f"TensorRT {version}" if version else "",
    )
    return Slide(
        answer=answer,
        lines=(*told, *first_changes(subject.findings)),
        chart=layer_bars(view.layers, 10) or latency_distribution(view),
        conditions=tuple(filter(None, conditions)),
        notices=view.notices,
    )


def _several(subjects: Sequence[PageSubject]) -> Slide:
    from enginescope.render.page.overview import overview_chart, overview_sentence

    views = [subject.view for subject in subjects]
    places = dict.fromkeys(subject.made_on for subject in subjects)
    answer = overview_sentence(views) or f"{len(views)} runs"
    return Slide(answer=answer, chart=overview_chart(views), conditions=tuple(filter(None, places)))
