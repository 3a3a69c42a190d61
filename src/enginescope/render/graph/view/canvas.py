"""A plan's graph as the page's interactive view is given it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
import numpy as np
from markupsafe import Markup

from enginescope.analysis.graph.folding.levels import ENTRY, Group, Levels, levels, opened
from enginescope.analysis.graph.layout.layered import Boxes, LaidOut, Spacing, lay_out
from enginescope.analysis.graph.plan_graph import EDGE_KINDS, PlanGraph
from enginescope.core.record import Record, replace
from enginescope.formats.plan.overlay_file import Overlay
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import DataType, Tensor
from enginescope.render.base.facts import form_text
from enginescope.render.base.palette import OTHER, family_color, precision_color, type_family
from enginescope.render.base.phrases import saving_text
from enginescope.render.graph.node_labels import Times
from enginescope.render.html.page_frame import deflated_bytes

if TYPE_CHECKING:
    from enginescope.rules.base import Finding


T = TypeVar("T")


def packed(code: str, values: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Return numbers as an array that `container` takes.

    Args:
        values: ``None`` is NaN, where the type has it.
    """
    array = np.asarray(values, dtype=np.float32 if code == "f4" else None)
    return np.ascontiguousarray(array.astype(f"<{code}"))


def container(value: Any) -> Markup:
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
        is_steps = code in ("u4", "i4")
        data = (np.diff(array, prepend=array.dtype.type(0)) if is_steps else array).tobytes()
        found = {"$": code, "at": length, "n": array.size}
        parts.append(data + b"\0" * (-len(data) % 4))
        length += len(parts[-1])
        return found

    text = msgspec.json.encode(value, enc_hook=reference)
    text += b" " * (-len(text) % 4)
    return deflated_bytes(b"".join((len(text).to_bytes(4, "little"), text, *parts)))


KINDS = ("layer", "input", "output", "constant", "tensor")
_CARRIED = 4


class Kinds(Generic[T]):
    """Values by kind: a large plan has few, and each column of a kind's values is computed once.

    Args:
        key: Equal for values of a kind; ``None`` is a kind of its own.
    """

    def __init__(self, values: Sequence[T | None], key: Callable[[T], Any]) -> None:
        number: defaultdict[Any, int] = defaultdict(count().__next__)
        numbers = [number[None if value is None else key(value)] for value in values]
        self._of_value = np.array(numbers, dtype=np.int64)
        self.examples = [values[at] for at in np.unique(self._of_value, return_index=True)[1]]

    def packed(self, code: str, column: Sequence[Any]) -> np.ndarray:
        """Return a value of each kind as one of each value, `packed`."""
        return packed(code, column)[self._of_value]


class Names:
    """The tables that nodes and edges point into; the empty string is number 0."""

    def __init__(self) -> None:
        self._strings = defaultdict(count(1).__next__, {"": 0})
        self._families: defaultdict[str, int] = defaultdict(count().__next__)
        self._precisions = defaultdict(count(1).__next__, {"unknown": 0})

    def numbers(self, texts: Iterable[str | None]) -> list[int]:
        """Return the numbers of texts, which are added where they are new; 0 for ``None``."""
        found = self._strings
        return [found[text] if text else 0 for text in texts]

    def family(self, layer: Layer) -> int:
        """Return the number of the kind of work a layer does."""
        return self._families[type_family(layer.type)]

    def precision(self, dtype: DataType | None) -> int:
        """Return the number of a precision; 0 where it is not known."""
        return self._precisions[dtype._name_ if dtype else "unknown"]

    def texts(self, forms: Kinds[Tensor]) -> np.ndarray:
        """Return the numbers of shapes, types and layouts in words."""
        return forms.packed("u4", self.numbers(one and form_text(one) for one in forms.examples))

    def packed(self) -> dict[str, Any]:
        """Return the tables, colors beside what they stand for."""
        return {
            # no file holds lone surrogates
            "strings": [
                one if one.isascii() else one.encode("utf-8", "replace").decode("utf-8")
                for one in self._strings
            ],
            "families": [[name, family_color(name)] for name in self._families],
            "precisions": [
                [name, OTHER if name == "unknown" else precision_color(name)]
                for name in self._precisions
            ],
        }


