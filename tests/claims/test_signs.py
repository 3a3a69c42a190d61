"""One minus sign: numbers with a sign are written by `judge.units` alone."""

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from enginescope.core.units import format_bytes
from enginescope.judge.units import signed, signed_pct, with_sign

SOURCE = Path(__file__).parents[2] / "src/enginescope"
UNITS = SOURCE / "judge/units.py"
#: Without one of these a file has no sign of its own, and need not be parsed.
MAY_SIGN = re.compile(r"−|:\+|2212|MINUS SIGN")


def own_signs(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that write a sign of their own.

    They are ``{x:+.1f}``, a hyphen made a minus, or a minus before a figure.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            first = ast.unparse(node.format_spec).lstrip("f'\"")
            if first.startswith("+"):
                yield node.lineno
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = [one.value for one in node.args if isinstance(one, ast.Constant)]
            if node.func.attr == "replace" and given == ["-", "−"]:
                yield node.lineno
        if isinstance(node, ast.IfExp) and "−" in (_text(node.body), _text(node.orelse)):
            yield node.lineno
        if isinstance(node, ast.JoinedStr):
            for before, figure in itertools.pairwise(node.values):
                if isinstance(figure, ast.FormattedValue) and _text(before).endswith("−"):
                    yield node.lineno


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_no_other_file_writes_a_sign() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        if path != UNITS and MAY_SIGN.search(text := path.read_text(encoding="utf-8"))
        for line in own_signs(ast.parse(text))
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        *('f"{x:+.1f} %"', 'f"{x:+,}"', 'f"{x:.1f}".replace("-", "−")'),
        *("f\"by {'−' if x < 0 else '+'}{y}\"", 'f"−{text}"', '("−" if x < 0 else "+") + text'),
    ],
)
def test_a_sign_of_its_own_is_found(code: str) -> None:
    assert MAY_SIGN.search(code)
    assert list(own_signs(ast.parse(code)))


def test_signs() -> None:
    assert [signed(one, 1) for one in (1.25, -2.56, -0.04, 0.0, 1234.0)] == [
        *("+1.2", "−2.6", "0.0", "0.0"),
        "+1,234.0",
    ]
    assert [with_sign(one) for one in (1.2345, -0.0123, 0.0)] == ["+1.23", "−0.0123", "0"]
    assert with_sign(-2048, format_bytes) == "−2.00 KiB"
    changes = (0.5, -2.64, -45.13, 110.4, -0.001)
    assert [signed_pct(one) for one in changes] == ["+0.50", "−2.6", "−45.1", "+110", "0.00"]
