"""The module a layer comes from, as its ONNX nodes' names tell it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from enginescope.records.plan.plan import Layer

Path = tuple[str, ...]

_JOINT = re.compile(r" \+ |, |\.\.\.(?=/)")
_AROUND = re.compile(r"^(?:PWN\(|\{?ForeignNode\[|\()+|[)\]}]+$")
_BRACKET = re.compile(r"[(\[)\]}]")
#: TensorRT's own layers bear the name of the layer they serve.
_COPY = re.compile(r"^Reformatting CopyNode for (?:Input|Output) Tensor \d+ (?:to|from) ")
_WEIGHTS = re.compile(r"^([A-Za-z_]\w*(?:\.\w+)+)\.(?:weight|bias|kernel|scale)$")
# Deeper than any framework nests its modules; a name of slashes only must not cost more.
_DEEPEST = 16


def module_path(layer: Layer) -> Path | None:
    """Return the innermost module that holds all of a layer's nodes; ``None`` if no name has one.

    ``/blocks.3/attn/qkv/MatMul`` is in ``("blocks.3", "attn", "qkv")``; a weight's name tells its
    module too: ``blocks.3.attn.weight`` is in ``("blocks", "blocks.3", "attn")``, as PyTorch names
    nodes. ``()``: they share no module.
    """
    found = _paths(layer.onnx_nodes) or _paths(_parts(layer.name))
    if not found:
        return None
    return found[0] if len(found) == 1 else shared_path(found)


def shared_path(paths: Sequence[Path]) -> Path:
    """Return what all `paths` begin with."""
    low, high = min(paths), max(paths)
    if low == high:
        return low
    count = 0
    for one, other in zip(low, high, strict=False):
        if one != other:
            break
        count += 1
    return low[:count]


def _parts(name: str) -> list[str]:
    if name.startswith("Reformatting"):
        name = _COPY.sub("", name)
    return [_AROUND.sub("", one) if _BRACKET.search(one) else one for one in _JOINT.split(name)]


def _paths(names: Iterable[str]) -> list[Path]:
    """Return the modules that names with slashes tell; else those that weights' names tell."""
    listed = list(names)
    found = [_of_node(one) for one in listed if "/" in one]
    if found:
        return found
    matches = (_WEIGHTS.match(one) for one in listed)
    return [_of_weights(match[1]) for match in matches if match]


def _of_node(name: str) -> Path:
    return _steps(name.strip("/").rpartition("/")[0])


@lru_cache(maxsize=4096)
def _steps(module: str) -> Path:
    """Nodes of a module follow each other: of a large plan's, few are met once."""
    return tuple(filter(None, module.split("/", _DEEPEST)[:_DEEPEST]))


def _of_weights(name: str) -> Path:
    found: list[str] = []
    for step in name.split(".")[:_DEEPEST]:
        found.append(f"{found[-1]}.{step}" if step.isdecimal() and found else step)
    return tuple(found)
