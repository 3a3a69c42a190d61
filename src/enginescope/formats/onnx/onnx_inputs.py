"""What an ONNX model's file says of its inputs: names of dimensions, sizes of indexed tables.

What a file is that was given as a model and is none, where its first bytes say so.

Inputs and outputs of language models are known by the names of Optimum, ONNX Runtime's exporters
and its generate() models: ``attention_mask``, ``position_ids``, ``past_key_values.0.key`` or
``past_0``, ``present.0.key`` or ``present_0``.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from enginescope.core.errors import UsageError
from enginescope.core.packed_files import ZIP_TAGS
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_graph import load_onnx
from enginescope.formats.onnx.onnx_precision import graphs_of

_PAST = re.compile(r"past(_key_values|_kv)?(?=[._]|\d|$)")
_PRESENT = re.compile(r"present(_key_values|_kv)?(?=[._]|\d|$)")
_MASK = re.compile(r"(^|_)(attention|input)_mask$")
_POSITIONS = re.compile(r"(^|_)position(_ids|s)$")
_SEGMENTS = re.compile(r"^(token_type|segment)_ids$")
_IDS = re.compile(r"(^|_)ids$")
#: Of decoders with and without a past in one graph.
HAS_PAST = "use_cache_branch"


def is_past(name: str) -> bool:
    """Whether an input holds keys or values of earlier tokens."""
    return _PAST.match(name) is not None


def is_mask(name: str) -> bool:
    """Whether an input marks the tokens that count."""
    return _MASK.search(name) is not None


def is_positions(name: str) -> bool:
    """Whether an input numbers the tokens."""
    return _POSITIONS.search(name) is not None


def is_segments(name: str) -> bool:
    """Whether an input says which sentence a token is of."""
    return _SEGMENTS.search(name) is not None


def is_tokens(name: str) -> bool:
    """Whether an input holds ids of tokens."""
    return bool(_IDS.search(name)) and not is_positions(name) and not is_segments(name)


def presents_of(inputs: Iterable[str], outputs: Iterable[str]) -> dict[str, str]:
    """Return the output that feeds each input of keys or values in the next step, as far as known.

    The rest of both names is the same: ``past_key_values.0.key`` and ``present.0.key``.
    """
    given = {_rest(_PRESENT, name): name for name in outputs if _PRESENT.match(name)}
    found = ((name, given.get(_rest(_PAST, name))) for name in inputs if is_past(name))
    return {name: present for name, present in found if present is not None}


def _rest(start: re.Pattern[str], name: str) -> str:
    return start.sub("", name, count=1).lstrip("._")


#: Operators whose output holds values of their first input alone, in another form.
_SAME_VALUES = frozenset(
    {
        *("Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose"),
        *("Slice", "Expand", "Tile", "Gather", "Dropout"),
    }
)
#: Operators that turn a stored table into another form of the same size.
_SAME_TABLE = frozenset({"Identity", "Cast", "DequantizeLinear"})
#: Operator, one of them ONNX Runtime's own -> number of an input of indices -> number of its table.
_LOOKUPS = {"Gather": {1: 0}, "EmbedLayerNormalization": {0: 2, 1: 4}}


class IndexedTable(Record, frozen=True, kw_only=True):
    """A table of constants that an input indexes.

    Attributes:
        table: Its name in the file.
        size: Entries along the indexed axis: indices are below it.
    """

    table: str
    size: int


class OnnxInputs(Record, frozen=True, kw_only=True):
    """The inputs of a model, weights left out.

    Attributes:
        dims: By input: sizes, names of dynamic dimensions, ``None`` for a dynamic one without a
            name.
        tables: By input: the smallest table that it indexes.
    """

    dims: dict[str, tuple[int | str | None, ...]]
    tables: dict[str, IndexedTable]


def read_onnx_inputs(path: Path) -> OnnxInputs:
    """Return what a model's file says of its inputs; weights in other files are not read."""
    graph = load_onnx(path).graph
    weights = {one.name for one in graph.initializer}
    fed = [one for one in graph.input if one.name not in weights]
    dims = {
        one.name: tuple(map(dim_of, one.type.tensor_type.shape.dim))
        for one in fed
        if one.type.HasField("tensor_type")
    }
    return OnnxInputs(dims=dims, tables=_Tables(graph).of_inputs({one.name for one in fed}))


class _Tables:
    """Follows indices back to inputs, through operators that keep their values."""

    def __init__(self, graph: Any) -> None:
        self._makers: dict[str, Any] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._nodes: list[Any] = []
        for one in graphs_of(graph):
            self._shapes |= {each.name: tuple(each.dims) for each in one.initializer}
            for node in one.node:
                self._nodes.append(node)
                self._makers |= dict.fromkeys(node.output, node)
                if node.op_type == "Constant":
                    values = (each.t for each in node.attribute if each.name == "value")
                    self._shapes |= {
                        name: tuple(each.dims) for each in values for name in node.output
                    }

    def of_inputs(self, inputs: set[str]) -> dict[str, IndexedTable]:
        found: dict[str, IndexedTable] = {}
        lookups = (
            (node, *places)
            for node in self._nodes
            for places in _LOOKUPS.get(node.op_type, {}).items()
            if max(places) < len(node.input) and all(node.input[at] for at in places)
        )
        for node, indices, table in lookups:
            name = self._source(node.input[indices], _SAME_VALUES)
            stored = self._source(node.input[table], _SAME_TABLE)
            axis = next((one.i for one in node.attribute if one.name == "axis"), 0)
            shape = self._shapes.get(stored)
            if name not in inputs or not shape or not -len(shape) <= axis < len(shape):
                continue
            size = shape[axis]
            if size and (name not in found or size < found[name].size):
                found[name] = IndexedTable(table=stored, size=size)
        return found

    def _source(self, tensor: str, through: frozenset[str]) -> str:
        """Return the tensor that this one has its values from."""
        seen: set[str] = set()  # a broken model may have a loop
        while (maker := self._makers.get(tensor)) is not None and maker.op_type in through:
            if tensor in seen or not maker.input:
                break
            seen.add(tensor)
            tensor = maker.input[0]
        return tensor


def dim_of(dim: Any) -> int | str | None:
    """Return a size, the name of a dynamic dimension, or ``None`` for one without a name."""
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return int(dim.dim_value)
    return str(dim.dim_param) or None


#: How a file begins, what it then is, and the next step. No model and no engine begins so.
_BEGINNINGS = (
    ((b"version https://git-lfs",), "it is a pointer of Git LFS to the model", "git lfs pull"),
    ((b"{", b"["), "it is JSON", "of a plan, enginescope explore; else give the model"),
    ((b"<",), "it is a page or XML, as a download leaves that failed", "fetch the model again"),
    (ZIP_TAGS, "it is a zip file, as PyTorch saves models", "export it: torch.onnx.export"),
)
_HEAD_BYTES = 64


def check_model_file(path: Path) -> None:
    """Raise unless a file may be a model."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    for beginnings, why, hint in _BEGINNINGS:
        if head.startswith(beginnings):
            raise UsageError(f"{path} is not a model", why=why, hint=hint)
