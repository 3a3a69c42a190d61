"""The engine's own inputs and outputs in a plan JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from enginescope.formats.plan_tensor import parse_shape, parse_tensor
from enginescope.model.plan import IOTensor, Layer, ProfileShapes
from enginescope.model.tensor import Tensor

# Constants that Myelin hands to its kernels as inputs.
_CONSTANT = re.compile(r"^__mye|_dconst$|constant(?:Half|Float|BFloat16|Int\d+)?$", re.IGNORECASE)
_WORDS = {"true": True, "yes": True, "enabled": True, "false": False, "no": False}


class _Flow:
    """Which of some tensors the layers read and write, and which of the two comes first."""

    def __init__(self, layers: Sequence[Layer], names: Iterable[str]) -> None:
        self._read: dict[str, Tensor] = {}
        self._written: dict[str, Tensor] = {}
        self._read_first: set[str] = set()
        wanted = set(names)
        for layer in layers:
            for tensor in layer.inputs:
                if tensor.name in wanted:
                    self._read.setdefault(tensor.name, tensor)
                    if tensor.name not in self._written:
                        self._read_first.add(tensor.name)
            for tensor in layer.outputs:
                if tensor.name in wanted:
                    self._written.setdefault(tensor.name, tensor)

    def mode(self, name: str) -> str | None:
        if name in self._read_first:
            return "input"
        return "output" if name in self._written else None

    def tensor(self, name: str) -> Tensor:
        places = (
            (self._read, self._written) if name in self._read_first else (self._written, self._read)
        )
        return places[0].get(name) or places[1].get(name) or Tensor(name=name)


def io_tensors(root: dict[str, Any], layers: Sequence[Layer]) -> tuple[tuple[IOTensor, ...], bool]:
    """Return the engine's tensors, and whether they had to be deduced from the layers.

    From ``I/O Tensors``, else from the names in ``Bindings`` (input if read before anything
    writes it, else output), else: inputs are read and never written, and no constant by their
    name; outputs are written and never read.
    """
    listed, names = root.get("I/O Tensors"), root.get("Bindings")
    if isinstance(listed, list):
        flow = _Flow(layers, (name for raw in listed if (name := _name(raw)) is not None))
        found = (_io_tensor(raw, flow) for raw in listed)
        return tuple(one for one in found if one is not None), False
    if isinstance(names, list):
        known = [name for name in names if isinstance(name, str) and name]
        flow = _Flow(layers, known)
        return tuple(IOTensor(tensor=flow.tensor(one), mode=flow.mode(one)) for one in known), False
    deduced = tuple(_deduced(layers))
    return deduced, bool(deduced)


def _deduced(layers: Sequence[Layer]) -> Iterable[IOTensor]:
    read = {tensor.name for layer in layers for tensor in layer.inputs}
    written = {tensor.name for layer in layers for tensor in layer.outputs}
    for layer in layers:
        for tensor in layer.inputs:
            if tensor.name not in written:
                written.add(tensor.name)  # looked at: only the first of a name counts
                if not _CONSTANT.search(tensor.name):
                    yield IOTensor(tensor=tensor, mode="input")
    for layer in layers:
        for tensor in layer.outputs:
            if tensor.name not in read:
                read.add(tensor.name)
                yield IOTensor(tensor=tensor, mode="output")


def _name(raw: Any) -> str | None:
    name = raw.get("Name") if isinstance(raw, dict) else raw
    return name if isinstance(name, str) else None


def _io_tensor(raw: Any, flow: _Flow) -> IOTensor | None:
    if isinstance(raw, str) and raw:
        return IOTensor(tensor=flow.tensor(raw), mode=flow.mode(raw))
    tensor = parse_tensor(raw)
    if tensor is None:
        return None
    mode = raw.get("IOMode")
    said = mode.lower().rpartition(".")[2].lstrip("k") if isinstance(mode, str) else None
    return IOTensor(
        tensor=tensor,
        mode=said if said in ("input", "output") else flow.mode(tensor.name),
        is_shape_tensor=_truth(raw.get("IsShapeInferenceIO")),
        profiles=tuple(_profiles(raw.get("ProfileInfo"))),
    )


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    return _WORDS.get(value.lower()) if isinstance(value, str) else None


def _profiles(raw: Any) -> Iterable[ProfileShapes]:
    for index, one in enumerate(raw if isinstance(raw, list) else []):
        if not isinstance(one, dict):
            continue
        layout = one.get("Format")
        yield ProfileShapes(
            index=index,
            min_shape=_static(one.get("MinShape")),
            opt_shape=_static(one.get("OptShape")),
            max_shape=_static(one.get("MaxShape")),
            layout=layout if isinstance(layout, str) and layout else None,
        )


def _static(raw: Any) -> tuple[int, ...] | None:
    shape = parse_shape(raw)
    if shape is None:
        return None
    dims = tuple(dim for dim in shape if dim is not None)
    return dims if len(dims) == len(shape) else None
