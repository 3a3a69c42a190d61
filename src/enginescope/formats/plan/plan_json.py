"""Plan JSON: trtexec's ``--exportLayerInfo``, ``IEngineInspector``, Torch-TensorRT's engine info.

TensorRT 8.2 to 10 write ``Layers`` and ``Bindings``, 11 writes ``Layers`` and ``I/O Tensors``; an
engine built without detailed profiling verbosity has names in place of layers.

Also the inspector's output as it stands in a log: lines of text, or JSON among other lines.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, takewhile
from typing import Any

import msgspec

from enginescope.core.errors import FormatError
from enginescope.core.process_control import gc_paused
from enginescope.core.record import replace
from enginescope.formats.lenient_json import Document, read_json
from enginescope.formats.plan.plan_layer import LayerReader
from enginescope.formats.plan.tensor_format import as_json, parse_shape, parse_tensor
from enginescope.judge.notice import Notice, Notices
from enginescope.records.plan.plan import IOTensor, Layer, Plan, ProfileShapes
from enginescope.records.tensor import Tensor

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
        named = (raw.get("Name") if isinstance(raw, dict) else raw for raw in listed)
        flow = _Flow(layers, (name for name in named if isinstance(name, str)))
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


def _io_tensor(raw: Any, flow: _Flow) -> IOTensor | None:
    if isinstance(raw, str) and raw:
        return IOTensor(tensor=flow.tensor(raw), mode=flow.mode(raw))
    if (tensor := parse_tensor(raw)) is None:
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
    if (shape := parse_shape(raw)) is None:
        return None
    dims = tuple(dim for dim in shape if dim is not None)
    return dims if len(dims) == len(shape) else None


_ROOT_KEYS = ("Layers", "Bindings", "I/O Tensors")
_ROOT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ENTRIES = msgspec.json.Decoder(list[msgspec.Raw])
_ENTRY = msgspec.json.Decoder()


def parse_plan(data: bytes, source: str, *, name: str | None = None) -> tuple[Plan, Notices]:
    """Return the plan in a JSON file.

    Args:
        name: Of the plan; by default `source`.

    Returns:
        plan: Layers in the file's order, inert ones and repeated names included.
        notices: Repairs, entries left out, formats that are not known.
    """
    with gc_paused():
        try:
            return _plan(source, *_layer_by_layer(data), name=name)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # told or repaired there
            return plan_of(read_json(data, source), name=name)


def plan_of(document: Document, *, name: str | None = None) -> tuple[Plan, Notices]:
    """Return the plan in a file already read; see `parse_plan`."""
    root, layers = _root(document)
    plan, notices = _plan(document.source, root, map(as_json, layers), name=name)
    return plan, (*document.notices, *notices)


def _layer_by_layer(data: bytes) -> tuple[dict[str, Any], list[msgspec.Raw]]:
    """Return a valid file's root without its layers, and the layers, each as JSON.

    The values of all layers at once take several times the memory of the plan.
    """
    if data.lstrip()[:1] == b"[":
        return {}, _ENTRIES.decode(data)
    root = _ROOT.decode(data)
    layers = _ENTRIES.decode(root.pop("Layers", b"null"))
    return {key: _ENTRY.decode(raw) for key, raw in root.items()}, layers


def _plan(
    source: str, root: dict[str, Any], raw_layers: Iterable[Any], *, name: str | None
) -> tuple[Plan, Notices]:
    reader = LayerReader()
    layers = tuple(one for raw in raw_layers if (one := reader.read(raw)) is not None)
    if reader.entries and not layers:
        why = "no entry is a layer"
        raise FormatError(source, where="Layers", why=why, expected="names or objects")
    if any(layer.profile_index is not None for layer in layers):
        # where some names carry ``[profile N]``, those without one belong to profile 0
        layers = tuple(replace(layer, profile_index=layer.profile_index or 0) for layer in layers)
    io, guessed = io_tensors(root, layers)
    schema = "trt11" if "I/O Tensors" in root or reader.tensors.has_split_format else "trt8-10"
    plan = Plan(
        name=name or source,
        layers=layers,
        io=io,
        source_schema="names-only" if reader.entries and reader.names == reader.entries else schema,
        extra={key: value for key, value in root.items() if key not in _ROOT_KEYS},
    )
    return plan, tuple(_notices(source, reader, plan, is_deduced=guessed))


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
    why = "there are no layers"
    raise FormatError(document.source, where="the root", why=why, expected="a list of Layers")


def _notices(source: str, reader: LayerReader, plan: Plan, *, is_deduced: bool) -> Iterator[Notice]:
    def notice(code: str, text: str, **evidence: object) -> Notice:
        return Notice(code, f"{source} {text}", {"file": source, **evidence})

    layers, left_out = len(plan.layers), reader.entries - len(plan.layers)
    if left_out:
        entries = "1 entry among its layers that is"
        if left_out > 1:
            entries = f"{left_out:,} entries among its layers that are"
        yield notice("W-PLAN-ENTRIES", f"has {entries} none", left_out=left_out, layers=layers)
    if plan.source_schema == "names-only":
        text = (
            "only has the names of its layers; "
            "build with detailed verbosity to see more: trtexec --profilingVerbosity=detailed, "
            "or config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED"
        )
        yield notice("I-NAMES-ONLY", text, layers=layers)
    if unknown := sorted(reader.tensors.unknown_formats):
        text = "has unknown tensor formats, so their size is unknown"
        yield notice("W-UNKNOWN-FORMAT", text, formats=unknown)
    if is_deduced:
        derived = "enginescope derived them from the tensors that are only read or only written"
        text = f"does not list the engine's inputs and outputs; {derived}"
        ends = {"inputs": len(plan.inputs), "outputs": len(plan.outputs)}
        yield notice("I-IO-DEDUCED", text, **ends)


#: At the start of a line: a layer as the inspector's text has it.
IS_LAYER = re.compile(r"^Name: .+, LayerType: ", re.MULTILINE)
#: Values may hold commas: a new field begins with a capital and has a colon.
_FIELD = re.compile(r", (?=[A-Z][\w/ ]{0,40}:(?: |$))")
_JSON = re.compile(r'^\{\s*"Layers"\s*:', re.MULTILINE)


def inspected_plan(text: str) -> dict[str, Any] | None:
    """Return the plan in a log with the keys of the inspector's JSON; ``None`` without layers.

    JSON goes before text, which repeats it with less.
    """
    # node names are joined by control characters
    decoder = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
    for match in _JSON.finditer(text):
        try:
            value, _ = decoder.raw_decode(text, match.start())
        except ValueError:
            continue
        except RecursionError:  # what follows lies inside it
            break
        if isinstance(value, dict):
            return value
    if IS_LAYER.search(text) is None:
        return None
    lines = text.split("\n")
    layers = [layer for line in lines if (layer := _layer(line)) is not None]
    # names stand below ``Bindings:``, up to an empty line or a log's next line
    below = list(dropwhile(lambda line: line.rstrip() != "Bindings:", lines))[1:]
    names = takewhile(lambda line: line.strip() and line[0] != "[", below)
    return {"Layers": layers, "Bindings": [name.strip() for name in names]} if layers else None


def _layer(line: str) -> dict[str, Any] | None:
    """Return a layer; each word is looked for once, however long the line is."""
    if not line.startswith("Name: "):
        return None
    name, has_type, rest = line[6:].partition(", LayerType: ")
    kind, has_inputs, rest = rest.partition(", Inputs: [")
    read, has_outputs, rest = rest.partition("], Outputs: [")
    if not (has_type and has_inputs and has_outputs) or "," in kind:
        return None
    inputs, _, constants = read.partition("], Constants: [")
    written, closes, rest = ("", "]", rest[1:]) if rest[:1] == "]" else rest.partition("}]")
    if not closes or rest[:2] not in ("", ", "):
        return None
    return {
        "Name": name,
        "LayerType": kind,
        "Inputs": _tensors(inputs),
        "Outputs": _tensors(written),
        **({"Constants": _tensors(constants)} if constants else {}),
        **_fields(rest[2:]),
    }


def _tensors(text: str) -> list[dict[str, Any]]:
    parts = text.strip().removeprefix("{ ").removesuffix("}").rstrip().split(" }, { ")
    return [_fields(part) for part in parts if part.startswith("Name: ")]


def _fields(text: str) -> dict[str, Any]:
    pairs = (one.partition(":")[::2] for one in _FIELD.split(text) if ":" in one)
    return {key: _value(key, raw.removeprefix(" ")) for key, raw in pairs}


def _value(key: str, raw: str) -> Any:
    """Return a field's value as JSON has it: lists and counts are JSON in the text too."""
    if key in ("Name", "Metadata") or not raw or raw[0] not in "[{-0123456789":
        return raw
    try:
        return json.loads(raw)
    except ValueError:
        return raw
