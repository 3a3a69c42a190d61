"""Copies of ONNX models that show their inside: tensors as outputs, If and Loop unfolded.

A user's list of models to download: a link on each line, its checksum and name behind it.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import read_bytes
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_graph import FlowTensor, reads
from enginescope.formats.onnx.onnx_precision import (
    copy_of,
    external_files,
    graphs_of,
    inner_graphs,
    load_without_weights,
    node_name,
    refill,
)
from enginescope.records.tensor import DataType

#: Put behind the name of a tensor whose values are given from outside.
GIVEN = "::given"
_ELEMENT_TYPES = {
    DataType.FP64: "DOUBLE",
    DataType.FP32: "FLOAT",
    DataType.FP16: "FLOAT16",
    DataType.BF16: "BFLOAT16",
}


class GivenTensor(Record, frozen=True, kw_only=True):
    """What is to be known of a tensor that is given from outside."""

    dtype: DataType
    rank: int


def marked_onnx(path: Path, tensors: Mapping[str, FlowTensor], folder: Path) -> Path:
    """Write a copy of a model that gives some of its tensors beside its outputs.

    Args:
        tensors: Their names, and what is known of them; a runtime may find out the rest.
        folder: Gets the copy and links to the files of its weights.

    Returns:
        The copy.
    """
    model = load_without_weights(str(path))
    known = {one.name for one in model.graph.output}
    for name, one in tensors.items():
        if name not in known:
            rank = None if one.shape is None else len(one.shape)
            model.graph.output.append(_value(name, one.dtype, rank))
    return write_copy(model, path, folder)


def split_model_at(
    path: Path, wanted: Mapping[str, GivenTensor], given: Mapping[str, GivenTensor], folder: Path
) -> tuple[Path, tuple[str, ...]]:
    """Write a copy of a model in which nodes read given values in place of each other's.

    Args:
        wanted: Tensors that the copy gives.
        given: Tensors that are inputs of the copy wherever a node of the graph reads them.

    Returns:
        The copy, and the inputs it asks for: those of `given` with `GIVEN` behind their names, and
        inputs of the model.
    """
    model = load_without_weights(str(path))
    graph = model.graph
    for node in graph.node:
        for at, name in enumerate(node.input):
            if name in given:
                node.input[at] = name + GIVEN
    kept = _reached(graph.node, wanted)
    refill(graph.node, [node for at, node in enumerate(graph.node) if at in kept])
    read = {name for node in graph.node for name in reads(node)}
    asked = {name + GIVEN: one for name, one in given.items() if name + GIVEN in read}
    weights = {one.name for one in graph.initializer}
    inputs = [one for one in graph.input if one.name in read or one.name in weights]
    own = tuple(one.name for one in inputs if one.name not in weights)
    opened = (_value(name, one.dtype, one.rank) for name, one in asked.items())
    refill(graph.input, (*inputs, *opened))
    refill(graph.output, [_value(name, one.dtype, one.rank) for name, one in wanted.items()])
    return write_copy(model, path, folder), (*asked, *own)


def _reached(nodes: Sequence[Any], wanted: Iterable[str]) -> set[int]:
    """Return the numbers of the nodes that `wanted` depends on."""
    makers = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    found: set[int] = set()
    open_ = [makers[name] for name in wanted if name in makers]
    while open_:
        at = open_.pop()
        if at not in found:
            found.add(at)
            open_ += [makers[name] for name in reads(nodes[at]) if name in makers]
    return found


def _value(name: str, dtype: DataType | None, rank: int | None) -> Any:
    """Return a tensor whose sizes are open: samples need not have one shape."""
    onnx = require("onnx", purpose="marking tensors", install="enginescope")
    made = onnx.ValueInfoProto(name=name)
    if dtype not in _ELEMENT_TYPES:
        return made
    tensor = made.type.tensor_type
    tensor.elem_type = onnx.TensorProto.DataType.Value(_ELEMENT_TYPES[dtype])
    if rank is not None:
        tensor.shape.SetInParent()
    for _ in range(rank or 0):
        tensor.shape.dim.add()
    return made


def write_copy(model: Any, path: Path, folder: Path) -> Path:
    """Write a changed copy of a model into a folder, with links to the files of its weights."""
    folder.mkdir(parents=True, exist_ok=True)
    for location in external_files(str(path)):
        _bring(path, location, folder)
    target = folder / "model.onnx"
    target.write_bytes(model.SerializeToString())
    return target


def _bring(path: Path, location: str, folder: Path) -> None:
    """Put a file of weights where the copy looks for it; without a second copy where possible."""
    source, target = path.parent / location, folder / location
    if Path(location).is_absolute() or ".." in Path(location).parts:
        raise FormatError(str(path), why=f"its weights are in {location}, outside its folder")
    if not source.is_file():
        raise FormatError(str(path), why=f"its weights file {location} is missing")
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        # no symbolic link: runtimes refuse weights outside the model's folder
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)


#: Before the number of an If or Loop, as an output that tells what it did.
DECISION = "enginescope::decision::"
#: Between the name of a node or tensor of a body and the round that it belongs to.
ROUND = "::round"
_DECIDING = ("If", "Loop")
_UNSQUEEZES_BY_INPUT = 13


class Decision(Record, frozen=True, kw_only=True):
    """What an If or Loop did: the branch taken (1: then), or the rounds of the body."""

    node: str
    operator: str
    value: int


def asking_onnx(path: Path, folder: Path) -> tuple[Path, tuple[tuple[str, str], ...]]:
    """Write a copy of a model that also outputs what each If and Loop of its main graph does.

    Returns:
        The copy; name and operator of each, in order. Output ``DECISION`` + its number is its
        condition or the number of rounds.
    """
    onnx = require("onnx", purpose="reading branches", install="enginescope")
    model = load_without_weights(str(path))
    deciding = [node for node in model.graph.node if node.op_type in _DECIDING]
    for number, node in enumerate(deciding):
        name = f"{DECISION}{number}"
        if node.op_type == "If":
            source, operator = node.input[0], "Identity"
        else:
            source, operator = f"{name}::rounds", "Shape"
            body = _graph(node, "body")
            counter = f"{name}::round"
            body.node.append(onnx.helper.make_node("Identity", [body.input[0].name], [counter]))
            number_type = onnx.TensorProto.INT64
            body.output.append(onnx.helper.make_tensor_value_info(counter, number_type, []))
            node.output.extend([""] * (len(body.output) - 2 - len(node.output)))
            node.output.append(source)
        model.graph.node.append(onnx.helper.make_node(operator, [source], [name]))
        model.graph.output.append(onnx.ValueInfoProto(name=name))
    names = tuple((node_name(node), node.op_type) for node in deciding)
    return write_copy(model, path, folder), names


def unfolded_onnx(path: Path, values: Mapping[int, int], folder: Path) -> Path:
    """Write a copy of a model in which If and Loop nodes of its main graph are their content.

    Args:
        values: By the number of the node, as `asking_onnx` numbers them: 1 for the then-branch, 0
            for the else-branch; the rounds of a body. A node without a value stays.
    """
    model = load_without_weights(str(path))
    graph = model.graph
    opset = next((one.version for one in model.opset_import if not one.domain), 1)
    unfolding = _Unfolding(graph, opset)
    nodes: list[Any] = []
    number = -1
    for node in graph.node:
        number += node.op_type in _DECIDING
        value = values.get(number) if node.op_type in _DECIDING else None
        if value is None:
            nodes.append(node)
        elif node.op_type == "If":
            nodes += unfolding.branch(node, "then_branch" if value else "else_branch")
        else:
            nodes += unfolding.rounds(node, value)
    refill(graph.node, [copy_of(node) for node in nodes])
    return write_copy(model, path, folder)


def original_name(name: str) -> str:
    """Return the name that a node of an unfolded body has in the model."""
    return name.partition(ROUND)[0]


class _Unfolding:
    """Nodes of branches and bodies, with names that are free in the main graph."""

    def __init__(self, graph: Any, opset: int) -> None:
        self._onnx = require("onnx", purpose="unfolding branches", install="enginescope")
        self._graph, self._opset = graph, opset
        self._taken = {one.name for one in (*graph.input, *graph.initializer)}
        self._taken |= {name for node in graph.node for name in node.output}

    def branch(self, node: Any, which: str) -> Iterator[Any]:
        """Yield the nodes of a branch, and what makes the If's outputs of its own."""
        branch = _graph(node, which)
        yield from self._content(branch, node, "", {})
        names = self._last
        inside = (names.get(one.name, one.name) for one in branch.output)
        yield from self._identities(inside, node.output)

    def rounds(self, node: Any, count: int) -> Iterator[Any]:
        """Yield the nodes of a body, as many times as it ran."""
        body, make = _graph(node, "body"), self._onnx.helper.make_tensor
        kinds = self._onnx.TensorProto
        carried = list(node.input[2:])
        scanned: list[list[str]] = [[] for _ in body.output[1 + len(carried) :]]
        for at in range(count):
            counter, going = (f"{node_name(node)}{ROUND}{at}::{end}" for end in ("number", "on"))
            self._graph.initializer.append(make(counter, kinds.INT64, [], [at]))
            self._graph.initializer.append(make(going, kinds.BOOL, [], [True]))
            inputs = (one.name for one in body.input)
            given = dict(zip(inputs, (counter, going, *carried), strict=True))
            yield from self._content(body, node, f"{ROUND}{at}", given)
            outputs = [self._last.get(one.name, one.name) for one in body.output]
            carried = outputs[1 : 1 + len(carried)]
            for parts, name in zip(scanned, outputs[1 + len(carried) :], strict=True):
                parts.append(name)
        yield from self._identities(carried, node.output)
        for parts, outer in zip(scanned, node.output[len(carried) :], strict=False):
            if outer:
                yield from self._stacked(parts, outer)

    def _content(
        self, graph: Any, node: Any, suffix: str, given: Mapping[str, str]
    ) -> Iterator[Any]:
        """Yield copies of a graph's nodes under free names; `_last` has the names afterwards."""
        own = [one.name for one in graph.initializer]
        own += [name for inner in graph.node for name in inner.output if name]
        names = {name: self._free(name + suffix, node) for name in own} | dict(given)
        self._last = names
        for field in ("initializer", "value_info"):
            for one in getattr(graph, field):
                copy = copy_of(one)
                copy.name = names.get(one.name, one.name)
                getattr(self._graph, field).append(copy)
        for inner in graph.node:
            copy = copy_of(inner)
            copy.name = f"{inner.name}{suffix}" if inner.name else ""
            _rename(copy, names)
            yield copy

    def _free(self, name: str, node: Any) -> str:
        if name in self._taken:
            name = f"{node_name(node)}::{name}"
        self._taken.add(name)
        return name

    def _identities(self, sources: Iterable[str], targets: Iterable[str]) -> Iterator[Any]:
        for source, target in zip(sources, targets, strict=False):
            if target:
                yield self._onnx.helper.make_node("Identity", [source], [target])

    def _stacked(self, parts: Sequence[str], target: str) -> Iterator[Any]:
        """Yield nodes that stack one tensor of each round."""
        make = self._onnx.helper.make_node
        axes = f"{target}::axes"
        by_input = self._opset >= _UNSQUEEZES_BY_INPUT
        if by_input:
            tensor = self._onnx.helper.make_tensor(axes, self._onnx.TensorProto.INT64, [1], [0])
            self._graph.initializer.append(tensor)
        for part in parts:
            inputs, more = ([part, axes], {}) if by_input else ([part], {"axes": [0]})
            yield make("Unsqueeze", inputs, [f"{part}::part"], **more)
        yield make("Concat", [f"{part}::part" for part in parts], [target], axis=0)


