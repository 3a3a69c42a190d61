"""The table of counterparts names tests that exist, and leaves none of ours out."""

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

from tests.trex import corrections
from tests.trex.counterparts import FAULTS, FURTHER_FAULTS, ITS_TESTS

TESTS = Path(__file__).parents[1]
DIFFERENCES = TESTS.parent / "docs" / "contributing" / "goldens-differences.md"
EVERY = {**ITS_TESTS, **FAULTS, **FURTHER_FAULTS}
#: What no fault stands behind.
OTHERS = {"trex/test_defects_reading.py::test_a_layer_type_that_is_new"}


@lru_cache
def functions(path: Path) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {it.name: it for it in tree.body if isinstance(it, ast.FunctionDef)}


@pytest.mark.parametrize("fault", EVERY)
def test_every_counterpart_exists(fault: str) -> None:
    assert EVERY[fault]
    for name in EVERY[fault]:
        path, _, function = name.partition("::")
        found = functions(TESTS / path)
        assert function in found, name
        assert any(isinstance(it, ast.Assert) for it in ast.walk(found[function])), name


def test_all_of_its_tests_are_there() -> None:
    """17 that run, and the one that cannot be collected."""
    assert len(ITS_TESTS) == 18
    assert len(EVERY) == len(ITS_TESTS) + len(FAULTS) + len(FURTHER_FAULTS)


def test_every_test_of_a_fault_is_in_the_table_and_says_which() -> None:
    named = {it for names in EVERY.values() for it in names} | OTHERS
    for path in sorted((TESTS / "trex").glob("test_defects_*.py")):
        for name, function in functions(path).items():
            if name.startswith("test_"):
                assert f"trex/{path.name}::{name}" in named, f"{path.name}::{name} is in no table"
                assert ast.get_docstring(function), f"{path.name}::{name} does not say the fault"


def test_every_correction_is_told() -> None:
    rows = set(re.findall(r"^\| (D\d+) \|", DIFFERENCES.read_text(encoding="utf-8"), re.MULTILINE))
    source = Path(corrections.__file__).read_text(encoding="utf-8")
    assert set(re.findall(r"\bD\d+\b", source)) <= rows
    assert rows == {f"D{at}" for at in range(1, len(rows) + 1)}
