"""What a part of the page is about: a run, its plan, and what was given beside it."""

from __future__ import annotations

from functools import cached_property

from enginescope.analysis.layers.layer_table import LayerRow, slowest_first
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.gpu_limits import GpuLimits, gpu_limits
from enginescope.analysis.runs.run_view import RunView
from enginescope.formats.onnx.onnx_graph import OnnxGraph
from enginescope.records.environment import Device
from enginescope.records.plan.build_trace import BuildTrace
from enginescope.render.base.facts import given_gpu_text, place_line
from enginescope.rules.base import Finding, LintInput
from enginescope.rules.engine import LintReport, lint


class PageSubject:
    """One run as the page's sections see it; everything is computed when first asked for.

    Args:
        gpu: For the roofline; by default those of the run's device, where they are known.
        onnx: The model that the plan was built from.
        story: What the log of its build tells.
    """

    def __init__(
        self,
        view: RunView,
        *,
        gpu: GpuLimits | None = None,
        onnx: OnnxGraph | None = None,
        story: BuildTrace | None = None,
    ) -> None:
        self.view = view
        devices = view.run.environment.devices
        self._given = gpu
        self._device = Device(name=gpu.name) if gpu else devices[0] if devices else None
        self.gpu = gpu or gpu_limits(self.device_name)
        self.onnx = onnx
        self.story = story

    @property
    def device_name(self) -> str | None:
        """Name of the GPU: the one given, else the run's."""
        return self._device.name if self._device else None

    @property
    def made_on(self) -> str | None:
        """The run's GPU or processor; where none is known the GPU given, said to be given."""
        return place_line(self.view.run) or (
            given_gpu_text(self._given.name) if self._given else None
        )

    @property
    def tensorrt_version(self) -> str | None:
        """The run's, else that of the log of the build."""
        known = self.view.run.environment.versions.get("tensorrt")
        return known or (self.story.tensorrt_version if self.story else None)

    @property
    def is_measured(self) -> bool:
        """Whether it is about requests: measured, or meant to be; else about a plan's layers."""
        run = self.view.run
        return run.origin == "measured" or bool(run.samples) or not (run.plan or run.profile)

    @cached_property
    def plan(self) -> PlanView | None:
        """The plan with its times, work and limits; ``None`` for a run without a plan."""
        bare = self.view.plan_view
        if bare is None or (self.gpu is None and self.onnx is None):
            return bare
        return bare.against(self.gpu, self.onnx)

    @cached_property
    def findings(self) -> LintReport | None:
        """What every rule finds in the plan; ``None`` without one."""
        run = self.view.run
        if run.plan is None:
            return None
        given = LintInput(
            plan=run.plan,
            profile=self.view.given.profile,
            device=self._device,
            fed=run.inputs,
            profile_index=run.job.backend.profile_index,
            works=self.view.plan_view.own_works if self.view.plan_view else None,
        )
        return lint(given)

    @cached_property
    def findings_of_layer(self) -> dict[int, tuple[Finding, ...]]:
        """Findings by the index of each layer concerned, most time at stake first."""
        found: dict[int, list[Finding]] = {}
        for one in self.findings.findings if self.findings else ():
            for index in one.layers:
                found.setdefault(index, []).append(one)
        return {index: tuple(some) for index, some in found.items()}

    @cached_property
    def layers(self) -> tuple[LayerRow, ...]:
        """The view's layers, the slowest first: the order in which the page lists them."""
        return slowest_first(self.view.layers)

    @cached_property
    def row_of_layer(self) -> dict[int, int]:
        """Place in `layers` of each of the plan's layers, by its index."""
        return {row.index: place for place, row in enumerate(self.layers) if row.in_plan}

    @cached_property
    def position_of_layer(self) -> dict[int, int]:
        """Position in the plan of each of its layers, by its index."""
        layers = self.plan.all_layers if self.plan else ()
        return {layer.index: position for position, layer in enumerate(layers)}
