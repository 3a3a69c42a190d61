"""Print the public names of a bindings module as JSON: ``python dump_symbols.py MODULE``.

Runs with nothing but the standard library, in the Python that the bindings are for.
"""

import importlib
import json
import re
import sys
from typing import Any

_SIGNATURE = re.compile(r"[\w.]+\((.*)\)(?: -> .*)?$")
_NOT_THEIRS = {"CURDIR", "attr", "ctypes", "glob", "lib", "os", "sys", "value", "warnings"}
_NOT_THEIRS |= {"find_lib", "try_load", "common_enter", "common_exit"}


def parameters(text: str | None) -> list[str] | None:
    """Return names of parameters from the first line of a docstring; ``None`` if overloaded."""
    found = _SIGNATURE.match((text or "").strip().split("\n")[0])
    if found is None or "*args" in found[1]:
        return None
    parts = [""]
    depth = 0
    for letter in found[1]:
        depth += (letter in "[(<{") - (letter in "])>}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    named = (one.split(":")[0].split("=")[0].split() for one in parts if one.strip())
    return [one[-1] for one in named]


def describe(cls: type) -> dict[str, Any]:
    """Return an enumeration's values, or a class's members with their parameters."""
    entries = getattr(cls, "__members__", None)
    if entries:
        return {"enum": {name: int(one) for name, one in entries.items()}}
    public = {name: getattr(cls, name) for name in dir(cls) if not name.startswith("_")}
    return {
        "members": {
            name: parameters(one.__doc__) if callable(one) else None for name, one in public.items()
        }
    }


def dump(module: Any) -> dict[str, Any]:
    public = {
        name: one
        for name, one in sorted(vars(module).items())
        if not name.startswith("_") and name not in _NOT_THEIRS
    }
    return {
        "version": getattr(module, "__version__", None),
        "classes": {n: describe(one) for n, one in public.items() if isinstance(one, type)},
        "functions": {
            name: parameters(one.__doc__)
            for name, one in public.items()
            if callable(one) and not isinstance(one, type)
        },
        "constants": {
            name: one
            for name, one in public.items()
            if isinstance(one, int) and not isinstance(one, bool) and not callable(one)
        },
    }


if __name__ == "__main__":
    json.dump(dump(importlib.import_module(sys.argv[1])), sys.stdout)
