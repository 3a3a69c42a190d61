"""A plan opened from Python, with its charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginescope.analysis.gpu_limits import GpuLimits
from enginescope.analysis.plan_profile import (
    of_plan_profile,
    plan_profiles,
    times_of_plan_profile,
)
from enginescope.analysis.plan_view import PlanView
from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.model.environment import Device
from enginescope.model.plan import Plan

if TYPE_CHECKING:
    from enginescope.analysis.run_view import RunView
    from enginescope.analysis.whole_request import WholeRequest
    from enginescope.chart_display import ChartDisplay
    from enginescope.graph_display import GraphDisplay


class OpenedPlan(PlanView):
    """A plan with its times, work and limits, and the charts of the report card.

    Everything of `PlanView`, and `chart` and `graph`. Notebooks show it as tables, plain HTML.

    Attributes
    ----------
    whole : WholeRequest or None
        Metric and mean in ms of whole requests, to hold the sum of the layers against.
    """

    whole: WholeRequest | None = None

    @property
    def chart_names(self) -> Mapping[str, str]:
        """Every chart there is, and what it shows; see ``docs/report-card.md``."""
        from enginescope.render.charts.card.every import PLAN_CHARTS

        return {name: one.shows for name, one in PLAN_CHARTS.items()}

    def chart(self, name: str, **options: Any) -> ChartDisplay:
        """Return a chart that a notebook shows, and that can be saved.

        Parameters
        ----------
        name : str
            Of `chart_names`: ``"latency-per-type"``.
        **options
            Of that chart: ``top=10``, ``color="macs"``, ``x="intensity"``.

        Raises
        ------
        UsageError
            There is no such chart or option, or the plan has nothing to show in it: no layer
            times, no convolutions.
        """
        from enginescope.chart_display import ChartDisplay

        made = self._make(name, options)
        if made is None:
            raise UsageError(
                f"{self.plan.name} has nothing to show in {name!r}",
                why="it has no layer times" if self.profile is None else None,
                hint="charts() has those that it has something for",
            )
        return ChartDisplay(made)

    def charts(self) -> dict[str, ChartDisplay]:
        """Return every chart that the plan has something for, by name."""
        from enginescope.chart_display import ChartDisplay

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

        Parameters
        ----------
        color : {"type", "precision", "time", "lint"}
        beam : str, optional
            ``"LAYER,N"``: only what lies within N steps of a layer.
        only, highlight : sequence of str
            What is drawn, the rest folded; what is framed. ``"type:Reformat"``,
            ``"precision:INT8"``, or a regular expression sought in names and tactics.

        Raises
        ------
        UsageError
            There is no such layer or colouring, or nothing is left to draw.
        """
        from enginescope.graph_display import GraphDisplay
        from enginescope.render.graph.picture import Picture, Wish

        wish = Wish(coloring=color, beam=beam, filters=tuple(only), highlights=tuple(highlight))
        device = Device(name=self.gpu.name) if self.gpu is not None else None
        picture = Picture(self.plan, self.profile, wish, device=device)
        return GraphDisplay(self.plan.name, picture)

    def _repr_html_(self) -> str:
        from enginescope.render.notebook.plan import plan_html

        return plan_html(self, self.whole)

    def _make(self, name: str, options: Mapping[str, Any]) -> Any:
        from enginescope.render.charts.card.every import PLAN_CHARTS

        if name not in PLAN_CHARTS:
            raise UsageError(f"there is no chart {name!r}", hint=did_you_mean(name, PLAN_CHARTS))
        found = PLAN_CHARTS[name]
        for one in options:
            if one not in found.options:
                have = ", ".join(found.options) or "none"
                raise UsageError(f"{name!r} has no option {one!r}", hint=f"it has {have}")
        return found.make(self, **options)


def plan(
    what: str | PathLike[str] | RunView | PlanView,
    *,
    profile: str | PathLike[str] | None = None,
    gpu: str | GpuLimits | None = None,
    onnx: str | PathLike[str] | None = None,
    plan_profile: int = 0,
    store: str | PathLike[str] | None = None,
) -> OpenedPlan:
    """Open a plan: its layers, times and work, as data frames and charts.

    Parameters
    ----------
    what : path, name, RunView or PlanView
        What ``enginescope explore`` takes: a plan's JSON, with the files beside it that are named
        like it; an engine, where TensorRT is installed; a folder or an archive of one engine's
        files; a stored run: its folder, the beginning of its id, a tag, ``latest``.
    profile : path, optional
        Layer times, where they are not beside the plan.
    gpu : str or GpuLimits, optional
        For the roofline.
    onnx : path, optional
        The model that the plan was built from.
    plan_profile : int
        Optimisation profile to look at, of a plan that has several.
    store : path or database URL, optional
        Where runs are looked for by name; by default where the command line does.

    Raises
    ------
    UsageError
        There is no plan, or no such profile.
    FormatError, StoreError
        A file cannot be used, or there is no such run.
    MissingDependencyError, BackendError
        An engine cannot be asked here.

    Examples
    --------
    >>> view = es.plan("net.graph.json")                       # doctest: +SKIP
    >>> view.chart("latency-per-type")                         # doctest: +SKIP
    >>> view.to_pandas("Convolution")["attr.macs"].sum()       # doctest: +SKIP
    """
    from enginescope.analysis.run_view import RunView
    from enginescope.formats.onnx_graph import onnx_graph_of_plan
    from enginescope.planned_run import planned_run

    run = planned_run(what, profile=profile, store=store)
    assert run.plan is not None
    times, several = run.profile, plan_profiles(run.plan)
    if times is not None and several:
        times = times_of_plan_profile(times, plan_profile)
    shown: Plan = of_plan_profile(run.plan, plan_profile)
    graph = onnx_graph_of_plan(shown, Path(onnx)) if onnx is not None else None
    if isinstance(what, PlanView):
        gpu, graph = gpu or what.gpu, graph or what.onnx
    view = OpenedPlan(shown, times, gpu=gpu, onnx=graph)
    view.whole = RunView(run).whole_request
    return view
