"""The input of the rules, and a plan joined with times and flow, computed once for all rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from enginescope.analysis.claims.layer_claims import WholeRequest, engine_ms, layer_times
from enginescope.analysis.layers.layer_sum import other_build
from enginescope.analysis.layers.layer_table import joined_times
from enginescope.analysis.roofline.layer_work import LayerKinds, LayerWork, layer_kinds, layer_work
from enginescope.analysis.roofline.roofline import GpuLimits, gpu_limits, layer_roof
from enginescope.core.record import Record
from enginescope.records.environment import Device
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from enginescope.records.tensor import DataType, Tensor

if TYPE_CHECKING:
    from enginescope.analysis.runs.run_view import RunView


class Flow:
    """Layers before and after each layer, by index.

    TensorRT reuses memory, so several layers may write a tensor of the same name. A reader reads
    what was written since the last read, from several layers if TensorRT removed a concatenation.
    A loop may read a tensor before the plan writes it; such a read has no producer here.

    Attributes:
        before, after: Neighbors of each layer that has some; without no-ops.
        reads_input, writes_output: Layers that read the engine's inputs or write its outputs,
            directly or through no-ops.
    """

    def __init__(self, plan: Plan) -> None:
        self._writers: dict[str, tuple[int, ...]] = {}
        self._read: set[str] = set()  # since they were written last
        self._given = {one.tensor.name for one in plan.inputs}
        self.before: dict[int, tuple[int, ...]] = {}
        self.after: dict[int, tuple[int, ...]] = {}
        self.reads_input = frozenset(self._walk(plan.layers))
        self.writes_output = frozenset(
            index for output in plan.outputs for index in self._writers.get(output.tensor.name, ())
        )
        del self._writers, self._read, self._given  # as long as the plan
        further: dict[int, list[int]] = defaultdict(list)  # readers behind the first: few have any
        for index, producers in self.before.items():
            here = (index,)
            for producer in producers:
                if self.after.setdefault(producer, here) is not here:
                    further[producer].append(index)
        for index, readers in further.items():
            self.after[index] = (*self.after[index], *readers)

    def only_before(self, index: int) -> int | None:
        """Return the only layer that feeds a layer; ``None``: there are several, or none."""
        found = self.before.get(index, ())
        return found[0] if len(found) == 1 else None

    def only_after(self, index: int) -> int | None:
        """Return the only layer that reads a layer; ``None``: an output, several or none."""
        found = self.after.get(index, ())
        return found[0] if len(found) == 1 and index not in self.writes_output else None

    def _walk(self, layers: Iterable[Layer]) -> set[int]:
        """Find the producers of each layer; return the layers that read the engine's inputs.

        One loop, since a large plan has a hundred thousand tensors.
        """
        writers_of, read, given = self._writers, self._read, self._given
        first: set[int] = set()
        for layer in layers:
            if layer.type == "NoOp" or layer.subtype == "NoOp":
                self._pass_on(layer)
                continue
            index = layer.index
            found: tuple[int, ...] = ()
            for tensor in layer.inputs:
                name = tensor.name
                if name in given:
                    first.add(index)
                writers = writers_of.get(name)
                if writers is not None:
                    read.add(name)
                    found = tuple(dict.fromkeys((*found, *writers))) if found else writers
            here = (index,)
            if found:
                self.before[index] = found
            for tensor in layer.outputs:
                name = tensor.name
                before = writers_of.setdefault(name, here)
                if before is not here:
                    writers_of[name] = here if name in read else (*before, *here)
                    read.discard(name)
                if name in given:
                    given.discard(name)
        return first

    def _pass_on(self, layer: Layer) -> None:
        if not layer.inputs:
            return
        source = layer.inputs[0].name
        for tensor in layer.outputs:
            self._writers[tensor.name] = self._writers.get(source, ())
            self._read.discard(tensor.name)
            if source in self._given:
                self._given.add(tensor.name)


class Kind(NamedTuple):
    """Properties that many layers of a plan share.

    Attributes:
        reads, writes: Element types of the first input and the first output.
    """

    type: str
    reads: DataType | None
    writes: DataType | None


class LintInput(Record, frozen=True, kw_only=True):
    """Input of the rules: a plan and what is known of its run.

    Attributes:
        profile: Layer times. Without them no finding has a time at stake, and rules on times find
            nothing.
        device: The GPU that the plan is for.
        fed: Inputs of the measurement, with all dimensions known.
        profile_index: Index of the optimization profile in use.
        kinds: Of the plan's layers, if they are known already.
        whole: Time of a whole inference without the profiler.
        enqueue_ms: Time of the host to enqueue one inference, in ms.
        cuda_graph: Whether inferences ran as a CUDA graph; ``None``: unknown.
    """

    plan: Plan
    profile: Profile | None = None
    device: Device | None = None
    fed: tuple[Tensor, ...] = ()
    profile_index: int | None = None
    kinds: LayerKinds | None = None
    whole: WholeRequest | None = None
    enqueue_ms: float | None = None
    cuda_graph: bool | None = None

    @classmethod
    def of_run(cls, view: RunView, device: Device | None = None) -> LintInput | None:
        """Make the input of the rules from a run; return ``None`` if it has no plan.

        Args:
            device: GPU of the plan; by default that of the run.
        """
        run = view.given
        if run.plan is None:
            return None
        enqueue, known = view.summary("enqueue"), view.plan_view
        return cls(
            plan=run.plan,
            profile=view.run.profile or run.profile,
            device=device or next(iter(run.environment.devices), None),
            fed=run.inputs,
            profile_index=run.job.backend.profile_index,
            kinds=known.kinds if known and known.plan is run.plan else None,
            whole=view.whole_request,
            enqueue_ms=enqueue.mean_ms if enqueue else None,
            cuda_graph=run.job.workload.mode.cuda_graph,
        )


class LintView:
    """A plan, its times, and the flow between its layers.

    Attributes:
        given_profile: Layer times of the input. The view has no `profile` if they are of another
            build.
        device, fed, enqueue_ms, cuda_graph: See `LintInput`.
    """

    def __init__(self, given: LintInput) -> None:
        self.plan, self.device, self.fed = given.plan, given.device, given.fed
        self.given_profile = given.profile and layer_times(given.profile, given.whole)
        self.profile_index = given.profile_index or 0
        self.layer_kinds = given.kinds or layer_kinds(given.plan)
        self._whole = given.whole
        self.enqueue_ms, self.cuda_graph = given.enqueue_ms, given.cuda_graph
        #: Layers at an axis of an input, by its length, and at the outputs: see `tensor_cores`.
        self.interface: dict[int | None, set[int]] = {}

    @cached_property
    def layers(self) -> dict[int, Layer]:
        return {layer.index: layer for layer in self.plan.layers}

    @cached_property
    def active(self) -> tuple[Layer, ...]:
        """Layers that launch work."""
        return self.layer_kinds.roles.active

    @cached_property
    def kinds(self) -> dict[Kind, list[int]]:
        """Positions in the active layers, by the properties that rules select them by.

        A large plan has few kinds, and its layers lie far apart in memory. A rule that selects a
        kind does not visit the other layers.
        """
        found: dict[tuple[str, int, int], tuple[Kind, list[int]]] = {}
        for at, layer in enumerate(self.active):
            reads, writes = layer.inputs, layer.outputs
            before = reads[0].dtype if reads else None
            after = writes[0].dtype if writes else None
            key = (layer.type, id(before), id(after))  # hashing a member would call Python
            known = found.get(key)
            if known is None:
                found[key] = (Kind(layer.type, before, after), [at])
            else:
                known[1].append(at)
        return dict(found.values())

    @cached_property
    def given_times(self) -> tuple[dict[int, LayerTiming], tuple[LayerTiming, ...]]:
        """Times of the given profile by layer index, and the times that match no layer."""
        return joined_times(self.plan, self.given_profile) if self.given_profile else ({}, ())

    @cached_property
    def profile(self) -> Profile | None:
        """The given profile; ``None`` if it is of another build than the plan."""
        return None if other_build(self.plan, *self.given_times) else self.given_profile

    @property
    def timings(self) -> dict[int, LayerTiming]:
        """Times of the profile by layer index."""
        return self.given_times[0] if self.profile else {}

    @cached_property
    def flow(self) -> Flow:
        """Flow between the layers, computed on first use."""
        return Flow(self.plan)

    @cached_property
    def works(self) -> tuple[LayerWork, ...]:
        """Computation and memory traffic of each layer."""
        return layer_work(self.plan, self.layer_kinds)

    @cached_property
    def _work_of(self) -> dict[int, LayerWork]:
        return {layer.index: one for layer, one in zip(self.plan.layers, self.works, strict=True)}

    def work(self, layer: Layer) -> LayerWork:
        """Return the computation and memory traffic of a layer."""
        return self._work_of[layer.index]

    @cached_property
    def gpu(self) -> GpuLimits | None:
        """Peaks of the GPU; ``None``: unknown."""
        return gpu_limits(self.device.name) if self.device else None

    @cached_property
    def multiprocessors(self) -> int | None:
        """Number of multiprocessors, from the files or the table of GPUs; ``None``: unknown."""
        counted = self.device.sm_count if self.device else None
        return counted or (self.gpu.multiprocessors if self.gpu else None)

    @cached_property
    def sum_ms(self) -> float | None:
        """Sum of the layers' times in ms, as `explore` lists them."""
        return self.profile.sum_ms if self.profile else None

    @cached_property
    def engine_ms(self) -> float | None:
        """Time of a whole inference without the profiler, in ms; at least `sum_ms`."""
        return engine_ms(self.profile, self._whole)

    @cached_property
    def times_ms(self) -> dict[int, float]:
        """Time by layer index in ms, of layers that have one."""
        times = ((index, one.time_ms) for index, one in self.timings.items())
        return {index: time_ms for index, time_ms in times if time_ms is not None}

    def of_kinds(self, wanted: Callable[[Kind], bool]) -> list[Layer]:
        """Return the active layers of the `wanted` kinds, in the order of the plan."""
        groups = [places for kind, places in self.kinds.items() if wanted(kind)]
        active = self.active
        places = groups[0] if len(groups) == 1 else sorted(at for group in groups for at in group)
        return [active[at] for at in places]

    def of_types(self, types: Iterable[str]) -> list[Layer]:
        """Return the active layers of some types, in the order of the plan."""
        wanted = frozenset(types)
        return self.of_kinds(lambda kind: kind.type in wanted)

    def excess_ms(self, layer: Layer) -> dict[int, float] | None:
        """Return the time of a layer beyond its limit on the GPU in ms, the most that can be saved.

        Returns:
            Time by the layer's index; ``None``: the GPU, the layer's time or its work is unknown.
        """
        if self.gpu is None:
            return None
        roof = layer_roof(layer, self.work(layer), self.gpu, self.times_ms.get(layer.index))
        excess_ms = None if roof.is_partial else roof.excess_ms
        return None if excess_ms is None else {layer.index: excess_ms}

    def time_ms(self, layers: Iterable[int]) -> float | None:
        """Return the total time of some layers in ms; ``None`` if none has a time."""
        known = [self.times_ms[layer] for layer in layers if layer in self.times_ms]
        return sum(known) if known else None

    def part_ms(self, layers: Iterable[int], part: float = 1.0) -> dict[int, float]:
        """Return `part` (0…1) of the time of each layer in ms; skip layers without a time."""
        return {layer: part * self.times_ms[layer] for layer in layers if layer in self.times_ms}

    def share_pct(self, time_ms: float | None) -> float | None:
        """Return a time in ms as a percentage of the engine's time."""
        return 100 * time_ms / self.engine_ms if time_ms is not None and self.engine_ms else None
