"""Which tensors share memory, and from when to when each piece of memory is needed.

ONNX Runtime decides that before the first inference, by the rules of its `AllocationPlanner`. A
TensorRT plan says which names come again; a name that is written again after it was read is another
tensor in the same memory.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from enginescope.analysis.layers.reformats import TensorRoles, tensor_roles
from enginescope.core.record import Record
from enginescope.records.plan.plan import SHAPES, Layer, Plan
from enginescope.records.tensor import Tensor

#: Operators that may write output 0 over input 0, if nothing else reads it and the sizes agree.
_IN_PLACE = frozenset(
    {
        *("Cast", "BitCast", "Celu", "Clip", "Elu", "HardSigmoid", "LeakyRelu", "LogSoftmax"),
        *("Normalizer", "ParametricSoftplus", "Relu", "ScaledTanh", "Scaler", "Scatter"),
        *("ScatterElements", "Selu", "Shrink", "Sigmoid", "Softmax", "Softplus", "Softsign"),
        *("Tanh", "TensorScatter", "ThresholdedRelu", "Trilu"),
    }
)


class Buffer(Record, frozen=True, kw_only=True, gc=False):
    """Memory for one tensor, or for several after each other.

    Attributes:
        tensors: What lies in it, in the order of their writers.
        nbytes: The largest of them; ``None`` where no size is known.
        first, last: Positions of the first writer and of the last reader, among the layers that do
            work; an output is needed until all have ended.
        kind: ``"output"``: the caller's, if the caller provides outputs.
    """

    tensors: tuple[Tensor, ...]
    nbytes: int | None
    first: int
    last: int
    kind: Literal["activation", "output"] = "activation"

    @property
    def tensor(self) -> Tensor:
        return self.tensors[0]


class BufferPlan(Record, frozen=True, kw_only=True):
    """The layers that do work, and the memory between them."""

    layers: tuple[Layer, ...]
    buffers: tuple[Buffer, ...]

    def live_bytes(self) -> tuple[int, ...]:
        """Return what is alive while each layer runs; buffers of unknown size are left out."""
        changes = [0] * (len(self.layers) + 1)
        for one in self.buffers:
            changes[one.first] += one.nbytes or 0
            changes[min(one.last + 1, len(self.layers))] -= one.nbytes or 0
        return tuple(accumulate(changes[: len(self.layers)]))

    def alive_at(self, step: int) -> tuple[Buffer, ...]:
        """Return the buffers alive while a layer runs, the largest first."""
        alive = (one for one in self.buffers if one.first <= step <= one.last)
        return tuple(sorted(alive, key=lambda one: -(one.nbytes or 0)))


def buffers_of(plan: Plan, roles: TensorRoles | None = None) -> BufferPlan | None:
    """Return the memory between the layers, if they run one after the other in the plan's order.

    Args:
        roles: Of a TensorRT plan's tensors, where they are known already.

    Returns:
        ``None`` for a plan of names only, or that does not say what the caller provides.
    """
    if not plan.io or plan.source_schema == "names-only":
        return None
    if SHAPES in plan.extra:
        return BufferPlan(layers=plan.layers, buffers=tuple(_Planner(plan).buffers()))
    roles = roles or tensor_roles(plan)
    if not roles.active:
        return None
    return BufferPlan(layers=roles.active, buffers=_lives(plan, roles))


class _Root(NamedTuple):
    tensors: list[Tensor]
    first: int
    kind: Literal["activation", "output"]


class _Planner:
    """Buffers of an executed graph.

    What a node may write over is known by the node's activations; the plan does not tell the
    position of an input among weights.
    """

    def __init__(self, plan: Plan) -> None:
        self._layers = plan.layers
        self._shapes: dict[str, Any] = plan.extra.get(SHAPES, {})
        given = {one.tensor.name for one in plan.io if one.mode == "input"}
        self._outputs = {one.tensor.name for one in plan.io if one.mode == "output"}
        self._uses: Counter[str] = Counter([*given, *self._outputs])
        for layer in plan.layers:
            self._uses.update(one.name for one in (*layer.inputs, *layer.outputs))
        self._root: dict[str, str] = {}
        self._roots: dict[str, _Root] = {}
        self._free: dict[Any, list[str]] = {}  # by size, the latest last
        self._last: dict[str, int] = {}

    def buffers(self) -> Iterator[Buffer]:
        for step, layer in enumerate(self._layers):
            for at, tensor in enumerate(layer.outputs):
                self._place(step, layer, at, tensor)
            for tensor in (*layer.inputs, *layer.outputs):
                self._used(tensor.name)
            for tensor in layer.inputs:
                self._last[self._of(tensor.name)] = step
        end = len(self._layers)
        for name, (tensors, first, kind) in self._roots.items():
            sizes = [size for one in tensors if (size := one.nbytes) is not None]
            yield Buffer(
                tensors=tuple(tensors),
                nbytes=max(sizes, default=None),
                first=first,
                last=end if kind == "output" else self._last.get(name, end),
                kind=kind,
            )

    def _of(self, name: str) -> str:
        return self._root.get(name, name)

    def _place(self, step: int, layer: Layer, at: int, tensor: Tensor) -> None:
        name = tensor.name
        if name in self._outputs:
            self._roots[name] = _Root([tensor], step, "output")
            return
        over = self._input_to_write(layer, tensor) if at == 0 else None
        if over is None and self._uses[name] > 1:
            key = self._size_key(tensor)
            free = self._free.get(key) if key is not None and len(key) > 1 else None
            over = free.pop() if free else None
        if over is None:
            self._roots[name] = _Root([tensor], step, "activation")
            return
        root = self._of(over)
        self._root[name] = root
        self._uses[root] += self._uses[name]
        if root in self._roots:
            self._roots[root].tensors.append(tensor)

    def _input_to_write(self, layer: Layer, tensor: Tensor) -> str | None:
        inputs = layer.inputs
        if not inputs:
            return None
        # output 0 lies in the memory of input 0, whatever else reads that
        if layer.type in ("ExpandDims", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"):
            return inputs[0].name
        over = inputs[0] if layer.type in _IN_PLACE else None
        # a convolution that adds another tensor may write over that, a fourth input
        if layer.type in ("Conv", "FusedConv", "NhwcFusedConv") and len(inputs) > 1:
            over = inputs[-1]
        if over is None or self._uses[self._of(over.name)] != 1:
            return None
        key = self._size_key(over)
        return over.name if key is not None and key == self._size_key(tensor) else None

    def _used(self, name: str) -> None:
        root = self._of(name)
        self._uses[root] -= 1
        if not self._uses[root] and root in self._roots:
            self._free.setdefault(self._size_key(self._roots[root].tensors[0]), []).append(root)

    def _size_key(self, tensor: Tensor) -> tuple[Any, ...] | None:
        """Return what tells that sizes agree before an inference; ``None`` where nothing does."""
        shape, dtype = self._shapes.get(tensor.name, tensor.shape), tensor.dtype
        if shape is None or dtype is None or dtype.bits is None or None in shape:
            return None
        return (-(-dtype.bits // 8), *shape)


#: Writer, last reader, tensor, bytes, and whether it was read since it was written last.
_Life = list[Any]


def _lives(plan: Plan, roles: TensorRoles) -> tuple[Buffer, ...]:
    """Return the tensors between the layers of a TensorRT plan.

    The engine's inputs and outputs are the caller's memory and not counted, nor are constants. What
    a no-op passes on is what goes into it.
    """
    sources = roles.sources
    outside = {*roles.constants, *(one.tensor.name for one in plan.io)}
    outside |= {sources[name].name for name in outside if name in sources}
    lives: list[_Life] = []
    latest: dict[str, _Life] = {}
    for step, layer in enumerate(roles.active):
        for is_read, tensors in ((True, layer.inputs), (False, layer.outputs)):
            for tensor in tensors:
                name = sources.get(tensor.name, tensor).name
                if name in outside:
                    continue
                life = latest.get(name)
                if life is not None and (is_read or not life[4]):
                    life[1], life[4] = step, is_read
                    nbytes = life[3] if tensor is life[2] else tensor.padded_nbytes
                    if nbytes is not None and nbytes > (life[3] or -1):
                        life[3] = nbytes
                elif not is_read:  # read before it was ever written: nothing holds it
                    latest[name] = life = [step, step, tensor, tensor.padded_nbytes, False]
                    lives.append(life)
    return tuple(
        [
            Buffer(tensors=(tensor,), nbytes=nbytes, first=first, last=last)
            for first, last, tensor, nbytes, _ in lives
        ]
    )
