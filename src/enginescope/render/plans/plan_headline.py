"""What a page is about: a run, its plan and what was given beside it; its four first numbers.

How many layers launch kernels, and what of the others took time, in words.
"""

from collections.abc import Iterable
from functools import cached_property
from pathlib import PurePath

from enginescope.analysis.graph.folding.flow_order import NodeTraits
from enginescope.analysis.graph.folding.fold import fold
from enginescope.analysis.graph.folding.levels import FOLDINGS, Group
from enginescope.analysis.graph.plan_graph import PlanGraph, plan_graph
from enginescope.analysis.layers.layer_table import LayerRow, slowest_first
from enginescope.analysis.memory.memory_view import MemoryView, memory_of
from enginescope.analysis.plans.plan_columns import PlanTotals
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.roofline import GpuLimits, gpu_limits
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.process_control import gc_paused
from enginescope.core.record import replace
from enginescope.core.units import format_bytes
from enginescope.formats.onnx.onnx_graph import OnnxGraph
from enginescope.formats.plan.overlay_file import Overlay
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.records.environment import Device
from enginescope.records.plan.build_trace import BuildTrace
from enginescope.render.base import phrases
from enginescope.render.base.facts import given_gpu_text, inputs_text, place_line
from enginescope.render.base.figures import first_figures, rate_figures
from enginescope.rules.base import Finding
from enginescope.rules.catalogue import every_rule
from enginescope.rules.engine import LintReport, lint
from enginescope.rules.view import LintInput


def timed_at_rest(rows: Iterable[LayerRow]) -> int:
    """Count the layers that launch no kernel and took time: shape calls, which run on the host."""
    return sum(row.is_inert and bool(row.time_ms) for row in rows)


def layers_text(totals: PlanTotals, timed: int) -> str:
    """Return ``32 layers: 24 launch work, 8 launch nothing``; ``3 layers`` if all launch work.

    Args:
        timed: Layers that launch no kernel and took time.
    """
    others = totals.layers - totals.active_layers
    count = counted(totals.layers, "layer")
    if not others:
        return count
    numbers = totals.active_layers, others
    first, second = (f"{n:,} {'launches' if n == 1 else 'launch'}" for n in numbers)
    rest = f"{second} no kernel, {timed:,} of which took time" if timed else f"{second} nothing"
    return f"{count}: {first} work, {rest}"


def memory_text(totals: PlanTotals) -> str:
    """Return the bytes of a plan's tensors, and which of them are not counted."""
    moved = f"activations {format_bytes(totals.activation_bytes)}"
    if totals.activation_bytes is not None:
        moved += " read and written"
    if totals.padded_activation_bytes != totals.activation_bytes:
        moved += f" ({format_bytes(totals.padded_activation_bytes)} with padding)"
    biases = f", biases {format_bytes(totals.bias_bytes)}" if totals.bias_bytes else ""
    text = f"weights {format_bytes(totals.weights_bytes)}{biases}, {moved}"
    if totals.unknown_tensors:
        uses = counted(totals.unknown_tensors, "use")
        text += f"; {uses} of tensors of unknown size not counted"
    if parts := totals.whole_parts:
        stand = f"{counted(parts, 'layer')} that {'stands' if parts == 1 else 'stand'}"
        text += f"; without the contents of {stand} for a part of the network"
    return text


#: Graphs with more nodes are laid out as a whole only if nothing in them can be folded.
MOST_UNFOLDED = 6_000


