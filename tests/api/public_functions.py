"""The public functions and the classes that their annotations name."""

import ast
import inspect
import typing
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import enginescope as es


def public_functions() -> dict[str, Callable[..., Any]]:
    values = {name: getattr(es, name) for name in es.__all__}
    return {name: value for name, value in values.items() if inspect.isfunction(value)}


def annotations_of(function: Callable[..., Any] | type) -> dict[str, Any]:
    """Return the evaluated annotations, also of names that only type checkers import."""
    plain = function if isinstance(function, type) else inspect.unwrap(function)
    return typing.get_type_hints(plain, localns=_namespace(plain.__module__))


def classes_in(annotation: Any) -> Iterator[type]:
    """Yield the classes of enginescope in an annotation, such as those of a union."""
    if isinstance(annotation, list | tuple):
        for part in annotation:
            yield from classes_in(part)
    elif typing.get_origin(annotation) is not None:
        yield from classes_in((typing.get_origin(annotation), *typing.get_args(annotation)))
    elif isinstance(annotation, type) and annotation.__module__.startswith("enginescope."):
        yield annotation


def result_classes() -> dict[type, str]:
    """Return the classes that public functions return, each with one of these functions."""
    return {
        found: name
        for name, function in public_functions().items()
        for found in classes_in(annotations_of(function)["return"])
    }


@cache
def _namespace(module: str) -> dict[str, Any]:
    """Return the names of a module, with those of its ``if TYPE_CHECKING`` block."""
    loaded = import_module(module)
    names = dict(vars(loaded))
    for block in ast.parse(inspect.getsource(loaded)).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for statement in block.body:
                source = getattr(statement, "module", None) or ""
                if source == "enginescope.services.keywords":  # a stub alone
                    continue
                if isinstance(statement, ast.ImportFrom) and source.startswith("enginescope"):
                    found = _namespace(source)
                    for alias in statement.names:
                        names[alias.asname or alias.name] = found[alias.name]
                else:
                    exec(ast.unparse(statement), names)
    return names
