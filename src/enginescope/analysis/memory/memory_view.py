"""What fills the memory of an engine, and when: weights, tensors between layers, and the arena."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from enginescope.analysis.layers.reformats import TensorRoles
from enginescope.analysis.memory.arena import ArenaForecast, Request, forecast, pattern_bytes
from enginescope.analysis.memory.buffers import Buffer, BufferPlan, buffers_of
from enginescope.core.record import Record, replace
from enginescope.core.units import sum_known
from enginescope.records.plan.build import DeviceMemory
from enginescope.records.plan.plan import PACKED, SHAPES, WORKSPACES, Layer, Plan
from enginescope.records.run.run import ArenaStep, ArenaUse


class MemoryPart(Record, frozen=True, kw_only=True):
    """A part of the memory.

    Attributes:
        kind: ``"runtime"``, ``"weights"``, ``"packed"``, ``"activations"``, ``"workspace"``,
            ``"arena"`` or ``"rest"``.
        is_measured: Whether the runtime or the system reported it; else it follows from the plan.
    """

    kind: str
    nbytes: int
    is_measured: bool


class PeakMemory(Record, frozen=True, kw_only=True):
    """What takes memory while the layer runs that needs the most.

    Attributes:
        layer: Its name.
        tensor_bytes: Bytes of the tensors alive, by type of the layer that writes them.
        workspace_bytes: Beside the tensors; ``None``: not known.
        weights_bytes: Of the whole plan; ``None``: not known.
        unknown: Number of the plan's tensors without a known size, which no figure counts.
    """

    layer: str
    tensor_bytes: dict[str, int]
    workspace_bytes: int | None
    weights_bytes: int | None
    unknown: int

    @property
    def nbytes(self) -> int:
        """Tensors, and the workspace if it is known."""
        return sum(self.tensor_bytes.values()) + (self.workspace_bytes or 0)


class MemoryView:
    """Memory of one plan over its execution order.

    Args:
        arenas: What the runtime reported of its allocators during the first inferences.
        process_bytes: Peak resident memory of the process that ran it.
        runtime_bytes: The same of a process with an empty model.
        reported_block_bytes: Block that TensorRT takes for the tensors of one context.
    """

    def __init__(
        self,
        plan: Plan,
        buffers: BufferPlan,
        arenas: Sequence[ArenaUse] = (),
        process_bytes: int | None = None,
        runtime_bytes: int | None = None,
        reported_block_bytes: int | None = None,
    ) -> None:
        self.plan, self.reported_block_bytes, self.buffers = plan, reported_block_bytes, buffers
        self.process_bytes, self.runtime_bytes = process_bytes, runtime_bytes
        self.live_bytes = buffers.live_bytes()
        #: Of the only provider; with several, no arena holds all of the tensors.
        self.arena = arenas[0] if len(arenas) == 1 and SHAPES in plan.extra else None

    @property
    def layers(self) -> tuple[Layer, ...]:
        return self.buffers.layers

    @property
    def unknown(self) -> int:
        """Number of buffers without a known size; no figure counts them."""
        return sum(one.nbytes is None for one in self.buffers.buffers)

    @cached_property
    def needed_bytes(self) -> tuple[int, ...]:
        """What each layer needs: what is alive while it runs, and its workspace if known."""
        pairs = zip(self.live_bytes, self.workspace_bytes, strict=True)
        return tuple(live + (extra or 0) for live, extra in pairs)

    @property
    def peak_bytes(self) -> int:
        """The most that is needed at once; 0 where nothing is between layers."""
        return max(self.needed_bytes, default=0)

    @cached_property
    def peak_at(self) -> int:
        """Position of the first layer that needs the most."""
        return self.needed_bytes.index(self.peak_bytes)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """What takes memory at some layer: activations, outputs, workspace."""
        own = {one.kind for one in self.buffers.buffers if one.nbytes}
        has_workspace = ("workspace",) if any(self.workspace_bytes) else ()
        return (*(kind for kind in ("activation", "output") if kind in own), *has_workspace)

    @property
    def peak_layer(self) -> Layer:
        return self.layers[self.peak_at]

    @cached_property
    def peak_buffers(self) -> tuple[Buffer, ...]:
        """What is alive at the peak, the largest first."""
        return self.buffers.alive_at(self.peak_at)

    @cached_property
    def peak(self) -> PeakMemory:
        """The peak in figures that can be compared with those of another plan."""
        tensors: dict[str, int] = {}
        for one in self.peak_buffers:
            kind = self.layers[one.first].type
            tensors[kind] = tensors.get(kind, 0) + (one.nbytes or 0)
        return PeakMemory(
            layer=self.peak_layer.name,
            tensor_bytes=tensors,
            workspace_bytes=self.workspace_bytes[self.peak_at],
            weights_bytes=self.weights_bytes,
            unknown=self.unknown,
        )

    @cached_property
    def weights(self) -> dict[str, int | None]:
        """Bytes of each constant, once however many layers read it; the largest first."""
        sizes: dict[str, int | None] = {}
        for layer in self.plan.layers:
            for part in layer.weights:
                # in an executed graph the role is the constant's name; elsewhere a field's
                name = part.role if SHAPES in self.plan.extra else f"{layer.name}: {part.role}"
                sizes[name] = part.nbytes
        return dict(sorted(sizes.items(), key=lambda item: -(item[1] or 0)))

    @cached_property
    def weights_bytes(self) -> int | None:
        """Bytes of the constants that stay as they are: the runtime frees what it packs anew."""
        packed = frozenset(self.plan.extra.get(PACKED, ()) if self.session_bytes else ())
        return sum_known(nbytes for name, nbytes in self.weights.items() if name not in packed)

    @cached_property
    def _steps(self) -> tuple[tuple[ArenaStep, ...], ...]:
        """Return what the arena did in each layer: last the layer itself, before it what is inside.

        Empty for layers whose step is not known.
        """
        found: list[tuple[ArenaStep, ...]] = [()] * len(self.layers)
        at, inside = 0, list[ArenaStep]()
        for step in self.arena.steps if self.arena else ():
            inside.append(step)
            if at < len(found) and step.node == self.layers[at].name:
                found[at] = tuple(inside)
                at, inside = at + 1, []
        return tuple(found)

    @cached_property
    def workspace_bytes(self) -> tuple[int | None, ...]:
        """Return what each layer needed beside its tensors.

        The runtime reports only the highest mark so far: a layer that stays below it in all
        inferences has ``None``. Of two figures the smaller has less that was rounded up.
        """
        found: list[int | None] = []
        before = 0
        later = {one.node: one for one in self.arena.later} if self.arena else {}
        for layer, steps in zip(self.layers, self._steps, strict=True):
            marks = [later[layer.name]] if layer.name in later else []
            if steps and steps[-1].peak_bytes > before:
                before = steps[-1].peak_bytes
                marks.append(steps[-1])
            found.append(min((one.peak_bytes - one.in_use_bytes for one in marks), default=None))
        return tuple(found)

    @property
    def predicted_workspaces(self) -> dict[str, list[int]]:
        """Bytes of the temporary buffers of each layer whose kernel's rule is known, by name."""
        found: dict[str, list[int]] = self.plan.extra.get(WORKSPACES, {})
        return found

    @cached_property
    def session_bytes(self) -> int | None:
        """What the arena held before the first node ran: weights in the kernels' own order."""
        steps = self.arena.steps if self.arena else ()
        return steps[0].before_bytes if steps else None

    @cached_property
    def predicted(self) -> ArenaForecast | None:
        """What the arena does by its rules, from sizes alone; ``None``: of another runtime.

        Nothing is of the runtime's report: workspaces are those of `predicted_workspaces`, others
        count as 0, and packed weights as large as the model stores them.
        """
        packed = (self.weights.get(name) for name in self.plan.extra.get(PACKED, ()))
        own = (
            Request(nbytes=nbytes, first=step, last=step, kind="workspace")
            for step, layer in enumerate(self.layers)
            for nbytes in self.predicted_workspaces.get(layer.name, ())
        )
        own_steps = (None,) * len(self.layers)
        return self._forecast((*self._requests(), *own), own_steps, sum_known(packed))

    @cached_property
    def replayed(self) -> ArenaForecast | None:
        """`predicted` with the workspaces and packed weights that the runtime reported."""
        if self.arena is None:
            return None
        return self._forecast(self._requests(), self.workspace_bytes, self.session_bytes)

    def _forecast(
        self,
        requests: Iterable[Request],
        workspaces: Sequence[int | None],
        session_bytes: int | None,
    ) -> ArenaForecast | None:
        if SHAPES not in self.plan.extra:
            return None
        made, session = forecast(requests, workspaces), session_bytes or 0
        return replace(
            made,
            first_peak_bytes=made.first_peak_bytes + session,
            peak_bytes=made.peak_bytes + session,
            held_bytes=made.held_bytes + session,
        )

    def _requests(self) -> Iterator[Request]:
        for one in self.buffers.buffers:
            yield Request(nbytes=one.nbytes or 0, first=one.first, last=one.last, kind=one.kind)

    @cached_property
    def block_bytes(self) -> int:
        """What the buffers need once they are packed into one block."""
        return pattern_bytes([one for one in self._requests() if one.kind == "activation"])

    @cached_property
    def held_bytes(self) -> int | None:
        """What the arena holds: as the runtime reported, else by its rules."""
        reported = self.arena.held_bytes if self.arena else None
        return self.predicted.held_bytes if reported is None and self.predicted else reported

    @cached_property
    def parts(self) -> tuple[MemoryPart, ...]:
        """Return what the memory consists of; what is not known is left out.

        The rest is the process's peak without all other parts: copies made while loading. It is
        below 0 if the arena holds more than was ever written to.
        """
        made: list[tuple[str, int | None, bool]] = [
            ("runtime", self.runtime_bytes, True),
            ("weights", self.weights_bytes, False),
            ("packed", self.session_bytes, True),
            ("activations", self.live_bytes[self.peak_at] if self.live_bytes else None, False),
            ("workspace", self.workspace_bytes[self.peak_at] if self.layers else None, True),
        ]
        if self.held_bytes is not None:
            used = sum(size or 0 for kind, size, _ in made if kind not in ("runtime", "weights"))
            made.append(("arena", self.held_bytes - used, self.arena is not None))
        if self.process_bytes is not None and self.runtime_bytes is not None:
            known = sum(nbytes or 0 for _, nbytes, _ in made)
            made.append(("rest", self.process_bytes - known, True))
        return tuple(
            MemoryPart(kind=kind, nbytes=nbytes, is_measured=is_measured)
            for kind, nbytes, is_measured in made
            if nbytes is not None
        )


def memory_of(
    plan: Plan,
    arenas: Sequence[ArenaUse] = (),
    *,
    roles: TensorRoles | None = None,
    process_bytes: int | None = None,
    runtime_bytes: int | None = None,
    device: DeviceMemory | None = None,
) -> MemoryView | None:
    """Return the memory of a plan; ``None`` where it does not tell its tensors."""
    buffers = buffers_of(plan, roles)
    if buffers is None or not buffers.layers:
        return None
    reported = None if device is None else device.activation_bytes
    return MemoryView(plan, buffers, arenas, process_bytes, runtime_bytes, reported)
