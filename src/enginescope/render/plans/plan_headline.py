"""The first screen of a plan that was not measured as a whole: its layers, their time, its size.

How many layers launch kernels, and what of the others took time, in words.
What a part of the page is about: a run, its plan, and what was given beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from pathlib import PurePath

from enginescope.analysis.layers.layer_table import LayerRow, slowest_first
from enginescope.analysis.plans.plan_columns import PlanTotals
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.gpu_limits import GpuLimits, gpu_limits
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_bytes
from enginescope.formats.onnx.onnx_graph import OnnxGraph
from enginescope.formats.plan.overlay_file import Overlay
from enginescope.judge.units import format_ms, format_significant
from enginescope.records.environment import Device
from enginescope.records.plan.build_trace import BuildTrace
from enginescope.render.base.facts import given_gpu_text, inputs_text, place_line
from enginescope.render.base.phrases import Figure, Headline, metric_title
from enginescope.rules.base import Finding, LintInput, Severity
from enginescope.rules.engine import LintReport, lint


def timed_at_rest(rows: Iterable[LayerRow]) -> int:
    """Count the layers that launch no kernel and took time: shape calls, which run on the host."""
    return sum(row.is_inert and bool(row.time_ms) for row in rows)


def layers_text(totals: PlanTotals, timed: int) -> str:
    """Return ``32 layers: 24 launch work, 8 launch nothing``; ``3 layers`` if all launch work.

    Args:
        timed: Layers that launch no kernel and took time.
    """
    others = totals.layers - totals.active_layers
    count = f"{totals.layers:,} {'layer' if totals.layers == 1 else 'layers'}"
    if not others:
        return count
    first, second = (
        f"{number:,} {'launches' if number == 1 else 'launch'}"
        for number in (totals.active_layers, others)
    )
    rest = f"{second} no kernel, {timed:,} of which took time" if timed else f"{second} nothing"
    return f"{count}: {first} work, {rest}"


class PageSubject:
    """One run as the page's sections see it; everything is computed when first asked for.

    Args:
        gpu: For the roofline; by default those of the run's device, where they are known.
        onnx: The model that the plan was built from.
        story: What the log of its build tells.
        overlay: The reader's own figures of its layers.
    """

    def __init__(
        self,
        view: RunView,
        *,
        gpu: GpuLimits | None = None,
        onnx: OnnxGraph | None = None,
        story: BuildTrace | None = None,
        overlay: Overlay | None = None,
    ) -> None:
        self.view = view
        devices = view.run.environment.devices
        self._given = gpu
        self._device = Device(name=gpu.name) if gpu else devices[0] if devices else None
        self.gpu = gpu or gpu_limits(self.device_name)
        self.onnx = onnx
        self.story = story
        self.overlay = overlay

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
        given = LintInput.of_run(self.view, self._device)
        return lint(given) if given else None

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


def plan_title(subject: PageSubject) -> str:
    """Return ``resnet18 · plan · 1×3×224×224``."""
    run = subject.view.run
    parts = (run.job.subject.name, "plan" if run.plan else "layer times", inputs_text(run))
    return " · ".join(part for part in parts if part)


def plan_about(subject: PageSubject) -> tuple[str, ...]:
    """Return GPU, TensorRT and the files that were read."""
    run = subject.view.run
    version = subject.tensorrt_version
    names = [PurePath(artifact.path).name for artifact in run.artifacts]
    more = f" and {len(names) - 1} beside it" if len(names) > 1 else ""
    return (
        subject.made_on or "GPU not known",
        f"TensorRT {version}" if version else "version of TensorRT not known",
        *((f"from {names[0]}{more}",) if names else ()),
    )


def plan_headline(subject: PageSubject) -> Headline:
    """Return the sum of layer times, then layers, weights, activations, precisions, findings."""
    beside = (_layers(subject), *_sizes(subject), *_precisions(subject), *_findings(subject))
    main = _sum(subject)
    if main is None:
        return Headline(main=beside[0], beside=beside[1:])
    return Headline(main=main, beside=beside)


def _sum(subject: PageSubject) -> Figure | None:
    view = subject.view
    found = view.layer_sum
    if found is None:
        return None
    count = f" of {found.iterations:,} iterations" if found.iterations else ""
    printed = (
        f"{metric_title(one.metric)} without one: {format_ms(one.mean_ms)}"
        for one in (view.run.tool.summaries if view.run.tool else ())
        if one.metric == "gpu_compute" and one.mean_ms is not None
    )
    is_own = found.is_own or found.profiler_ms is not None
    how = "without the profiler's part" if is_own else "under a profiler"
    note = "\n".join((f"{found.statistic}s{count}, {how}", *printed))
    return Figure(label="layer times, sum", value=format_ms(found.sum_ms), note=note)


def _layers(subject: PageSubject) -> Figure:
    totals = subject.view.plan_totals
    if totals is None:
        return Figure(label="layers", value=f"{len(subject.layers):,}", note="times, no plan")
    note = f"{totals.active_layers:,} launch work"
    timed = timed_at_rest(subject.layers)
    if timed:
        note += f"\n{timed:,} that {'launches' if timed == 1 else 'launch'} no kernel took time"
    if subject.view.run.profile is None:
        is_foreign = subject.view.given.profile is not None
        why = (
            "those given are of another build"
            if is_foreign
            else "none were given or found next to the plan"
        )
        note += f"\nno layer times: {why}"
    return Figure(label="layers", value=f"{totals.layers:,}", note=note)


def _sizes(subject: PageSubject) -> tuple[Figure, ...]:
    totals = subject.view.plan_totals
    if totals is None or subject.view.run.plan is None:
        return ()
    if subject.view.run.plan.source_schema == "names-only":
        return ()
    moved = format_bytes(totals.activation_bytes)
    parts = totals.whole_parts
    inside = f"without the contents of {parts:,} {'layer' if parts == 1 else 'layers'}"
    return (
        Figure(
            label="weights",
            value=format_bytes(totals.weights_bytes),
            note=inside if parts else None,
        ),
        Figure(label="activations", value=moved, note="read and written"),
    )


def _precisions(subject: PageSubject) -> tuple[Figure, ...]:
    """How the time, or without times the layers that work, are split; the two greatest parts."""
    shares = [one for one in subject.view.time_by_precision if one.share_pct and one.key]
    if shares:
        parts = [(share.key or "", share.share_pct or 0.0) for share in shares]
        return _split(parts, "of the time")
    known = [row.precision for row in subject.layers if row.precision and not row.is_inert]
    counts = Counter(known).most_common()
    return _split([(name, 100 * count / len(known)) for name, count in counts], "of the layers")


def _split(parts: list[tuple[str, float]], of_what: str) -> tuple[Figure, ...]:
    texts = [f"{name} {format_significant(share)} %" for name, share in parts]
    if not texts:
        return ()
    note = "\n".join((of_what, *((", ".join(texts[1:3]),) if texts[1:] else ())))
    return (Figure(label="precision", value=texts[0], note=note),)


def _findings(subject: PageSubject) -> tuple[Figure, ...]:
    report = subject.findings
    if report is None:
        return ()
    warnings = sum(finding.severity is not Severity.INFO for finding in report.findings)
    note = f"{warnings:,} {'warning' if warnings == 1 else 'warnings'}"
    return (Figure(label="findings", value=f"{len(report.findings):,}", note=note),)
