"""Plan JSON: trtexec's ``--exportLayerInfo``, ``IEngineInspector``, Torch-TensorRT's engine info.

TensorRT 8.2 to 10 write ``Layers`` and ``Bindings``, 11 writes ``Layers`` and ``I/O Tensors``; an
engine built without detailed profiling verbosity has names in place of layers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from enginescope.core.errors import FormatError
from enginescope.core.paused_collection import paused_collection
from enginescope.formats.lenient_json import Document, read_json
from enginescope.formats.plan_io import io_tensors
from enginescope.formats.plan_layer import LayerReader
from enginescope.model.notice import Notice
from enginescope.model.plan import Layer, Plan

_ROOT_KEYS = ("Layers", "Bindings", "I/O Tensors")
_ROOT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ENTRIES = msgspec.json.Decoder(list[msgspec.Raw])
_ENTRY = msgspec.json.Decoder()


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
    with paused_collection():
        try:
            return _plan(source, *_layer_by_layer(data), name=name)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # told or repaired there
            return plan_of(read_json(data, source), name=name)


def plan_of(document: Document, *, name: str | None = None) -> tuple[Plan, tuple[Notice, ...]]:
    """Return the plan in a file already read; see `parse_plan`."""
    plan, notices = _plan(document.source, *_root(document), name=name)
    return plan, (*document.notices, *notices)


def _layer_by_layer(data: bytes) -> tuple[dict[str, Any], Iterable[Any]]:
    """Return a valid file's root without its layers, and the layers, decoded as they are asked for.

    The values of all layers at once take several times the memory of the plan.
    """
    if data.lstrip()[:1] == b"[":
        return {}, map(_ENTRY.decode, _ENTRIES.decode(data))
    root = _ROOT.decode(data)
    layers = _ENTRIES.decode(root.pop("Layers", b"null"))
    return {key: _ENTRY.decode(raw) for key, raw in root.items()}, map(_ENTRY.decode, layers)


def _plan(
    source: str, root: dict[str, Any], raw_layers: Iterable[Any], *, name: str | None
) -> tuple[Plan, tuple[Notice, ...]]:
    reader = LayerReader()
    layers = tuple(one for raw in raw_layers if (one := reader.read(raw)) is not None)
    if reader.entries and not layers:
        raise FormatError(
            source, where="Layers", why="no entry is a layer", expected="names or objects"
        )
    layers = _with_default_profile(layers)
    io, guessed = io_tensors(root, layers)
    plan = Plan(
        name=name or source,
        layers=layers,
        io=io,
        source_schema=_schema(root, reader),
        extra={key: value for key, value in root.items() if key not in _ROOT_KEYS},
    )
    notices = _notices(source, reader, plan)
    if guessed:
        notices.append(_guessed_io(source, plan))
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


def _schema(root: dict[str, Any], reader: LayerReader) -> str:
    if reader.entries and reader.names == reader.entries:
        return "names-only"
    return "trt11" if "I/O Tensors" in root or reader.tensors.has_split_format else "trt8-10"


def _with_default_profile(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Where some names carry ``[profile N]``, those without one belong to profile 0."""
    if all(one.profile_index is None for one in layers):
        return layers
    return tuple(
        msgspec.structs.replace(one, profile_index=one.profile_index or 0) for one in layers
    )


def _notices(source: str, reader: LayerReader, plan: Plan) -> list[Notice]:
    found = []
    left_out = reader.entries - len(plan.layers)
    if left_out:
        entries = (
            "1 entry among its layers that is"
            if left_out == 1
            else (f"{left_out:,} entries among its layers that are")
        )
        found.append(
            Notice(
                code="W-PLAN-ENTRIES",
                message=f"{source} has {entries} none",
                evidence={"file": source, "left_out": left_out, "layers": len(plan.layers)},
            )
        )
    if plan.source_schema == "names-only":
        found.append(
            Notice(
                code="I-NAMES-ONLY",
                message=f"{source} names its layers and says nothing else of them; "
                "build with detailed verbosity to see more: trtexec --profilingVerbosity=detailed, "
                "or config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED",
                evidence={"file": source, "layers": len(plan.layers)},
                level="info",
            )
        )
    unknown = sorted(reader.tensors.unknown_formats)
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
