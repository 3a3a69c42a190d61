"""What a layer's name tells of the ONNX nodes in it."""

from __future__ import annotations

import re

from enginescope.records.plan.plan import Layer

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
