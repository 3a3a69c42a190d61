"""A plan's graph as the page's interactive view is given it."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from enginescope.analysis.graph.folding.flow_order import NodeTraits
from enginescope.analysis.graph.folding.fold import fold
from enginescope.analysis.graph.folding.levels import ENTRY, FOLDINGS, Group, Level, levels, opened
from enginescope.analysis.graph.layout.layered import Boxes, LaidOut, Spacing, lay_out
from enginescope.analysis.graph.plan_graph import GraphNode, PlanGraph
from enginescope.core.record import Record, replace
from enginescope.formats.plan.overlay_file import Overlay
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import Tensor
from enginescope.render.base.facts import form_text
from enginescope.render.base.palette import OTHER, family_color, precision_color, type_family
from enginescope.render.base.phrases import saving_text
from enginescope.render.graph.node_labels import Times

if TYPE_CHECKING:
    from enginescope.rules.base import Finding


_STEPS = ("u4", "i4")
_TYPES = {"u1": "<u1", "u4": "<u4", "i4": "<i4", "f4": "<f4"}
# A large plan's data is an eighth of its size then; higher levels take long for little.
_LEVEL = 4


def packed(code: str, values: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Return numbers as an array that `container` takes.

    Args:
        values: ``None`` is NaN, where the type has it.
    """
    array = np.asarray(values, dtype=np.float32 if code == "f4" else None)
    return np.ascontiguousarray(array.astype(_TYPES[code]))


def container(value: Any) -> str:
    """Return nested dicts and lists with arrays in them as base64.

    Deflated: the length of the JSON in 4 bytes, the JSON padded to a multiple of 4, then the
    arrays' bytes, each padded likewise. In the JSON an array is ``{"$": "u4", "at": 0, "n": 12}``,
    `at` counting from the end of the JSON. Integers of 4 bytes are steps from the one before:
    places and ends mostly rise by one, which deflates to a third.
    """
    parts: list[bytes] = []
    length = 0

    def reference(array: np.ndarray) -> dict[str, Any]:
        nonlocal length
        code = array.dtype.str[1:]
        data = (np.diff(array, prepend=array.dtype.type(0)) if code in _STEPS else array).tobytes()
        found = {"$": code, "at": length, "n": array.size}
        parts.append(data + b"\0" * (-len(data) % 4))
        length += len(parts[-1])
        return found

    text = msgspec.json.encode(value, enc_hook=reference)
    text += b" " * (-len(text) % 4)
    whole = b"".join((len(text).to_bytes(4, "little"), text, *parts))
    return base64.b64encode(zlib.compress(whole, _LEVEL)).decode("ascii")


KINDS = ("layer", "input", "output", "constant", "tensor")
EDGE_KINDS = ("data", "reuse", "order")
_CARRIED = 4


class Names:
    """The tables that nodes and edges point into; the empty string is number 0."""

    def __init__(self) -> None:
        self._strings: dict[str, int] = {"": 0}
        self.families: dict[str, int] = {}
        self.precisions: dict[str, int] = {"unknown": 0}
        self._texts: dict[Any, int] = {}

    def numbers(self, texts: Iterable[str | None]) -> list[int]:
        """Return the numbers of texts, which are added where they are new; 0 for ``None``."""
        found = self._strings
        return [found.setdefault(text, len(found)) if text else 0 for text in texts]

    def family(self, layer: Layer) -> int:
        """Return the number of the kind of work a layer does."""
        return self.families.setdefault(type_family(layer.type), len(self.families))

    def precision(self, name: str | None) -> int:
        """Return the number of a precision; 0 where it is not known."""
        return self.precisions.setdefault(name or "unknown", len(self.precisions))

    def tensor_text(self, tensor: Tensor) -> int:
        """Return the number of shape, type and layout in words."""
        dtype = tensor.dtype
        # By names and places: to hash a type calls Python, and a large plan asks 200,000 times.
        key = tensor.shape, dtype and dtype._name_, id(tensor.layout)
        found = self._texts.get(key)
        if found is None:
            (found,) = self.numbers((form_text(tensor),))
            self._texts[key] = found
        return found

    def packed(self) -> dict[str, Any]:
        """Return the tables, colors beside what they stand for."""
        return {
            # no file holds lone surrogates
            "strings": [one.encode("utf-8", "replace").decode("utf-8") for one in self._strings],
            "families": [[name, family_color(name)] for name in self.families],
            "precisions": [
                [name, OTHER if name == "unknown" else precision_color(name)]
                for name in self.precisions
            ],
        }


