"""Plan JSON: trtexec's ``--exportLayerInfo``, ``IEngineInspector``, Torch-TensorRT's engine info.

TensorRT 8.2 to 10 write ``Layers`` and ``Bindings``, 11 writes ``Layers`` and ``I/O Tensors``; an
engine built without detailed profiling verbosity has names in place of layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import Document, read_json
from enginescope.formats.plan_io import io_tensors
from enginescope.formats.plan_layer import parse_layer, unknown_formats
from enginescope.model.notice import Notice
from enginescope.model.plan import Layer, Plan

_ROOT_KEYS = ("Layers", "Bindings", "I/O Tensors")


def parse_plan(
    data: bytes, source: str, *, name: str | None = None
) -> tuple[Plan, tuple[Notice, ...]]:
    """Return the plan in a JSON file.

    Parameters
    ----------
    data : bytes
    source : str
        The file, for messages.
    name : str, optional
        Of the plan; by default `source`.

    Returns
    -------
    plan : Plan
        Layers in the file's order, inert ones and repeated names included.
    notices : tuple of Notice
        Repairs, entries left out, formats that are not known.

    Raises
    ------
    FormatError
        It is not JSON, or holds no list of layers.
    """
    return plan_of(read_json(data, source), name=name)


def plan_of(document: Document, *, name: str | None = None) -> tuple[Plan, tuple[Notice, ...]]:
    """Return the plan in a file already read; see `parse_plan`."""
    root, raw_layers = _root(document)
    numbered = enumerate(raw_layers)
    layers = tuple(one for index, raw in numbered if (one := parse_layer(index, raw)) is not None)
    if raw_layers and not layers:
        raise FormatError(
            document.source, where="Layers", why="no entry is a layer", expected="names or objects"
        )
    layers = _with_default_profile(layers)
    io, guessed = io_tensors(root, layers)
    plan = Plan(
        name=name or document.source,
        layers=layers,
        io=io,
        source_schema=_schema(root, raw_layers),
        extra={key: value for key, value in root.items() if key not in _ROOT_KEYS},
    )
    notices = [*document.notices, *_notices(document.source, raw_layers, plan)]
    if guessed:
        notices.append(_guessed_io(document.source, plan))
    return plan, tuple(notices)


def is_plan(value: Any) -> bool:
    """Whether JSON values look like a plan."""
    if isinstance(value, dict):
        return isinstance(value.get("Layers"), list)
    if not isinstance(value, list):
        return False
    return any(isinstance(one, dict) and "LayerType" in one and "Name" in one for one in value[:20])


def _root(document: Document) -> tuple[dict[str, Any], list[Any]]:
    value = document.value
    if isinstance(value, list):
        return {}, value
    if isinstance(value, dict) and isinstance(value.get("Layers"), list):
        return value, value["Layers"]
    raise FormatError(
        document.source, where="the root", why="there are no layers", expected="a list of Layers"
    )


def _schema(root: dict[str, Any], raw_layers: Sequence[Any]) -> str:
    if raw_layers and all(isinstance(one, str) for one in raw_layers):
        return "names-only"
    if "I/O Tensors" in root:
        return "trt11"
    tensors = (
        tensor
        for layer in raw_layers
        if isinstance(layer, dict)
        for side in (layer.get("Inputs"), layer.get("Outputs"))
        if isinstance(side, list)
        for tensor in side
        if isinstance(tensor, dict)
    )
    split = any("Datatype" in one or "DataType" in one for one in tensors)
    return "trt11" if split else "trt8-10"


def _with_default_profile(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Where some names carry ``[profile N]``, those without one belong to profile 0."""
    if all(one.profile_index is None for one in layers):
        return layers
    return tuple(
        msgspec.structs.replace(one, profile_index=one.profile_index or 0) for one in layers
    )


def _notices(source: str, raw_layers: Sequence[Any], plan: Plan) -> list[Notice]:
    found = []
    left_out = len(raw_layers) - len(plan.layers)
    if left_out:
        found.append(
            Notice(
                code="W-PLAN-ENTRIES",
                message=f"{source} has {left_out} entries among its layers that are none",
                evidence={"file": source, "left_out": left_out, "layers": len(plan.layers)},
            )
        )
    if plan.source_schema == "names-only":
        found.append(
            Notice(
                code="I-NAMES-ONLY",
                message=f"{source} names its layers and says nothing else of them; "
                "build with detailed profiling verbosity to see more",
                evidence={"file": source, "layers": len(plan.layers)},
                level="info",
            )
        )
    unknown = sorted(set(unknown_formats(raw_layers)))
    if unknown:
        found.append(
            Notice(
                code="W-UNKNOWN-FORMAT",
                message=f"{source} has tensor formats that are not known; their size is not either",
                evidence={"file": source, "formats": unknown},
            )
        )
    return found


def _guessed_io(source: str, plan: Plan) -> Notice:
    return Notice(
        code="I-IO-DEDUCED",
        message=f"{source} does not list the engine's inputs and outputs; they were deduced "
        "from which tensors are only read or only written",
        evidence={"file": source, "inputs": len(plan.inputs), "outputs": len(plan.outputs)},
        level="info",
    )
