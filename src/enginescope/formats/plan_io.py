"""The engine's own inputs and outputs in a plan JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from enginescope.formats.plan_layer import parse_shape, parse_tensor
from enginescope.model.plan import IOTensor, Layer, ProfileShapes
from enginescope.model.tensor import Tensor

# Constants that Myelin hands to its kernels as inputs.
_CONSTANT = re.compile(r"^__mye|_dconst$|constant(?:Half|Float|BFloat16|Int\d+)?$", re.IGNORECASE)
_WORDS = {"true": True, "yes": True, "enabled": True, "false": False, "no": False}


class _Flow:
    """Which tensors the layers read and write."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.read: dict[str, Tensor] = {}
        self.written: dict[str, Tensor] = {}
        self._read_first: set[str] = set()
        for layer in layers:
            for tensor in layer.inputs:
                self.read.setdefault(tensor.name, tensor)
                if tensor.name not in self.written:
                    self._read_first.add(tensor.name)
            for tensor in layer.outputs:
                self.written.setdefault(tensor.name, tensor)

    def mode(self, name: str) -> str | None:
        if name in self._read_first:
            return "input"
        return "output" if name in self.written else None

    def tensor(self, name: str) -> Tensor:
        places = (
            (self.read, self.written) if name in self._read_first else (self.written, self.read)
        )
        return places[0].get(name) or places[1].get(name) or Tensor(name=name)


def io_tensors(root: dict[str, Any], layers: Sequence[Layer]) -> tuple[tuple[IOTensor, ...], bool]:
    """Return the engine's tensors, and whether they had to be deduced from the layers.

    From ``I/O Tensors``, else from the names in ``Bindings`` (input if read before anything
    writes it, else output), else: inputs are read and never written, and no constant by their
    name; outputs are written and never read.
    """
    flow = _Flow(layers)
    listed, names = root.get("I/O Tensors"), root.get("Bindings")
    if isinstance(listed, list):
        found = (_io_tensor(raw, flow) for raw in listed)
        return tuple(one for one in found if one is not None), False
    if isinstance(names, list):
        known = (name for name in names if isinstance(name, str) and name)
        return tuple(IOTensor(tensor=flow.tensor(one), mode=flow.mode(one)) for one in known), False
    deduced = tuple(_deduced(flow))
    return deduced, bool(deduced)


def _deduced(flow: _Flow) -> Iterable[IOTensor]:
    for name, tensor in flow.read.items():
        if name not in flow.written and not _CONSTANT.search(name):
            yield IOTensor(tensor=tensor, mode="input")
    for name, tensor in flow.written.items():
        if name not in flow.read:
            yield IOTensor(tensor=tensor, mode="output")


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