def foldings(graph: PlanGraph) -> dict[str, Group]:
    """Return the foldings there are by name, modules first."""
    found: dict[str, Group] = {}
    traits = NodeTraits(graph)
    for folding in FOLDINGS:
        is_large = folding == "none" and found and len(graph.nodes) > MOST_UNFOLDED
        if not is_large and (tree := fold(graph, folding, traits)) is not None:
            found[folding] = tree
    return found


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

    @cached_property
    def memory(self) -> MemoryView | None:
        """What fills the memory; ``None`` without a plan that tells its tensors."""
        run, plan = self.view.given, self.plan
        if plan is None:
            return None
        return memory_of(
            plan.plan,
            run.arenas,
            roles=plan.kinds.roles,
            process_bytes=run.peak_memory_bytes,
            device=run.device_memory,
        )

    @property
    def made_on(self) -> str | None:
        """The run's GPU or processor; where none is known the GPU given, said to be given."""
        given = given_gpu_text(self._given.name) if self._given else None
        return place_line(self.view.run) or given

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
        """Findings by the index of each layer concerned, most time at stake first.

        What a rule finds of the engine as a whole is of no layer.
        """
        whole = {rule.code for rule in every_rule() if rule.is_of_engine}
        found: dict[int, list[Finding]] = {}
        for one in self.findings.findings if self.findings else ():
            for index in one.layers if one.code not in whole else ():
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
    def graph(self) -> PlanGraph | None:
        """The plan's graph; ``None`` without a plan or where no layer does anything."""
        if self.plan is None or not self.plan.all_layers:
            return None
        with gc_paused():
            found = plan_graph(self.plan.plan)
        return found if found.nodes else None

    @cached_property
    def trees(self) -> dict[str, Group]:
        """The graph's modules, its repeated blocks, its layers one by one: those that it has."""
        return foldings(self.graph) if self.graph else {}

    @cached_property
    def position_of_layer(self) -> dict[int, int]:
        """Position in the plan of each of its layers, by its index."""
        layers = self.plan.all_layers if self.plan else ()
        return {layer.index: position for position, layer in enumerate(layers)}


def plan_title(subject: PageSubject) -> str:
    """Return ``resnet18 · plan · 1×3×224×224``."""
    run = subject.view.run
    parts = (run.job.subject.name, "plan" if run.plan else "layer times", inputs_text(run))
    return " · ".join(filter(None, parts))


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


def first_numbers(subject: PageSubject) -> phrases.Headline:
    """Return latency and, as far as they are known, throughput, layer times, losses, known fixes.

    A run of which neither floors nor findings are known has its own first figures.
    """
    losses = [one for one in (_above_floor(subject), _fixes(subject)) if one is not None]
    found, layers = subject.view.layer_sum, []
    note = phrases.layer_sum_note(found) if found and subject.is_measured else None
    if found and note:  # their sum is another time than the latency
        label, value = f"{found.part} times, sum", format_ms(found.sum_ms)
        layers.append(phrases.Figure(label=label, value=value, note=note, leads_to="time"))
    if subject.is_measured and not losses:
        own = first_figures(subject.view)
        return replace(own, beside=(*layers, *own.beside))
    main, beside = _latency(subject), (*_rates(subject), *layers, *losses)
    if subject.is_measured and main.is_weak:  # of one busy machine, as the latency is
        beside = tuple(replace(one, is_weak=True) for one in beside)
    return phrases.Headline(main=main, beside=beside)


def _latency(subject: PageSubject) -> phrases.Figure:
    view = subject.view
    measured = first_figures(view).main if subject.is_measured else None
    if measured is not None:
        return measured
    found = view.layer_sum
    if found is None:
        why = "no layer times were given or found next to the plan"
        if view.given.profile is not None:
            why = "the layer times given are of another build"
        return phrases.Figure(label="time", value="not known", note=why, is_weak=True)
    count = f" of {counted(found.iterations, 'iteration')}" if found.iterations else ""
    how = "own times, without the profiler's part" if found.is_own else "under a profiler"
    if found.whole_metric and (found.is_same or found.profiler_ms is not None):
        whole = f"the {phrases.in_text(found.whole_metric)}, {format_ms(found.whole_ms)}"
        how = f"{how}; the same as {whole}" if found.profiler_ms is None else f"fitted to {whole}"
    about = f"{found.statistic}s{count}; {phrases.sum_interval_text(found)}"
    note = "\n".join(filter(None, (about, how, phrases.layer_sum_note(found))))
    return phrases.Figure(
        label=f"{found.part} times, sum", value=format_ms(found.sum_ms), note=note
    )