def _graph(node: Any, attribute: str) -> Any:
    return next(one.g for one in node.attribute if one.name == attribute)


def _rename(node: Any, names: Mapping[str, str]) -> None:
    """Rename what a node reads and makes, and what its own branches read of the graph around."""
    for field in (node.input, node.output):
        field[:] = [names.get(name, name) for name in field]
    for branch in inner_graphs(node):
        for graph in graphs_of(branch):
            for inner in graph.node:
                inner.input[:] = [names.get(name, name) for name in inner.input]
            for value in graph.output:
                value.name = names.get(value.name, value.name)


_SHA256 = re.compile(r"(?:sha256[:=])?([0-9a-fA-F]{64})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
_ARCHIVES = (".tar.gz", ".tgz", ".tar", ".zip")


class ModelLink(Record, frozen=True, kw_only=True):
    """A file to download.

    Attributes:
        name: Of the folder it goes into.
        file: Its own name.
        sha256: ``None``: nobody says what it should be.
        line: In the list, from 1.
    """

    url: str
    name: str
    file: str
    sha256: str | None
    line: int

    @property
    def is_archive(self) -> bool:
        """Whether it holds files that are to be taken out."""
        return self.file.lower().endswith(_ARCHIVES)


class Fetched(Record, frozen=True, kw_only=True):
    """Result of a link.

    Attributes:
        sha256: Of the file, whether anybody said what it should be or not.
        was_there: It was whole already, and nothing was asked of the network.
    """

    link: ModelLink
    folder: str
    sha256: str
    was_there: bool


def read_links(path: Path) -> tuple[ModelLink, ...]:
    """Return the links of a list: ``URL [SHA256] [NAME]`` a line; ``#`` begins a remark.

    Raises:
        FormatError: A line is not a link or holds credentials, there is none at all, or two links
            go into one folder.
    """
    found: list[ModelLink] = []
    text = read_bytes(path).decode("utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition(" #")[0].split() if not line.lstrip().startswith("#") else []
        if words:
            found.append(_link(words, number, str(path)))
    if not found:
        what = str(path)
        raise FormatError(what, why="it lists no model", expected="URL [SHA256] [NAME] per line")
    names = [one.name for one in found]
    twice = next((one for one in found if names.count(one.name) > 1), None)
    if twice is not None:
        why = f"another line is called {twice.name} too"
        expected = "a separate name at the end of the line"
        raise FormatError(str(path), where=f"line {twice.line}", why=why, expected=expected)
    return tuple(found)


def _link(words: list[str], line: int, source: str) -> ModelLink:
    where = f"line {line}"
    parts = urlsplit(words[0])
    if "@" in (parts.netloc or words[0]):  # it would be printed and stored
        raise FormatError(source, where=where, why="the link holds a user's name or password")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise FormatError(source, where=where, why=f"{words[0]!r} is not an http or https link")
    file = unquote(PurePosixPath(parts.path).name)
    if not _NAME.fullmatch(file):
        raise FormatError(source, where=where, why=f"{words[0]!r} does not end in a file's name")
    sha256: str | None = None
    name: str | None = None
    for word in words[1:]:
        if digest := _SHA256.fullmatch(word):
            sha256 = digest[1].lower()
        elif _NAME.fullmatch(word) and name is None:
            name = word
        else:
            raise FormatError(source, where=where, why=f"{word!r} is neither a SHA-256 nor a name")
    return ModelLink(url=words[0], name=name or _stem(file), file=file, sha256=sha256, line=line)


def _stem(file: str) -> str:
    for ending in (*_ARCHIVES, ".onnx"):
        if file.lower().endswith(ending):
            return file[: -len(ending)] or file
    return file
