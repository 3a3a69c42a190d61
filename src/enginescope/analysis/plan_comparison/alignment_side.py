"""One of the two plans of an alignment: its active layers and what they can be recognized by.

What a layer's name tells of the ONNX nodes in it.
The state of an alignment while it is made: groups so far, and what is still free.
"""

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from enginescope.analysis.layers.reformats import REFORMATS
from enginescope.records.plan.plan import EXECUTED, Evidence, Layer, Plan
from enginescope.records.tensor import Tensor

_COPY = re.compile(r"Reformatting CopyNode for \w+ Tensor \d+ to ")
_JOINT = re.compile(r"\s*[\x1e\x1f]\s*|\s+\+\s+|,\s+")
_WRAPPER = re.compile(r"PWN\(|\bCOPY_WRAPPER\(")
_PLAIN = re.compile(r"(?:(?!_myl\d)[\w/.:\[\]-])+")
_MYELIN_NUMBER = re.compile(r"_myl\d+_\d+$")
# Exporters and TensorRT number what has no name; another export counts otherwise.
_NUMBERED = re.compile(r"\(Unnamed Layer\* \d+\).*|[^/.]*\d")


def node_names(layer: Layer) -> frozenset[str]:
    """Return the ONNX nodes, and the constants fused with them, that a layer was made from.

    From ``Metadata``; where there is none, from the parts of a fused name. Copies that TensorRT
    inserted, and what Myelin named itself, were made from none.
    """
    if layer.onnx_nodes:
        return frozenset(layer.onnx_nodes)
    if _COPY.match(layer.name) or layer.name.startswith(("{ForeignNode[", "__my")):
        return frozenset()
    return frozenset(_parts(layer.name))


def is_numbered(name: str) -> bool:
    """Whether a node's name is a mere number of its kind, such as ``Conv_12``."""
    return _NUMBERED.fullmatch(name) is not None


def has_numbered_name(layer: Layer) -> bool:
    """Whether the name says no more than numbers do: ``Conv_12 + Relu_13``, or a copy for it."""
    return all(is_numbered(part) for part in _parts(_COPY.sub("", layer.name)))


def _parts(name: str) -> list[str]:
    if _PLAIN.fullmatch(name):
        return [name]
    found = []
    for part in _JOINT.split(_WRAPPER.sub("", _MYELIN_NUMBER.sub("", name))):
        bare = part.strip()
        while bare.endswith(")") and bare.count(")") > bare.count("("):
            bare = bare[:-1]
        if bare:
            found.append(bare)
    return found


Key = Hashable | None
Positions = tuple[int, ...]
Shape = tuple[int | None, ...] | None

#: Copies in a row that a reader is counted as the reader of.
MAX_COPIES = 8

# Types that one work goes under, by version and by what it was fused with.
_KINDS = {
    **dict.fromkeys((*REFORMATS, "Quantize", "Dequantize"), "Reformat"),
    **dict.fromkeys(("gemm", "FullyConnected"), "MatrixMultiply"),
    **dict.fromkeys(("ElementWise", "Activation", "PointWiseV2"), "PointWise"),
    "CaskConvActPool": "ConvActPool",
}


_PARAMETERS = ("Kernel", "Stride", "Dilation", "Groups", "PoolingType", "WindowSize")


class Side:
    """The active layers of a plan, by position, with their keys and their neighbors.

    Attributes:
        kinds: Type, with its synonyms taken together.
        nodes: See `node_names`; of an executed graph those of the model alone.
        model: All nodes of the model that was executed; ``None`` for an engine's plan.
        numbered: See `has_numbered_name`.
        first_in, first_out: Shape of the first input and output without the batch, constants left
            out; ``None``: not known.
        exact, loose, weak: What a layer is: kind, parameters, and the shapes of all tensors, or of
            the first input and output, or the channels of these. ``None`` where no shape is known.
        producers, consumers: Positions of the layers next to it in the flow of tensors. Inert
            layers and reformats, which differ between builds of one network, are looked through: a
            reformat has neighbors and is none.
    """

    def __init__(self, plan: Plan) -> None:
        self.layers: tuple[Layer, ...] = plan.active_layers
        self.names = [layer.name for layer in self.layers]
        self.kinds = [_KINDS.get(layer.type, layer.type) for layer in self.layers]
        is_executed = plan.source_schema == EXECUTED and any(one.onnx_nodes for one in self.layers)
        self.nodes = [
            frozenset(layer.onnx_nodes) if is_executed else node_names(layer)
            for layer in self.layers
        ]
        every = frozenset(node for one in plan.layers for node in one.onnx_nodes)
        self.model = every if is_executed else None
        self.numbered = [has_numbered_name(layer) for layer in self.layers]
        inputs = _data_inputs(plan)
        self.first_in = [_first(one) for one in inputs]
        self.first_out = [_first(layer.outputs) for layer in self.layers]
        self.exact: list[Key] = []
        self.loose: list[Key] = []
        self.weak: list[Key] = []
        self._set_keys(inputs)
        self.producers, self.consumers = _neighbours(plan, self.kinds)

    def _set_keys(self, inputs: list[tuple[Tensor, ...]]) -> None:
        seen: dict[Key, Key] = {}  # one object for equal keys: blocks repeat
        for position, layer in enumerate(self.layers):
            shape_in, shape_out = self.first_in[position], self.first_out[position]
            if shape_in is None and shape_out is None:
                keys: tuple[Key, Key, Key] = (None, None, None)
            else:
                given = layer.attributes
                parameters = [f"{key} {given[key]}" for key in _PARAMETERS if key in given]
                what = (self.kinds[position], *parameters)
                reads, writes = (
                    tuple([_shape(tensor) for tensor in tensors])
                    for tensors in (inputs[position], layer.outputs)
                )
                keys = (
                    (what, reads, writes),
                    (what, shape_in, shape_out),
                    (what, _channels(shape_in), _channels(shape_out)),
                )
            for known, key in zip((self.exact, self.loose, self.weak), keys, strict=True):
                known.append(seen.setdefault(key, key))

    def __len__(self) -> int:
        return len(self.layers)

    def is_reformat(self, position: int) -> bool:
        """Whether a layer only changes type or format."""
        return self.kinds[position] == "Reformat"

    def description(self) -> list[str]:
        """Return all that the alignment looks at, in words that can be ordered."""
        columns = zip(map(sorted, self.nodes), self.exact, self.producers, strict=True)
        return [repr(column) for column in columns]


