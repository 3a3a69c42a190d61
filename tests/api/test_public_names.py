"""The public names: each resolves, and each type that a caller needs has one."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import enginescope as es
from enginescope.core import errors
from enginescope.core.record import Record
from tests.api.public_functions import annotations_of, classes_in, public_functions

#: Modules of enginescope that ``import enginescope`` loads.
BARE_IMPORT = {"enginescope", "enginescope._version"}


def type_checking_imports() -> dict[str, str]:
    """Return what ``__init__.py`` imports for type checkers: public name -> module."""
    tree = ast.parse(Path(es.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: (statement.module or "").removeprefix("enginescope.")
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def test_every_name_resolves() -> None:
    for name in es.__all__:
        value = getattr(es, name)
        assert getattr(value, "__name__", name) == name


def test_names_and_imports_for_type_checkers_agree() -> None:
    assert type_checking_imports() == es._HOMES
    assert es.__all__ == sorted([*es._HOMES, "__version__"])


@pytest.mark.parametrize("name", public_functions())
def test_classes_in_annotations_are_public(name: str) -> None:
    annotations = annotations_of(public_functions()[name])
    used = {found.__name__ for part in annotations.values() for found in classes_in(part)}
    assert used - set(es.__all__) == set()


def test_fields_of_options_are_public() -> None:
    """An option is a record that a public function takes; its fields are options too."""
    todo = {
        found
        for function in public_functions().values()
        for part, annotation in annotations_of(function).items()
        if part != "return"
        for found in classes_in(annotation)
    }
    results = {
        found
        for function in public_functions().values()
        for found in classes_in(annotations_of(function)["return"])
    }
    seen: set[type] = set()
    while todo:
        option = todo.pop()
        if option not in seen | results and issubclass(option, Record):
            seen.add(option)
            fields = annotations_of(option)
            todo |= {found for part in fields.values() for found in classes_in(part)}
    assert {"Workload", "StopRule", "InputShape", "Cooldown"} <= {one.__name__ for one in seen}
    assert {one.__name__ for one in seen} - set(es.__all__) == set()


def test_every_exception_is_public() -> None:
    tree = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.EnginescopeError)
    }
    assert tree - set(es.__all__) == set()


def test_a_bare_import_loads_no_other_module() -> None:
    code = "import sys, enginescope; print(*(m for m in sys.modules if m[:11] == 'enginescope'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == BARE_IMPORT
