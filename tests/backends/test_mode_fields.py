"""Every field of `Mode` is honoured by a backend that says so, and refused by the others."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from enginescope.backends.registry import BACKENDS, backends_with, load_backend
from enginescope.core.errors import UsageError
from enginescope.records.run.job import BackendSpec, Mode
from enginescope.runner.jobs import check_demands

ASKED: dict[str, object] = {
    "kind": "throughput",
    "transfers": False,
    "cuda_graph": True,
    "spin_wait": True,
    "streams": 2,
    "idle_ms": 1.0,
    "cold": True,
    "rotate": 2,
    "decode": 4,
    "call": "client",
    "loop": "python",
}


@cache
def fields_read(package: str) -> frozenset[str]:
    """Return the attributes that the package's code reads of anything called a mode."""
    folder = Path(next(iter(import_module(package).__path__)))
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                owner = ast.unparse(node.value).rpartition(".")[2].lstrip("_")
                if owner in ("mode", "asked"):
                    found.add(node.attr)
    return frozenset(found)


@pytest.mark.parametrize("field", Mode.__struct_fields__)
def test_a_field_is_honoured_by_a_backend(field) -> None:
    assert backends_with(field), f"no backend honours {field}: its option would do nothing"


@pytest.mark.parametrize("field", Mode.__struct_fields__)
def test_a_field_is_checked_against_the_backend(field) -> None:
    """One request in flight is what a mode starts with; its number follows from the kind."""
    assert (field in ASKED) == (field != "in_flight")


@pytest.mark.parametrize("name", BACKENDS.built_in)
def test_a_backend_reads_what_it_says_it_honours(name) -> None:
    declared = load_backend(name).mode_fields
    assert declared <= set(Mode.__struct_fields__)
    package = BACKENDS.built_in[name].partition(":")[0].rpartition(".")[0]
    if declared:
        assert declared <= fields_read(package)


@pytest.mark.parametrize("field", ASKED)
@pytest.mark.parametrize("name", BACKENDS.built_in)
def test_what_a_backend_does_not_honour_is_refused_with_one_that_does(name, field) -> None:
    mode = Mode(**{field: ASKED[field]})
    if field in load_backend(name).mode_fields:
        check_demands(BackendSpec(name=name), mode, is_elsewhere=True)
        return
    with pytest.raises(UsageError, match=f"{name} has no ") as caught:
        check_demands(BackendSpec(name=name), mode, is_elsewhere=True)
    assert backends_with(field)[0] in (caught.value.hint or "")
