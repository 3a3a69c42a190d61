"""The recorded lists against the wheels themselves, which import without a GPU."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.contract import dump_symbols
from tests.fakes.site import recorded_symbols as recorded
from tests.wheels import PINNED, RTX, unpacked

#: Recorded list -> (wheels, module). TensorRT 8.6 is for Python 3.10 only and has no lean runtime.
WHEELS = {
    "lean-10.16.1.json": (
        ("tensorrt-lean-cu13-bindings==10.16.1.11", "tensorrt-lean-cu13-libs==10.16.1.11"),
        "tensorrt_lean_bindings",
    ),
    "lean-11.4.0.json": (
        ("tensorrt-lean-cu13-bindings==11.4.0.106", "tensorrt-lean-cu13-libs==11.4.0.106"),
        "tensorrt_lean_bindings",
    ),
    recorded.RTX: (RTX, "tensorrt_rtx_bindings"),
    recorded.CUDA: (("cuda-bindings", "cuda-pathfinder"), "cuda.bindings.runtime"),
}


def installed(name: str) -> dict[str, Any]:
    """Return the list of the wheel, written by a process of its own."""
    done = subprocess.run(
        [sys.executable, dump_symbols.__file__, WHEELS[name][1]],
        env={**os.environ, "PYTHONPATH": str(unpacked(*WHEELS[name][0], large=True))},
        capture_output=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(WHEELS))
def test_the_recorded_list_is_the_wheels(name) -> None:
    kept, real = recorded.read(name), installed(name)
    wheel, _, version = WHEELS[name][0][0].partition("==")
    assert kept["version"] in (real["version"], version or PINNED[wheel])
    assert kept["functions"].items() <= real["functions"].items()
    for cls, what in kept["classes"].items():
        assert what == real["classes"][cls], cls
    if name == recorded.CUDA:
        assert kept["constants"].items() <= real["constants"].items()
    else:  # nothing of the wheel is left out
        assert set(kept["classes"]) == set(real["classes"])
        assert set(kept["functions"]) == set(real["functions"])


def test_a_module_is_dumped_with_the_parameters_of_its_signatures() -> None:
    dumped = dump_symbols.parameters
    signature = "f(self: a.B, x: Dict[int, str] = {}, y: c = <D.E: 0>) -> None"
    assert dumped(signature) == ["self", "x", "y"]
    assert dumped("cudaMalloc(size_t size)") == ["size"]
    for text in ("f(*args, **kwargs)\nOverloaded function.", "A class.", None):
        assert dumped(text) is None

    class Level:
        LOW = HIGH = None

    class Thing:
        size = property()

        def run(self) -> None:
            """run(self: Thing, count: int) -> bool"""

    class Module:
        Thing_ = Thing
        answer = 42

    found = dump_symbols.dump(Module)
    assert found["classes"]["Thing_"] == {"members": {"run": ["self", "count"], "size": None}}
    assert found["constants"] == {"answer": 42}
    assert dump_symbols.describe(Level) == {"members": {"HIGH": None, "LOW": None}}
