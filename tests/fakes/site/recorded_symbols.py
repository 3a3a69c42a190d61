"""What the real bindings have, by version: the lists in ``tests/data/tensorrt-symbols``."""

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "data" / "tensorrt-symbols"
#: TensorRT for RTX, the whole API of TensorRT 11 with the values of its enumerations.
RTX = "rtx-1.7.1.json"
#: version -> (recorded lists, best first; column of sources.json, None where a list is whole)
VERSIONS: dict[str, tuple[str, str | None]] = {
    "8.6.0": ("full-8.6.0.json", None),
    "10.16.1": ("lean-10.16.1.json", "10.16"),
    "11.4.0": ("lean-11.4.0.json", "11.1"),
    "rtx-1.7.1": (RTX, "11.1"),
}
CUDA = "cuda-bindings-13.4.4.json"


@dataclass(frozen=True)
class Surface:
    """Public names of a version of the bindings.

    Attributes:
        enums: Enumeration -> {name: value}; a value is ``None`` where only the names are known.
        parameters: ``Class.method`` -> names of its parameters, where the bindings tell them.
    """

    members: dict[str, set[str]] = field(default_factory=dict)
    enums: dict[str, dict[str, int | None]] = field(default_factory=dict)
    parameters: dict[str, list[str]] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)

    classes = property(lambda self: set(self.members) | set(self.enums))


@lru_cache
def read(name: str) -> dict[str, Any]:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


@lru_cache
def surface(version: str) -> Surface:
    """Return what TensorRT of a version has, best source first."""
    name, column = VERSIONS[version]
    found = of_dump(read(name))
    if column is None:
        return found
    sources = read("sources.json")
    at = sources["columns"].index(column)
    for cls, what in sources["classes"].items():
        if cls in found.classes or column not in what["versions"]:
            continue
        names = [one for one, marks in what["members"].items() if marks[at] != "-"]
        if names and all(one == one.upper() for one in names):
            found.enums[cls] = dict.fromkeys(names)
        else:
            found.members[cls] = set(names)
    found.functions.update(one for one, marks in sources["functions"].items() if marks[at] != "-")
    if column == VERSIONS["11.4.0"][1]:
        real = of_dump(read(RTX)).enums
        for name, members in found.enums.items():
            unknown = [one for one, value in members.items() if value is None]
            members.update({one: real.get(name, {}).get(one) for one in unknown})
    return found


@lru_cache
def cuda_surface() -> Surface:
    return of_dump(read(CUDA))


def of_dump(dump: dict[str, Any]) -> Surface:
    """Return the surface of a list that `tests.contract.dump_symbols` wrote."""
    found = Surface(functions=set(dump["functions"]))
    for name, what in dump["classes"].items():
        if "enum" in what:
            found.enums[name] = what["enum"]
        elif what["members"]:  # the lean bindings leave out names of abstract methods
            found.members[name] = set(what["members"])
            for member, parameters in what["members"].items():
                if parameters is not None:
                    found.parameters[f"{name}.{member}"] = parameters
    return found
