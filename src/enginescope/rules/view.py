"""A plan with its joins, computed once for all rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

import msgspec

from enginescope.analysis.attribution import attribute
from enginescope.analysis.gpu_limits import GpuLimits, gpu_limits
from enginescope.analysis.layer_work import LayerWork, layer_work
from enginescope.analysis.roofline import layer_roof
from enginescope.model.environment import Device
from enginescope.model.plan import Layer, Plan
from enginescope.model.tensor import Tensor
from enginescope.model.timing import Attribution, Profile
from enginescope.rules.flow import Flow


class LintView:
    """A plan, its times, and which layer feeds which.

    Parameters
    ----------
    plan : Plan
    profile : Profile or None
    device : Device or None
    fed : tuple of Tensor
    profile_index : int
    """

    def __init__(
        self,
        plan: Plan,
        profile: Profile | None = None,
        *,
        device: Device | None = None,
        fed: tuple[Tensor, ...] = (),
        profile_index: int = 0,
    ) -> None:
        self.plan = plan
        self.profile = profile
        self.device = device
        self.fed = fed
        self.profile_index = profile_index

    @cached_property
    def layers(self) -> dict[int, Layer]:
        """Every layer by its index."""
        return {layer.index: layer for layer in self.plan.layers}

    @cached_property
    def active(self) -> tuple[Layer, ...]:
        """Layers that launch work."""
        return self.plan.active_layers

    @cached_property
    def attribution(self) -> Attribution | None:
        """The plan's layers with their times."""
        return attribute(self.plan, self.profile) if self.profile else None

    @cached_property
    def flow(self) -> Flow:
        """Which layer feeds which; made when the first rule asks for it."""
        return Flow(self.plan)

    @cached_property
    def works(self) -> tuple[LayerWork, ...]:
        """What each of the plan's layers computes and moves."""
        return layer_work(self.plan)

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
        if self.attribution is None:
            return {}
        return {
            one.layer.index: one.timing.mean_ms
            for one in self.attribution.layers
            if one.timing is not None and one.timing.mean_ms is not None
        }

    @cached_property
    def _by_type(self) -> dict[str, list[Layer]]:
        found: dict[str, list[Layer]] = defaultdict(list)
        for layer in self.active:
            found[layer.type].append(layer)
        return found

    def of_types(self, types: Iterable[str]) -> list[Layer]:
        """Return the active layers of some types, in the plan's order."""
        found = [layer for one in types for layer in self._by_type.get(one, ())]
        return sorted(found, key=lambda layer: layer.index)

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
