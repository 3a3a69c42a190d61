"""Copies of ONNX models that show their inside: tensors marked as outputs, or nodes cut apart."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_graph import FlowTensor, reads
from enginescope.formats.onnx.onnx_precision import external_files, load_without_weights
from enginescope.records.tensor import DataType

#: Put behind the name of a tensor whose values are given from outside.
GIVEN = "::given"
_MODEL = "model.onnx"
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
    nodes = [node for at, node in enumerate(graph.node) if at in kept]
    read = {name for node in nodes for name in reads(node)}
    del graph.node[:]
    graph.node.extend(nodes)
    asked = tuple(name for name in given if name + GIVEN in read)
    weights = {one.name for one in graph.initializer}
    inputs = [one for one in graph.input if one.name in read or one.name in weights]
    del graph.input[:]
    graph.input.extend(inputs)
    graph.input.extend(_open(name + GIVEN, given[name]) for name in asked)
    del graph.output[:]
    graph.output.extend(_open(name, one) for name, one in wanted.items())
    own = tuple(one.name for one in inputs if one.name not in weights)
    return write_copy(model, path, folder), (*(name + GIVEN for name in asked), *own)


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


def _open(name: str, one: GivenTensor) -> Any:
    return _value(name, one.dtype, one.rank)


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
    target = folder / _MODEL
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
