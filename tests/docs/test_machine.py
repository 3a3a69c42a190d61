"""docs/reference/machine-conditions.md has every code of notices and hints, and no other."""

import inspect
import re
from pathlib import Path

from enginescope.runner import assemble as notices
from enginescope.runner.machine import gpu_condition, machine_hints

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGE = (REFERENCE / "machine-conditions.md").read_text(encoding="utf-8")
#: Notices on conditions that are described there.
OTHERS = (REFERENCE / "codes.md").read_text(encoding="utf-8")


def codes_in(*modules) -> set[str]:
    source = "".join(map(inspect.getsource, modules))
    return set(re.findall(r'code="([HWI]-[A-Z-]+)"', source))


def rows(heading: str) -> set[str]:
    return set(re.findall(rf"^\| `({heading}-[A-Z-]+)` \|", PAGE, re.MULTILINE))


def test_hints() -> None:
    assert rows("H") == codes_in(machine_hints)


def test_notices() -> None:
    codes = {code for code in codes_in(notices, gpu_condition) if code.startswith("W")}
    assert rows("W") <= codes
    assert {code for code in codes - rows("W") if f"`{code}`" not in OTHERS} == set()
