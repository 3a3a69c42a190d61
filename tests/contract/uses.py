"""What the product's code uses of the bindings, read from its syntax trees.

The objects of the bindings have no types that a reader of source could follow, so a name counts
as theirs when it stands in any recorded list and not in `table.OURS`.
"""

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tests.contract.table import OURS
from tests.fakes.site import recorded_symbols as recorded

SOURCE = Path(__file__).resolve().parents[2] / "src" / "enginescope" / "backends" / "tensorrt"


@dataclass(frozen=True)
class Use:
    """A name that the source uses.

    Attributes:
        name: ``Class.member`` where the class stands before it.
        guarded: It is text (for ``getattr`` and the like), so that a version may lack it.
        arguments: How many a call passes by position; ``None`` where it is not called.
    """

    name: str
    place: str
    guarded: bool = False
    arguments: int | None = None
    keywords: tuple[str, ...] = ()


@lru_cache
def known_names() -> frozenset[str]:
    """Return every recorded name: of classes, members, enumerations, functions, constants."""
    found: set[str] = set(recorded.read(recorded.CUDA)["constants"])
    for one in (*map(recorded.surface, recorded.VERSIONS), recorded.cuda_surface()):
        found |= one.classes | one.functions
        found.update(*one.members.values(), *one.enums.values())
    return frozenset(found)


def uses_in(path: Path) -> list[Use]:
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    calls = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
    lookups = ("getattr", "hasattr", "setattr")
    looked_up = {
        id(call.args[1]) for call in calls.values() if getattr(call.func, "id", "") in lookups
    }
    documentation = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    found = []
    for node in nodes:
        place = f"{path.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Attribute):
            found += _attribute(node, place, calls.get(id(node)))
        elif isinstance(node, ast.Constant) and id(node) not in documentation:
            found += _text(node, place, is_looked_up=id(node) in looked_up)
    return found


def overrides_in(path: Path) -> list[tuple[str, int, str]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        bases = map(ast.unparse, node.bases) if isinstance(node, ast.ClassDef) else ()
        if not any(base == "base" or re.fullmatch(r"trt\.\w+", base) for base in bases):
            continue
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
                found.append((one.name, len(one.args.args), f"{path.name}:{one.lineno}"))
    return found


def _attribute(node: ast.Attribute, place: str, call: ast.Call | None) -> list[Use]:
    if node.attr not in known_names() or node.attr in OURS or _is_ours(node.value):
        return []
    arguments, keywords = None, ()
    if call is not None and not any(isinstance(one, ast.Starred) for one in call.args):
        arguments = len(call.args)
        keywords = tuple(one.arg for one in call.keywords if one.arg is not None)
    return [Use(_owner(node) + node.attr, place, False, arguments, keywords)]


def _owner(node: ast.Attribute) -> str:
    """Return ``Class.`` for ``trt.Class.member``, or nothing."""
    value = node.value
    if isinstance(value, ast.Attribute) and value.attr in known_names() and value.attr[0].isupper():
        return f"{value.attr}."
    return ""


def _is_ours(value: ast.expr) -> bool:
    """Whether an attribute is of ``self``, or of a class of ours (theirs come from a module)."""
    return isinstance(value, ast.Name) and (value.id in ("self", "cls") or value.id[:1].isupper())


def _text(node: ast.Constant, place: str, *, is_looked_up: bool) -> list[Use]:
    value = node.value
    if not isinstance(value, str) or value not in known_names() or value in OURS:
        return []
    telling = "_" in value or value != value.lower()  # "name" and "log" are everyday words
    return [Use(value, place, guarded=True)] if telling or is_looked_up else []