def _data_inputs(plan: Plan) -> list[tuple[Tensor, ...]]:
    """Inputs of the active layers without constants, which Myelin lists among them."""
    known = {output.name for layer in plan.layers for output in layer.outputs}
    known.update(one.tensor.name for one in plan.inputs)
    found = []
    for layer in plan.active_layers:
        data = tuple(one for one in layer.inputs if one.name in known)
        found.append(data or layer.inputs)
    return found


def _first(tensors: tuple[Tensor, ...]) -> Shape:
    return _shape(tensors[0]) if tensors else None


def _shape(tensor: Tensor) -> Shape:
    """Dimensions after the batch; of a vector all of them."""
    shape = tensor.shape
    return shape[1:] if shape is not None and len(shape) > 1 else shape


def _channels(shape: Shape) -> Key:
    return (len(shape), shape[0]) if shape else None


def _neighbours(plan: Plan, kinds: list[str]) -> tuple[list[Positions], list[Positions]]:
    """Nearest layers up and down the flow; a tensor written again has its last writer before."""
    sources: dict[str, Positions] = {}
    copies: dict[str, Positions] = {}
    above: list[Positions] = []
    below: list[list[int]] = [[] for _ in kinds]
    for layer in plan.layers:
        read = _each(sources, layer)
        copied = _each(copies, layer)
        here = len(above)
        if layer.is_inert:
            written, through = read, copied
        elif kinds[here] == "Reformat":
            above.append(read)
            written, through = read, (*copied, here)[-MAX_COPIES:]
        else:
            above.append(read)
            for one in (*read, *copied):
                below[one].append(here)
            written, through = (here,), ()
        for item in layer.outputs:
            sources[item.name] = written
            copies[item.name] = through
    return above, [tuple(one) for one in below]


def _each(known: dict[str, tuple[int, ...]], layer: Layer) -> tuple[int, ...]:
    return tuple(dict.fromkeys(one for item in layer.inputs for one in known.get(item.name, ())))


@dataclass
class Group:
    """Positions of either side that do the same work."""

    a: list[int]
    b: list[int]
    evidence: Evidence
    score: float


class Matching:
    """Groups of positions; each position is in one at most.

    Attributes:
        of_a, of_b: Number of each position's group; −1 while it has none.
    """

    def __init__(self, a: Side, b: Side) -> None:
        self.a, self.b = a, b
        self.groups: list[Group] = []
        self.of_a = [-1] * len(a)
        self.of_b = [-1] * len(b)

    def add(self, a: Iterable[int], b: Iterable[int], evidence: Evidence, score: float) -> None:
        """Make a group of positions that have none."""
        group = Group(sorted(a), sorted(b), evidence, score)
        for one in group.a:
            self.of_a[one] = len(self.groups)
        for one in group.b:
            self.of_b[one] = len(self.groups)
        self.groups.append(group)

    def free_a(self) -> list[int]:
        """Return the positions of A without a group."""
        return [one for one, group in enumerate(self.of_a) if group < 0]

    def free_b(self) -> list[int]:
        """Return the positions of B without a group."""
        return [one for one, group in enumerate(self.of_b) if group < 0]

    def backbone(self) -> list[tuple[int, int]]:
        """Return the longest run of groups that both plans have in the same order.

        Each as its first position on either side; O(n log n).
        """
        starts = sorted((group.a[0], group.b[0]) for group in self.groups)
        return _longest_rising(starts)


def _longest_rising(starts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    ends: list[int] = []
    ends_at: list[int] = []
    before = [-1] * len(starts)
    for number, (_, b) in enumerate(starts):
        length = bisect_left(ends, b)
        before[number] = ends_at[length - 1] if length else -1
        if length == len(ends):
            ends.append(b)
            ends_at.append(number)
        else:
            ends[length] = b
            ends_at[length] = number
    run = []
    number = ends_at[-1] if ends_at else -1
    while number >= 0:
        run.append(starts[number])
        number = before[number]
    return run[::-1]