def packed_nodes(
    graph: PlanGraph, names: Names, times_ms: Mapping[int, float | None]
) -> dict[str, Any]:
    """Return the nodes by columns; tensors and ONNX nodes of all, one after the other."""
    numbers = names.numbers
    layers = [node.layer for node in graph.nodes]
    starts, onnx_starts = [0], [0]
    ends: list[int] = []
    tensors: list[Tensor] = []
    onnx: list[str] = []
    for node in graph.nodes:
        tensors += _tensors(node)
        starts.append(len(tensors))
        ends.append(starts[-2] + (len(node.layer.inputs) if node.layer else 0))
        onnx += node.layer.onnx_nodes if node.layer else ()
        onnx_starts.append(len(onnx))
    return {
        "kind": packed("u1", [KINDS.index(node.kind) for node in graph.nodes]),
        "name": packed("u4", numbers(node.name for node in graph.nodes)),
        "type": packed("u4", numbers(layer.type if layer else None for layer in layers)),
        "subtype": packed("u4", numbers(layer.subtype if layer else None for layer in layers)),
        "tactic": packed("u4", numbers(layer.tactic_name if layer else None for layer in layers)),
        "family": packed("u1", [names.family(layer) if layer else 0 for layer in layers]),
        "precision": packed("u1", [_precision(layer, names) for layer in layers]),
        "index": packed("i4", [layer.index if layer else -1 for layer in layers]),
        "ms": packed("f4", [times_ms.get(layer.index) if layer else None for layer in layers]),
        "generation": packed(
            "i4", [-1 if node.generation is None else node.generation for node in graph.nodes]
        ),
        "starts": packed("u4", starts),
        "outputs": packed("u4", ends),
        "tensor": packed("u4", numbers(tensor.name for tensor in tensors)),
        "text": packed("u4", [names.tensor_text(tensor) for tensor in tensors]),
        "onnxStarts": packed("u4", onnx_starts),
        "onnx": packed("u4", numbers(onnx)),
    }


def packed_edges(graph: PlanGraph, names: Names) -> dict[str, Any]:
    numbers = names.numbers
    edges = graph.edges
    kinds = [EDGE_KINDS.index(edge.kind) + _CARRIED * edge.is_carried for edge in edges]
    tensors = [edge.tensor for edge in edges]
    return {
        "source": packed("u4", [edge.source for edge in edges]),
        "target": packed("u4", [edge.target for edge in edges]),
        "kind": packed("u1", kinds),
        "tensor": packed("u4", numbers(tensor.name if tensor else None for tensor in tensors)),
        "text": packed("u4", [names.tensor_text(tensor) if tensor else 0 for tensor in tensors]),
        "precision": packed(
            "u1",
            [
                names.precision(tensor.dtype._name_ if tensor and tensor.dtype else None)
                for tensor in tensors
            ],
        ),
    }


def _tensors(node: GraphNode) -> Sequence[Tensor]:
    if node.layer is not None:
        return (*node.layer.inputs, *node.layer.outputs)
    return (node.tensor,) if node.tensor is not None else ()


def _precision(layer: Layer | None, names: Names) -> int:
    precision = layer.precision if layer is not None else None
    return names.precision(precision._name_ if precision else None)


#: Pixels; the view draws every layer and every closed group in one size.
LAYER_SIZE = (184.0, 54.0)
GROUP_SIZE = (204.0, 64.0)
#: What is outside of a group lies above and below its members, and takes no room.
_OUTSIDE_SIZE = (60.0, 0.0)
_SPACING = Spacing(beside=26.0, below=38.0, parts=44.0)
_ONE_COLUMN = replace(_SPACING, aspect=None)


