"""The public names: each resolves, and each type that a caller needs has one."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import enginescope as es
from enginescope import judge
from enginescope.core import errors
from enginescope.core.record import Record
from tests.api.public_functions import annotations_of, classes_in, public_functions

#: Modules of enginescope that ``import enginescope`` loads.
BARE_IMPORT = {"enginescope", "enginescope._lazy_names"}


def names_of_stub(package: ModuleType) -> dict[str, str]:
    """Return what the stub of a package imports for type checkers: public name -> module."""
    stub = Path(str(package.__file__)).with_suffix(".pyi")
    statements = ast.parse(stub.read_text(encoding="utf-8")).body
    assert all(isinstance(statement, ast.ImportFrom) for statement in statements)
    return {
        alias.asname: statement.module
        for statement in statements
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def test_every_name_resolves_and_a_bare_import_loads_no_other_module() -> None:
    for name in es.__all__:
        assert getattr(getattr(es, name), "__name__", name) == name
    code = "import sys, enginescope; print(*(m for m in sys.modules if m[:11] == 'enginescope'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == BARE_IMPORT


@pytest.mark.parametrize("package", [es, judge])
def test_names_are_those_of_the_stub_and_at_home_there(package: ModuleType) -> None:
    homes = names_of_stub(package)
    assert package.__all__ == sorted(homes) == dir(package)
    for name, module in homes.items():
        assert getattr(package, name) is getattr(import_module(module), name)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'x'"):
        package.__getattr__("x")


def test_classes_in_annotations_are_public() -> None:
    used = {
        found.__name__
        for function in public_functions().values()
        for part in annotations_of(function).values()
        for found in classes_in(part)
    }
    assert used - {*es.__all__, "Result"} == set()  # the base of all results


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
