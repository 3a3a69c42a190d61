"""A plan with its joins, computed once for all rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

import msgspec

from enginescope.analysis.attribution import joined_times
from enginescope.analysis.gpu_limits import GpuLimits, gpu_limits
from enginescope.analysis.layer_work import LayerWork, layer_work
from enginescope.analysis.roofline import layer_roof
from enginescope.model.environment import Device
from enginescope.model.plan import Layer, Plan
from enginescope.model.tensor import DataType, Tensor
from enginescope.model.timing import LayerTiming, Profile
from enginescope.rules.flow import Flow


class Kind(NamedTuple):
    """What many layers of a plan have in common.

    Attributes
    ----------
    type : str
    reads, writes : DataType or None
        Types of the first input and of the first output.
    """

    type: str
    reads: DataType | None
    writes: DataType | None


class LintView:
    """A plan, its times, and which layer feeds which.

    Parameters
    ----------
    plan : Plan
    profile : Profile or None
    device : Device or None
    fed : tuple of Tensor
    profile_index : int
    works : tuple of LayerWork, optional
        Of the plan's layers, where they are known already.
    """

    def __init__(
        self,
        plan: Plan,
        profile: Profile | None = None,
        *,
        device: Device | None = None,
        fed: tuple[Tensor, ...] = (),
        profile_index: int = 0,
        works: tuple[LayerWork, ...] | None = None,
    ) -> None:
        self.plan = plan
        self.profile = profile
        self.device = device
        self.fed = fed
        self.profile_index = profile_index
        self._known_works = works

    @cached_property
    def layers(self) -> dict[int, Layer]:
        """Every layer by its index."""
        return {layer.index: layer for layer in self.plan.layers}

    @cached_property
    def active(self) -> tuple[Layer, ...]:
        """Layers that launch work."""
        return self.plan.active_layers

    @cached_property
    def kinds(self) -> dict[Kind, list[int]]:
        """Positions among the active layers, by what rules tell them apart by.

        A large plan has few kinds, and its layers lie far apart in memory: a rule that asks for a
        kind need not look at the rest.
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
    def _joined(self) -> tuple[dict[int, LayerTiming], tuple[LayerTiming, ...]]:
        return joined_times(self.plan, self.profile) if self.profile else ({}, ())

    @property
    def timings(self) -> dict[int, LayerTiming]:
        """The profile's times by the index of their layer."""
        return self._joined[0]

    @property
    def unmatched(self) -> tuple[LayerTiming, ...]:
        """Times of the profile whose layer the plan does not have."""
        return self._joined[1]

    @cached_property
    def flow(self) -> Flow:
        """Which layer feeds which; made when the first rule asks for it."""
        return Flow(self.plan)

    @cached_property
    def works(self) -> tuple[LayerWork, ...]:
        """What each of the plan's layers computes and moves."""
        return layer_work(self.plan) if self._known_works is None else self._known_works

    @cached_property
    def _work_of(self) -> dict[int, LayerWork]:
        return {layer.index: one for layer, one in zip(self.plan.layers, self.works, strict=True)}

    def work(self, layer: Layer) -> LayerWork:
        """Return what a layer of the plan computes and moves."""
        return self._work_of[layer.index]

    @cached_property
    def gpu(self) -> GpuLimits | None:
        """Peaks of the GPU, where they are known."""
        return gpu_limits(self.device.name) if self.device else None

    @cached_property
    def total_ms(self) -> float | None:
        """Sum of the profile's mean times."""
        return self.profile.sum_mean_ms if self.profile else None

    @cached_property
    def times_ms(self) -> dict[int, float]:
        """Mean time by layer index; layers without one are left out."""
        times = ((index, one.mean_ms) for index, one in self.timings.items())
        return {index: mean_ms for index, mean_ms in times if mean_ms is not None}

    def of_kinds(self, wanted: Callable[[Kind], bool]) -> list[Layer]:
        """Return the active layers of the kinds that are `wanted`, in the plan's order."""
        groups = [places for kind, places in self.kinds.items() if wanted(kind)]
        active = self.active
        places = groups[0] if len(groups) == 1 else sorted(at for one in groups for at in one)
        return [active[at] for at in places]

    def of_types(self, types: Iterable[str]) -> list[Layer]:
        """Return the active layers of some types, in the plan's order."""
        wanted = frozenset(types)
        return self.of_kinds(lambda kind: kind.type in wanted)

    def excess_ms(self, layer: Layer, *, fewer_bytes: int = 0) -> float | None:
        """Return what a layer takes beyond its limit on the GPU: no more than that can be won.

        Parameters
        ----------
        layer : Layer
        fewer_bytes : int
            What it would move less, were the advice followed.

        Returns
        -------
        float or None
            ``None``: the GPU, the layer's time or all of its work is not known.
        """
        if self.gpu is None:
            return None
        work = self.work(layer)
        if work.moved_bytes is None:
            return None
        work = msgspec.structs.replace(work, moved_bytes=work.moved_bytes - fewer_bytes)
        roof = layer_roof(layer, work, self.gpu, self.times_ms.get(layer.index))
        return None if roof.is_partial else roof.excess_ms

    def sum_ms(self, layers: Iterable[int]) -> float | None:
        """Return the time of some layers; ``None`` when none of them has one."""
        known = [self.times_ms[one] for one in layers if one in self.times_ms]
        return sum(known) if known else None

    def share_pct(self, time_ms: float | None) -> float | None:
        """Return a time as a part of the sum over layers, 0…100."""
        return 100 * time_ms / self.total_ms if time_ms is not None and self.total_ms else None