class LevelLayouts:
    """Layouts of levels, `packed`; levels that are alike share one, as copies of a block do."""

    def __init__(self, spacing: Spacing) -> None:
        self._spacing = spacing
        self._number: dict[Any, int] = {}
        self.packed: list[dict[str, Any]] = []

    def number(self, level: Level) -> int:
        """Return the number of the level's layout, which is made if there is none like it."""
        tensors: dict[tuple[int, str], int] = {}
        edges = tuple(
            (edge.source, edge.target, tensors.setdefault((edge.source, edge.key), len(tensors)))
            for edge in level.edges
        )
        is_layer = tuple(isinstance(member, int) for member in level.group.members)
        key = is_layer, edges
        found = self._number.get(key)
        if found is None:
            found = self._number[key] = len(self.packed)
            self.packed.append(_pack(is_layer, edges, self._spacing))
        return found


def _pack(
    is_layer: Sequence[bool], edges: Sequence[tuple[int, int, int]], spacing: Spacing
) -> dict[str, Any]:
    laid_out = _laid_out(is_layer, edges, spacing)
    members, count = len(is_layer), len(edges)
    last = int(laid_out.starts[count])
    return {
        "width": round(laid_out.width, 1),
        "height": round(laid_out.height, 1),
        "x": packed("f4", laid_out.x[:members]),
        "y": packed("f4", laid_out.y[:members]),
        "source": packed("i4", [source for source, _, _ in edges]),
        "target": packed("i4", [target for _, target, _ in edges]),
        "starts": packed("u4", laid_out.starts[: count + 1]),
        "points": packed("f4", laid_out.points[:last].ravel()),
        "back": packed("u1", laid_out.is_back[:count]),
        "borders": laid_out.borders,
    }


def _laid_out(
    is_layer: Sequence[bool], edges: Sequence[tuple[int, int, int]], spacing: Spacing
) -> LaidOut:
    members = len(is_layer)
    sizes = [LAYER_SIZE if one else GROUP_SIZE for one in is_layer]
    ends = {end for source, target, _ in edges for end in (source, target) if end < 0}
    place = {end: members + at for at, end in enumerate(sorted(ends, reverse=True))}
    sizes += [_OUTSIDE_SIZE] * len(place)
    pairs = [(place.get(a, a), place.get(b, b)) for a, b, _ in edges]
    groups = [tensor for _, _, tensor in edges]
    if place:
        pairs += _held_apart(members, pairs, place)
        groups += range(len(groups), len(pairs))
    table = np.array(sizes, dtype=np.float64).reshape(len(sizes), 2)
    boxes = Boxes(
        widths=table[:, 0].copy(),
        heights=table[:, 1].copy(),
        edges=np.array(pairs, dtype=np.int64).reshape(len(pairs), 2),
        groups=np.array(groups, dtype=np.int64),
    )
    return lay_out(boxes, spacing)


def _held_apart(
    members: int, pairs: Sequence[tuple[int, int]], place: dict[int, int]
) -> list[tuple[int, int]]:
    """Return edges that are not drawn: they keep what is outside above and below all members."""
    read = {source for source, _ in pairs}
    written = {target for _, target in pairs}
    made = []
    for end, at in place.items():
        if end == ENTRY:
            made += [(at, one) for one in range(members) if one not in written]
        else:
            made += [(one, at) for one in range(members) if one not in read]
    return made


#: Graphs with more nodes are laid out as a whole only if nothing in them can be folded.
MOST_UNFOLDED = 6_000
#: Graphs with more layers open folded.
LARGE = 40


class Canvas(Record, frozen=True, kw_only=True):
    """What the view needs.

    Attributes:
        data: For `packing.container`.
        folding: The one it opens with.
        seen: What it shows then.
    """

    data: dict[str, Any]
    folding: str
    seen: Group


