"""The table of counterparts names tests that exist, and every test of a fault says which."""

import ast
import re
from pathlib import Path

import pytest

from tests.trex import corrections
from tests.trex.counterparts import FAULTS, ITS_TESTS

TESTS = Path(__file__).parents[1]
DIFFERENCES = TESTS.parent / "docs" / "contributing" / "goldens-differences.md"
EVERY = {**ITS_TESTS, **FAULTS}


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {it.name: it for it in tree.body if isinstance(it, ast.FunctionDef)}


@pytest.mark.parametrize("fault", EVERY)
def test_every_counterpart_exists(fault) -> None:
    path, _, name = EVERY[fault].partition("::")
    assert any(isinstance(it, ast.Assert) for it in ast.walk(functions(TESTS / path)[name]))


def test_all_of_its_tests_are_there() -> None:
    """17 that run, and the one that cannot be collected."""
    assert len(ITS_TESTS) == 18


def test_every_test_of_a_fault_says_which() -> None:
    for path in sorted((TESTS / "trex").glob("test_defects_*.py")):
        for name, function in functions(path).items():
            assert not name.startswith("test_") or ast.get_docstring(function), (path.name, name)


def test_every_correction_is_told() -> None:
    rows = set(re.findall(r"^\| (D\d+) \|", DIFFERENCES.read_text(encoding="utf-8"), re.MULTILINE))
    source = Path(corrections.__file__).read_text(encoding="utf-8")
    assert set(re.findall(r"\bD\d+\b", source)) <= rows
    assert rows == {f"D{at}" for at in range(1, len(rows) + 1)}
