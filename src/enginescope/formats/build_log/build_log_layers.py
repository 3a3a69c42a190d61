"""The finished engine's layers, as a build log lists them at its end."""

from __future__ import annotations

import re

from enginescope.formats.plan.tensor_format import parse_joined
from enginescope.records.plan.build_trace import ChosenLayer, ChosenTensor

_HEADERS = frozenset({"Engine Layer Information:", "Layers:"})
_SHORT = re.compile(r"^Layer\(([^()]+)\): (.*), Tactic: ([-+\w]+), ?(.*)$")
# "x (Half[1,64:8,56,56])" from 8.0 on; "x[Half(1,64,56,56)]" before
_NEXT = re.compile(r"(?<=\]\)), |(?<=\)\]), ")
_FORMAT = re.compile(r"^(\w+)\[([^\]]*)\]\)$|^(\w+)\(([^)]*)\)\]$")
_LONG_END = re.compile(r"(?:^|\})\s*\](?:, |$)")
_LOCATION = re.compile(r", Location: \w+$")
_TACTIC = re.compile(r"(?:^|, )TacticValue: (\S+?)(?:,|$)")
_TACTIC_NAME = re.compile(r"(?:^|, )TacticName: ([^,]*)(?:,|$)")
_DIMENSION = re.compile(r"^\s*(-?\d{1,18})(?::(\d{1,6}))?\s*$")


class LayerListReader:
    """Collects the first list of layers; later ones repeat it."""

    def __init__(self) -> None:
        self.layers: list[ChosenLayer] = []
        self._lists = 0

    def header(self, text: str) -> bool:
        """Open a list, if the line says so."""
        if text not in _HEADERS:
            return False
        self._lists += not self._lists or bool(self.layers)
        return True

    def short(self, text: str, line: int) -> bool:
        """Take a line of ``Layer(type): name, Tactic: …``."""
        match = _SHORT.match(text)
        if match is None:
            return False
        if self._lists > 1:
            return True
        kind, name, tactic, rest = match.groups()
        before, arrow, after = f" {rest} ".partition(" -> ")
        self.layers.append(
            ChosenLayer(
                index=len(self.layers),
                name=name,
                type=kind,
                tactic=tactic,
                inputs=_tensors(before) if arrow else (),
                outputs=_tensors(after if arrow else before),
                line=line,
            )
        )
        return True

    def long(self, text: str, line: int) -> bool:
        """Take a line of ``Name: …, LayerType: …``."""
        name, _, after_name = text.removeprefix("Name: ").partition(", LayerType: ")
        kind, _, after_kind = after_name.partition(", Inputs: [")
        inputs, found, after_inputs = after_kind.partition("], Outputs: [")
        end = _LONG_END.search(after_inputs)
        if not found or end is None:
            return False
        if self._lists > 1:
            return True
        rest = after_inputs[end.end() :]
        tactic, tactic_name = _TACTIC.search(rest), _TACTIC_NAME.search(rest)
        self.layers.append(
            ChosenLayer(
                index=len(self.layers),
                name=name,
                type=kind,
                tactic=tactic[1] if tactic else None,
                tactic_name=tactic_name[1].strip() or None if tactic_name else None,
                inputs=_long_tensors(inputs),
                outputs=_long_tensors(after_inputs[: end.start() + 1]),
                line=line,
            )
        )
        return True


def _tensors(text: str) -> tuple[ChosenTensor, ...]:
    found = []
    for part in _NEXT.split(text.strip()):
        name, _, shown = part.rpartition(" (" if part.endswith(")") else "[")
        match = _FORMAT.match(shown)
        if name and match is not None:
            kind, dims = match.groups()[:2] if match[1] else match.groups()[2:]
            found.append(_tensor(name, kind, f"{kind}[{dims}]", dims))
    return tuple(found)


def _long_tensors(text: str) -> tuple[ChosenTensor, ...]:
    found = []
    for part in text.split("}"):
        head, is_sized, rest = part.strip().rpartition(", Dimensions: [")
        dims, is_typed, kind = rest.partition("], Format/Datatype: ")
        if is_sized and is_typed:
            name = _LOCATION.sub("", head.partition("Name: ")[2])
            found.append(_tensor(name, kind, kind, dims))
    return tuple(found)


def _tensor(name: str, kind: str, shown: str, dims: str) -> ChosenTensor:
    dtype, layout = parse_joined(kind)
    shape, width, axis = _shape(dims)
    if width is None and layout is not None:
        width, axis = layout.vector_width or 1, layout.vector_axis
    elif width is None and shown != kind:  # the short form states it where it is more than one
        width = 1
    return ChosenTensor(
        name=name.strip(),
        format=shown,
        dtype=dtype,
        shape=shape,
        vector_width=width,
        vector_axis=axis,
    )


def _shape(text: str) -> tuple[tuple[int | None, ...] | None, int | None, int | None]:
    """Shape, width and axis of ``1,64:8,56,56``; a dimension below 0 is dynamic."""
    shape: list[int | None] = []
    width = axis = None
    for part in text.split(",") if text.strip() else ():
        match = _DIMENSION.match(part)
        if match is None:
            return None, None, None
        size = int(match[1])
        shape.append(size if size >= 0 else None)
        if match[2] is not None and int(match[2]) > 1:
            width, axis = int(match[2]), len(shape) - 1
    return tuple(shape), width, axis