def canvas(
    graph: PlanGraph,
    times: Times,
    findings: Mapping[int, Sequence[Finding]],
    *,
    is_wrapped: bool = True,
    overlay: Overlay | None = None,
) -> Canvas:
    """Return the data of the view.

    Args:
        times: Those of no layer, where there is no profile.
        findings: By layer index.
        is_wrapped: In columns; otherwise in one, whose places another graph's can be level with.
    """
    names = Names()
    trees = _trees(graph)
    layouts = LevelLayouts(_SPACING if is_wrapped else _ONE_COLUMN)
    open_ = {name: opened(tree, LARGE) for name, tree in trees.items()}
    foldings = {
        name: _packed_folding(levels(graph, tree), open_[name][0], names, layouts)
        for name, tree in trees.items()
    }
    first = next(iter(trees))
    layers = sum(node.kind == "layer" for node in graph.nodes)
    own = [overlay and node.layer and overlay.values.get(node.layer.index) for node in graph.nodes]
    folding = first if "none" not in trees or layers > LARGE else "none"
    data = {
        "first": folding,
        "sizes": {"layer": LAYER_SIZE, "group": GROUP_SIZE},
        "total_ms": times.sum_ms if times.time_ms else None,
        "nodes": packed_nodes(graph, names, times.time_ms),
        "edges": packed_edges(graph, names),
        "overlay": {"title": overlay.title, "of": packed("f4", own)} if overlay else None,
        "findings": _packed_findings(graph, findings),
        "foldings": foldings,
        "layouts": layouts.packed,
        **names.packed(),
    }
    seen = replace(trees[folding], members=open_[folding][1])
    return Canvas(data=data, folding=folding, seen=seen)


def _trees(graph: PlanGraph) -> dict[str, Group]:
    """Return the foldings there are, modules first."""
    found: dict[str, Group] = {}
    traits = NodeTraits(graph)
    for folding in FOLDINGS:
        if folding == "none" and found and len(graph.nodes) > MOST_UNFOLDED:
            continue
        tree = fold(graph, folding, traits)
        if tree is not None:
            found[folding] = tree
    return found


def _packed_folding(
    found: Sequence[Level], open_: Sequence[Group], names: Names, layouts: LevelLayouts
) -> dict[str, Any]:
    numbers = names.numbers
    place = {id(one.group): at for at, one in enumerate(found)}
    starts, members, edge_starts, edges = [0], [], [0], []
    for level in found:
        members += [
            member if isinstance(member, int) else -1 - place[id(member)]
            for member in level.group.members
        ]
        starts.append(len(members))
        edges += [edge.edge for edge in level.edges]
        edge_starts.append(len(edges))
    groups = [one.group for one in found]
    return {
        "parent": packed("i4", [-1 if one.parent is None else one.parent for one in found]),
        "name": packed("u4", numbers(None if one.is_span else one.name for one in groups)),
        "path": packed("u4", numbers(None if one.is_span else one.path for one in groups)),
        "open": [place[id(one)] for one in open_],
        "repeat": packed("u4", numbers(group.repeat for group in groups)),
        "layout": packed("u4", [layouts.number(one) for one in found]),
        "starts": packed("u4", starts),
        "member": packed("i4", members),
        "edgeStarts": packed("u4", edge_starts),
        "edge": packed("u4", edges),
    }


def _packed_findings(graph: PlanGraph, findings: Mapping[int, Sequence[Finding]]) -> dict[str, Any]:
    """Return each finding once, and which nodes have which."""
    number: dict[int, int] = {}
    texts, of_node, of_finding = [], [], []
    for node in graph.nodes:
        for one in findings.get(node.layer.index, ()) if node.layer is not None else ():
            if id(one) not in number:
                number[id(one)] = len(number)
                said = saving_text(one.saving)
                texts.append([one.code, one.severity.value, one.message, one.advice, said])
            of_node.append(node.id)
            of_finding.append(number[id(one)])
    return {"texts": texts, "node": packed("u4", of_node), "finding": packed("u4", of_finding)}
