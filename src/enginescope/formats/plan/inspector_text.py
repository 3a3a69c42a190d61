"""The engine inspector's output as it stands in a log: lines of text, or JSON among other lines."""

from __future__ import annotations

import json
import re
from typing import Any

#: At the start of a line: a layer as the inspector's text has it.
IS_LAYER = re.compile(r"^Name: .+, LayerType: ", re.MULTILINE)
#: Values may hold commas: a new field begins with a capital and has a colon.
_FIELD = re.compile(r", (?=[A-Z][\w/ ]{0,40}:(?: |$))")
_JSON = re.compile(r'^\{\s*"Layers"\s*:', re.MULTILINE)
_BINDINGS = "Bindings:"


def inspected_plan(text: str) -> dict[str, Any] | None:
    """Return the plan in a log with the keys of the inspector's JSON; ``None`` without layers.

    JSON goes before text, which repeats it with less.
    """
    decoder = json.JSONDecoder(strict=False)  # node names are joined by control characters
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
    return {"Layers": layers, "Bindings": _bindings(lines)} if layers else None


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


def _bindings(lines: list[str]) -> list[str]:
    """Return the names below ``Bindings:``, up to an empty line or a log's next line."""
    for at, line in enumerate(lines):
        if line.rstrip() == _BINDINGS:
            names = []
            for name in lines[at + 1 :]:
                if not name.strip() or name.startswith("["):
                    break
                names.append(name.strip())
            return names
    return []