def packed_nodes(
    graph: PlanGraph, names: Names, times_ms: Mapping[int, float | None]
) -> dict[str, Any]:
    """Return the nodes by columns; tensors and ONNX nodes of all, one after the other."""
    numbers = names.numbers
    layers = [node.layer for node in graph.nodes]
    kinds = Kinds(layers, lambda one: (one.type, one.subtype, one.tactic_name, id(one.precision)))
    own = kinds.examples
    generations = [node.generation for node in graph.nodes]
    starts, onnx_starts = [0], [0]
    ends: list[int] = []
    tensors: list[Tensor] = []
    onnx: list[str] = []
    for node in graph.nodes:
        own_tensors = (*node.layer.inputs, *node.layer.outputs) if node.layer else (node.tensor,)
        tensors += filter(None, own_tensors)
        starts.append(len(tensors))
        ends.append(starts[-2] + (len(node.layer.inputs) if node.layer else 0))
        onnx += node.layer.onnx_nodes if node.layer else ()
        onnx_starts.append(len(onnx))
    return {
        "kind": packed("u1", [KINDS.index(node.kind) for node in graph.nodes]),
        "name": packed("u4", numbers(node.name for node in graph.nodes)),
        "type": kinds.packed("u4", numbers(one and one.type for one in own)),
        "subtype": kinds.packed("u4", numbers(one and one.subtype for one in own)),
        "tactic": kinds.packed("u4", numbers(one and one.tactic_name for one in own)),
        "family": kinds.packed("u1", [names.family(one) if one else 0 for one in own]),
        "precision": kinds.packed("u1", [names.precision(one and one.precision) for one in own]),
        "index": packed("i4", [layer.index if layer else -1 for layer in layers]),
        "ms": packed("f4", [times_ms.get(layer.index) if layer else None for layer in layers]),
        "generation": packed("i4", [-1 if one is None else one for one in generations]),
        "starts": packed("u4", starts),
        "outputs": packed("u4", ends),
        "tensor": packed("u4", numbers(tensor.name for tensor in tensors)),
        "text": names.texts(Kinds(tensors, _form)),
        "onnxStarts": packed("u4", onnx_starts),
        "onnx": packed("u4", numbers(onnx)),
    }


def packed_edges(graph: PlanGraph, names: Names) -> dict[str, Any]:
    numbers = names.numbers
    edges = graph.edges
    kinds = [EDGE_KINDS.index(edge.kind) + _CARRIED * edge.is_carried for edge in edges]
    tensors = [edge.tensor for edge in edges]
    forms = Kinds(tensors, _form)
    types = [names.precision(one and one.dtype) for one in forms.examples]
    return {
        "source": packed("u4", graph.ends[:, 0]),
        "target": packed("u4", graph.ends[:, 1]),
        "kind": packed("u1", kinds),
        "tensor": packed("u4", numbers(tensor.name if tensor else None for tensor in tensors)),
        "text": names.texts(forms),
        "precision": forms.packed("u1", types),
    }


def _form(tensor: Tensor) -> Any:
    return tensor.shape, id(tensor.dtype), id(tensor.layout)


#: Pixels; the view draws every layer and every closed group in one size.
LAYER_SIZE = (184.0, 54.0)
GROUP_SIZE = (204.0, 64.0)
_SPACING = Spacing(beside=26.0, below=38.0, parts=44.0)