def _rates(subject: PageSubject) -> tuple[phrases.Figure, ...]:
    totals, rates = subject.view.plan_totals, rate_figures(subject.view)
    if rates or subject.is_measured or totals is None:
        return rates
    note = f"activations {format_bytes(totals.activation_bytes)}, read and written"
    weights = format_bytes(totals.weights_bytes)
    return (phrases.Figure(label="weights", value=weights, note=note, leads_to="memory"),)


def no_floors_text(subject: PageSubject) -> str | None:
    """Say why the layers have no floors; ``None`` where they have."""
    view = subject.plan
    if view is not None and view.roofline is not None:
        return None
    if view is None:
        return "the run has no plan"
    if subject.is_measured and not subject.view.run.environment.devices:
        return "limits are known for GPUs only"
    return "name the GPU: --gpu NAME"


def _above_floor(subject: PageSubject) -> phrases.Figure | None:
    """What all layers would save at the GPU's limits, and what limits them."""
    view = subject.plan
    found = view.roofline if view else None
    if view is None or found is None:
        return None
    counts = ", ".join(f"{count:,} {name}" for name, count in sorted(found.bounds.items()))
    label = "time above the floor" if view.engine_ms else "least time"
    known = len(found.layers) - len(found.lacking)
    note = f"{found.gpu.name}: floor of {known:,} of {counted(len(found.layers), 'layer')} known"
    unknown_ms = sum(one.time_ms or 0.0 for one in found.unranked)
    count = counted(len(found.unranked), "layer")
    unknown = f"\nfloor unknown: {count}, {format_ms(unknown_ms, 3)}" if found.unranked else ""
    value = format_ms(found.least_ms, 3) if found.is_known else "not known"
    if found.is_known and view.engine_ms:
        saved_ms, layers = found.saving_ms(), len(found.worst(len(found.layers)))
        of = f"{format_ms(saved_ms, 3)} of {format_ms(view.engine_ms, 3)}"
        note = f"{of}, in {counted(layers, 'layer')}\nfloor: least time the {found.gpu.name} allows"
        note += f"\nfloor by: {counts}"
        value = f"{format_significant(100 * saved_ms / view.engine_ms, 2)} %"
    is_weak, note = not found.is_known, note + unknown
    return phrases.Figure(label=label, value=value, note=note, leads_to="roofline", is_weak=is_weak)


def _fixes(subject: PageSubject) -> phrases.Figure | None:
    report = subject.findings
    if report is None:
        return None
    saving, count = report.saving, counted(len(report.findings), "finding")
    share_pct = saving.share_pct(saving.bound_ms)
    if share_pct is None or saving.bound_ms is None or report.engine_ms is None:
        why = "savings unknown: no layer times" if report.sum_ms is None else "no known saving"
        return phrases.Figure(label="known fixes", value=count, note=why, leads_to="findings")
    of = ", the layers' sum" if subject.is_measured and report.engine_ms == report.sum_ms else ""
    note = f"{format_ms(saving.bound_ms, 3)} of {format_ms(report.engine_ms, 3)}{of}; {count}"
    timed = [one.saving for one in report.findings if one.saving.bound_ms is not None]
    if sum(one.alone_ms or 0.0 for one in timed) > saving.bound_ms * (1 + 1e-9):
        note += "\nthat overlap: their savings do not add up"
    if saving.unknown_of_ms:
        note += f"\nand an unknown part of {format_ms(saving.unknown_of_ms, 3)}"
    value = f"at most {format_significant(share_pct, 2)} %"
    return phrases.Figure(label="known fixes save", value=value, note=note, leads_to="findings")
