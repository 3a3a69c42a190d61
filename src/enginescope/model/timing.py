"""Times of layers, and their assignment to a plan."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.model.plan import Layer


class LayerTiming(Record, frozen=True, kw_only=True, gc=False):
    """Time of one layer or node in a profile.

    Attributes
    ----------
    index : int
        Position in the profile, from 0; names may repeat.
    name : str
    mean_ms, median_ms : float or None
        Per iteration.
    total_ms : float or None
        Over all iterations of the profile.
    share_pct : float or None
        As the source states it, 0…100.
    kind : str or None
        Operator or layer type, when the profile itself says it.
    provider : str or None
        Execution provider that ran it (ONNX Runtime).
    is_container : bool
        ``If``, ``Loop`` or ``Scan``: its time holds that of the nodes inside, listed apart.
    """

    index: int
    name: str
    mean_ms: float | None = None
    median_ms: float | None = None
    total_ms: float | None = None
    share_pct: float | None = None
    kind: str | None = None
    provider: str | None = None
    is_container: bool = False


class Profile(Record, frozen=True, kw_only=True):
    """Per-layer times from one profiling pass, never from the timed one.

    Attributes
    ----------
    source : str
        ``"trtexec"``, ``"onnxruntime"``, ``"torch-tensorrt"``.
    layers : tuple of LayerTiming
        In execution order.
    iterations : int or None
        Runs the figures are taken over.
    whole_ms : float or None
        Mean time of a whole iteration in that same pass, when it was seen.
    """

    source: str
    layers: tuple[LayerTiming, ...]
    iterations: int | None = None
    whole_ms: float | None = None

    @property
    def sum_mean_ms(self) -> float | None:
        """Sum of the layers' means, containers left out; ``None`` if no layer has one."""
        known = [
            one.mean_ms for one in self.layers if one.mean_ms is not None and not one.is_container
        ]
        return sum(known) if known else None


class AttributedLayer(Record, frozen=True, kw_only=True, gc=False):
    """A plan's layer and its time; ``None`` where the profile has none."""

    layer: Layer
    timing: LayerTiming | None = None


class Attribution(Record, frozen=True, kw_only=True):
    """A plan's layers joined with a profile.

    Attributes
    ----------
    layers : tuple of AttributedLayer
        Every layer of the plan, in its order.
    unmatched : tuple of LayerTiming
        Times whose layer the plan does not have.
    """

    layers: tuple[AttributedLayer, ...]
    unmatched: tuple[LayerTiming, ...] = ()
