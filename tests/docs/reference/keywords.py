"""Types of the keyword arguments of public functions that take several models."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from enginescope.core.record import Record
from enginescope.services.accuracy.request import DepthRequest, ValidateRequest
from enginescope.services.contend.contend import ContendRequest
from enginescope.services.declared import _annotation, declared
from enginescope.services.measurement.rounds import InterleavedRequest
from enginescope.services.upgrade.request import UpgradeRequest

REQUESTS: dict[str, type[Record]] = {
    "ContendKeywords": ContendRequest,
    "DepthKeywords": DepthRequest,
    "InterleavedKeywords": InterleavedRequest,
    "UpgradeKeywords": UpgradeRequest,
    "ValidateKeywords": ValidateRequest,
}
HEAD = '''# fmt: off
"""Keyword arguments of functions of several models; `make reference` writes this file."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

from typing_extensions import Required

'''


def keywords_stub() -> str:
    """Return the stub: a `TypedDict` of the declared fields of each request."""
    classes, modules = [], defaultdict(set)
    for name, request in REQUESTS.items():
        lines = []
        for field in declared(request):
            if field.name != "models":
                text = _annotation(field.annotation)
                text = f"Required[{text}]" if field.is_required else text
                lines.append(f"    {field.name}: {text}\n")
                for kind in _classes(field.annotation):
                    modules[kind.__module__].add(kind.__name__)
        classes.append(f"\nclass {name}(TypedDict, total=False):\n{''.join(lines)}")
    imports = (
        f"from {module} import {', '.join(sorted(names))}\n"
        for module, names in sorted(modules.items())
        if module.startswith("enginescope.")
    )
    return "".join([HEAD, *imports, "\n".join(classes)])


def _classes(kind: Any) -> Iterator[type]:
    origin = get_origin(kind)
    if isinstance(origin or kind, type):
        yield origin or kind
    if origin is not Literal:
        for part in get_args(kind):
            yield from _classes(part)
