"""A plan with its charts and its graph, explored plans and results that are files, displayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.roofline import GpuLimits
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.notebook.display import displayed, shown_as
from enginescope.records.environment import Device
from enginescope.records.run.passport import Passport
from enginescope.render.charts.card.registry import PLAN_CHARTS
from enginescope.render.page.page import run_charts
from enginescope.render.page.report import WrittenReport
from enginescope.services.declared import path_of
from enginescope.services.measurement import explore as explore_service
from enginescope.services.observer import PlanObserver
from enginescope.services.plans import archive as archive_service
from enginescope.services.plans import passport as passport_service
from enginescope.services.plans import process as process_service
from enginescope.services.plans import report as report_service
from enginescope.services.plans.explore import Explored
from enginescope.services.plans.plan_input import CompanionFiles, PlanName
from enginescope.services.plans.resolve_plan import OpenPlanRequest, open_plan_as
from enginescope.services.store_access import place_of

if TYPE_CHECKING:
    from enginescope.notebook.chart import ChartDisplay, GraphDisplay


class OpenedPlan(PlanView):
    """A plan with its times, work and limits, and the charts of the report card.

    Everything of `PlanView`, and `chart` and `graph`. Notebooks show it as tables, plain HTML.
    """

    @property
    def chart_names(self) -> Mapping[str, str]:
        """Every chart there is, and what it shows; see ``docs/reference/report-card.md``."""
        return {name: one.shows for name, one in PLAN_CHARTS.items()}

    def chart(self, name: str, **options: Any) -> ChartDisplay:
        """Return a chart that a notebook shows, and that can be saved.

        Args:
            name: Of `chart_names`: ``"latency-per-type"``.
            **options: Of that chart: ``top=10``, ``color="macs"``, ``x="intensity"``.

        Raises:
            UsageError: There is no such chart or option, or the plan has no data for it: no
                layer times, no convolutions.
        """
        from enginescope.notebook.chart import ChartDisplay

        made = self._make(name, options)
        if made is None:
            raise UsageError(
                f"{self.plan.name} has no data for {name!r}",
                why="it has no layer times" if self.profile is None else None,
                hint="charts() lists the charts that have data",
            )
        return ChartDisplay(made)

    def charts(self) -> dict[str, ChartDisplay]:
        """Return every chart that the plan has something for, by name."""
        from enginescope.notebook.chart import ChartDisplay

        made = {name: self._make(name, {}) for name in self.chart_names}
        return {name: ChartDisplay(one) for name, one in made.items() if one is not None}

    def graph(
        self,
        *,
        color: str = "type",
        beam: str | None = None,
        only: Sequence[str] = (),
        highlight: Sequence[str] = (),
    ) -> GraphDisplay:
        """Return a picture of the layers that a notebook shows, and that can be saved.

        Args:
            beam: ``"LAYER,N"``: only what lies within N steps of a layer.
            only, highlight: What is drawn, the rest folded; what is framed. ``"type:Reformat"``,
                ``"precision:INT8"``, or a regular expression sought in names and tactics.

        Raises:
            UsageError: There is no such layer or coloring, or nothing is left to draw.
        """
        from enginescope.notebook.chart import GraphDisplay
        from enginescope.render.graph.write.picture import DrawingOptions, Picture
        from enginescope.render.sections.graph import graph_page

        options = DrawingOptions(color=color, beam=beam, filter=only, highlight=highlight)
        device = Device(name=self.gpu.name) if self.gpu is not None else None
        picture = Picture(self.plan, self.profile, options, device=device)
        if beam or only or highlight:
            return GraphDisplay(self.plan.name, picture)
        facts = EngineFacts(name=self.plan.name, plan=self.plan, profile=self.profile)
        own, view = "findings" if color == "lint" else color, RunView(run_of_engine(facts))
        page = graph_page(view, own, gpu=self.gpu)
        return GraphDisplay(self.plan.name, picture, page)

    def _repr_html_(self) -> str:
        from enginescope.notebook.html_fragments import plan_html

        return plan_html(self, self.whole)

    def _make(self, name: str, options: Mapping[str, Any]) -> Any:
        if name not in PLAN_CHARTS:
            raise UsageError(f"there is no chart {name!r}", hint=did_you_mean(name, PLAN_CHARTS))
        found = PLAN_CHARTS[name]
        for one in options:
            if one not in found.options:
                have = ", ".join(found.options) or "none"
                raise UsageError(f"{name!r} has no option {one!r}", hint=f"it has {have}")
        return found.make(self, **options)


def open_plan(
    what: PlanName,
    *,
    profile: str | PathLike[str] | None = None,
    gpu: str | GpuLimits | None = None,
    onnx: str | PathLike[str] | None = None,
    plan_profile: int = 0,
    store: str | PathLike[str] | None = None,
) -> OpenedPlan:
    """Open a plan: its layers, times and work, as data frames and charts.

    Args:
        what: What ``enginescope explore`` takes: a plan's JSON, with the files beside it that are
            named like it; an engine, where TensorRT is installed; a folder or an archive of one
            engine's files; a stored run: its folder, the beginning of its id, a tag, ``latest``.
        profile: Layer times, where they are not beside the plan.
        gpu: For the roofline.
        onnx: The model that the plan was built from.
        plan_profile: Optimization profile to look at, of a plan that has several.
        store: Store of the runs; by default the command line's.

    Raises:
        UsageError: The plan or the profile does not exist.
        FormatError, StoreError: A file cannot be used, or there is no such run.
        MissingDependencyError, BackendError: TensorRT cannot inspect an engine here.

    Examples:
        >>> view = es.open_plan("net.graph.json")                  # doctest: +SKIP
        >>> view.chart("latency-per-type")                         # doctest: +SKIP
        >>> view.to_pandas("Convolution")["attr.macs"].sum()       # doctest: +SKIP
    """
    request = OpenPlanRequest(
        plan=what,
        companions=CompanionFiles(path_of(profile)),
        plan_profile=plan_profile,
        gpu=gpu,
        onnx=onnx,
        store=place_of(store),
    )
    return open_plan_as(OpenedPlan, request, PlanObserver())


plan = open_plan


class ShownExploration(Explored):
    """An explored plan; in notebooks its summary and tables, plain HTML."""

    def _summary(self) -> str:
        time = self.found.time
        total = f", {time.sum_ms:.6g} ms" if time is not None else ""
        return f"{self.found.name}: {len(self.found.layers):,} layers{total}"

    @property
    def charts(self) -> dict[str, ChartDisplay]:
        """The charts of the page by key, such as ``"latency-per-type"``."""
        from enginescope.notebook.chart import displays

        return displays(run_charts(self.subject))

    def _repr_html_(self) -> str:
        from enginescope.notebook.html_fragments import exploration_html

        return exploration_html(self.found, self.notices)


class ShownArchive(archive_service.CreatedArchive, frozen=True, kw_only=True):
    """An archive; in notebooks the files in it, plain HTML."""

    def _repr_html_(self) -> str:
        return _table(str(self.path), (entry.name for entry in self.manifest.files))


class ShownProcess(process_service.ProcessResult, frozen=True, kw_only=True):
    """The files of an engine; in notebooks a table of them, plain HTML."""

    def _repr_html_(self) -> str:
        return _table(f"Run {self.run_id}" if self.run_id else "No run", self.files)


class ShownReport(WrittenReport, frozen=True, kw_only=True):
    """A report; in notebooks its files and what was skipped, plain HTML."""

    def _repr_html_(self) -> str:
        return _table(str(self.folder), self.files, self.skipped)


class ShownPassport(Passport, frozen=True, kw_only=True):
    """A passport; in notebooks its facts, plain HTML."""

    def _repr_html_(self) -> str:
        from enginescope.notebook.html_fragments import fact_list, fragment, notice_list
        from enginescope.render.plans.passport_text import passport_facts

        return fragment(self.file, fact_list(passport_facts(self)), notice_list(self.notices))


def _table(title: str, files: Iterable[Path | str], skipped: Iterable[tuple[str, str]] = ()) -> str:
    from enginescope.notebook.html_fragments import data_table, fragment

    return fragment(
        title,
        data_table("Files", ("file",), ((str(file),) for file in files)),
        data_table("Skipped", ("file", "why"), skipped),
    )


explore = displayed(explore_service.explore, shown_as(ShownExploration))
archive = displayed(archive_service.archive, shown_as(ShownArchive))
passport = displayed(passport_service.passport, shown_as(ShownPassport))
process = displayed(process_service.process, shown_as(ShownProcess))
write_report = displayed(report_service.write_report, shown_as(ShownReport))