class LevelLayouts:
    """Layouts of levels, `packed`; levels that are alike share one, as copies of a block do."""

    def __init__(self, spacing: Spacing) -> None:
        self._spacing = spacing
        self._number: dict[Any, int] = {}
        self.packed: list[dict[str, Any]] = []

    def numbers(self, found: Levels) -> list[int]:
        """Return the number of each level's layout, which is made if there is none like it."""
        is_layer = found.members >= 0
        edges = np.stack((found.sources, found.targets, found.tensors), axis=1)
        starts, edge_starts = found.starts.tolist(), found.edge_starts.tolist()
        numbers = []
        for at in range(len(found.groups)):
            members = is_layer[starts[at] : starts[at + 1]]
            inside = edges[edge_starts[at] : edge_starts[at + 1]]
            key = members.tobytes(), inside.tobytes()
            number = self._number.setdefault(key, len(self.packed))
            if number == len(self.packed):
                self.packed.append(_pack(members.tolist(), inside.tolist(), self._spacing))
            numbers.append(number)
        return numbers


def _pack(
    is_layer: Sequence[bool], edges: Sequence[Sequence[int]], spacing: Spacing
) -> dict[str, Any]:
    laid_out, members, count = _laid_out(is_layer, edges, spacing), len(is_layer), len(edges)
    return {
        "width": round(laid_out.width, 1),
        "height": round(laid_out.height, 1),
        "x": packed("f4", laid_out.x[:members]),
        "y": packed("f4", laid_out.y[:members]),
        "source": packed("i4", [source for source, _, _ in edges]),
        "target": packed("i4", [target for _, target, _ in edges]),
        "starts": packed("u4", laid_out.starts[: count + 1]),
        "points": packed("f4", laid_out.points[: int(laid_out.starts[count])].ravel()),
        "back": packed("u1", laid_out.is_back[:count]),
        "borders": laid_out.borders,
    }


def _laid_out(
    is_layer: Sequence[bool], edges: Sequence[Sequence[int]], spacing: Spacing
) -> LaidOut:
    members = len(is_layer)
    sizes = [LAYER_SIZE if one else GROUP_SIZE for one in is_layer]
    ends = {end for source, target, _ in edges for end in (source, target) if end < 0}
    place = {end: members + at for at, end in enumerate(sorted(ends, reverse=True))}
    # what is outside of a group lies above and below its members, and takes no room
    sizes += [(60.0, 0.0)] * len(place)
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
    read, written = {source for source, _ in pairs}, {target for _, target in pairs}
    made = []
    for end, at in place.items():
        if end == ENTRY:
            made += [(at, one) for one in range(members) if one not in written]
        else:
            made += [(one, at) for one in range(members) if one not in read]
    return made


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
    trees: Mapping[str, Group],
    times: Times,
    findings: Mapping[int, Sequence[Finding]],
    *,
    is_wrapped: bool = True,
    overlay: Overlay | None = None,
) -> Canvas:
    """Return the data of the view.

    Args:
        trees: Its foldings by name, the one that it opens with first.
        times: Those of no layer, where there is no profile.
        findings: By layer index.
        is_wrapped: In columns; otherwise in one, whose places another graph's can be level with.
    """
    names = Names()
    layouts = LevelLayouts(_SPACING if is_wrapped else replace(_SPACING, aspect=None))
    open_ = {name: opened(tree, LARGE) for name, tree in trees.items()}
    foldings = {
        name: _packed_folding(found, open_[name][0], names, layouts)
        for name, found in zip(trees, levels(graph, *trees.values()), strict=True)
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


def _packed_folding(
    found: Levels, open_: Sequence[Group], names: Names, layouts: LevelLayouts
) -> dict[str, Any]:
    numbers = names.numbers
    place = {id(one): at for at, one in enumerate(found.groups)}
    named = [None if one.is_span else one for one in found.groups]
    return {
        "parent": packed("i4", found.parents),
        "name": packed("u4", numbers(one.name if one else None for one in named)),
        "path": packed("u4", numbers(one.path if one else None for one in named)),
        "open": [place[id(one)] for one in open_],
        "repeat": packed("u4", numbers(group.repeat for group in found.groups)),
        "layout": packed("u4", layouts.numbers(found)),
        "starts": packed("u4", found.starts),
        "member": packed("i4", found.members),
        "edgeStarts": packed("u4", found.edge_starts),
        "edge": packed("u4", found.edges),
    }


def _packed_findings(graph: PlanGraph, findings: Mapping[int, Sequence[Finding]]) -> dict[str, Any]:
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
