"""Google-style docstrings as Markdown."""

import inspect
import re

from enginescope.core.record import Record
from enginescope.services.declared import declared

SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Yields", "Examples")
_ENTRY = re.compile(r"^(\*{0,2}\w[\w., *]*?): (.*)$")


def parsed(value: object) -> tuple[str, dict[str, str]]:
    """Return a docstring's text before its sections, and its sections by name."""
    lines = (inspect.getdoc(value) or "").splitlines()
    name, found = "", {"": ""}
    for line in lines:
        if line.removesuffix(":") in SECTIONS:
            name = line.removesuffix(":")
            found[name] = ""
        else:
            found[name] += f"{line}\n"
    return found.pop("").strip(), found


def entries(section: str) -> dict[str, str]:
    """Return a section's entries; one for several names has each of them."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(section).splitlines():
        match = None if line.startswith(" ") else _ENTRY.match(line)
        if match:
            names = [name.strip() for name in match[1].split(",")]
            found |= dict.fromkeys(names, match[2])
        else:
            found |= {name: f"{found[name]} {line.strip()}".strip() for name in names}
    return found


def attributes(kind: type) -> dict[str, str]:
    """Return the documented attributes of a class, then those that it has from its bases."""
    found: dict[str, str] = {}
    for base in kind.__mro__:
        if base.__module__.startswith("enginescope") and base.__doc__:
            own = entries(parsed(base)[1].get("Attributes", ""))
            found |= {name: text for name, text in own.items() if name not in found}
    if issubclass(kind, Record):
        found |= {one.name: one.about for one in declared(kind)}
    return found


def markdown(text: str) -> str:
    return text.replace("``", "`")


def first_paragraph(value: object) -> str:
    return markdown(" ".join(parsed(value)[0].partition("\n\n")[0].split()))
