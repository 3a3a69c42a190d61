"""The stand-in answers a builder's calls as TensorRT for RTX does, which builds without a GPU."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.backends.tensorrt.models import bfloat16
from tests.contract import builder_script
from tests.contract.test_fake_surface import members
from tests.fakes import loading, models
from tests.fakes.site import recorded_symbols as recorded
from tests.wheels import RTX, unpacked

#: Names of the newest stand-in that TensorRT 11 has by its sources, and TensorRT for RTX has not.
NOT_IN_RTX = {"INetworkDefinition": {"has_implicit_batch_dimension"}, "ITensor": {"location"}}


def test_the_newest_stand_in_has_names_of_the_real_builder() -> None:
    real = recorded.surface("rtx-1.7.1")
    with loading.loaded("11.4.0") as fake:
        strange, wrong = {}, []
        for name, allowed in real.members.items():
            cls = getattr(fake.trt, name, None)
            if cls is None:
                continue
            own = members(cls)
            strange[name] = set(own) - allowed - NOT_IN_RTX.get(name, set())
            for method, function in own.items():
                known = real.parameters.get(f"{name}.{method}")
                if known is None or not inspect.isfunction(function):
                    continue
                found = list(inspect.signature(function).parameters)
                pairs = zip(known, found, strict=False)
                if len(known) != len(found) or any(a not in (b, "arg0", "arg1") for a, b in pairs):
                    wrong.append((name, method, known, found))
    assert {name: names for name, names in strange.items() if names} == {}
    assert wrong == []


def transcript(module: str, folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, builder_script.__file__, module, str(folder)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What the calls of `builder_script` give, of the real library and of the stand-in."""
    folder = tmp_path_factory.mktemp("models")
    models.perceptron(folder / "perceptron.onnx")
    models.expanded(folder / "expanded.onnx")
    models.missing_operator(folder / "operator.onnx")
    bfloat16(folder / "typed.onnx")
    (folder / "garbage.onnx").write_bytes(b"no model")
    real = transcript(
        "tensorrt_rtx_bindings", folder, {"PYTHONPATH": str(unpacked(*RTX, large=True))}
    )
    return real, transcript("tensorrt", folder, loading.environment("11.4.0"))


#: A flag that only TensorRT for RTX has.
ONLY_RTX = "set_flag REQUIRE_USER_ALLOCATION"


@pytest.mark.slow
def test_the_stand_in_answers_as_the_real_builder(both) -> None:
    real, fake = both
    assert {name for name in real if not name.startswith(ONLY_RTX)} == set(fake)
    assert {name: (real[name], fake[name]) for name in fake if real[name] != fake[name]} == {}


@pytest.mark.slow
def test_the_calls_reach_what_they_are_to_compare(both) -> None:
    real = both[0]
    assert real["plan, profile fitting"] == "IHostMemory"
    assert real["plan, goes on True"] == "IHostMemory"
    assert real["plan, goes on False"] is None
    assert real["a build without a profile says so"] is True
    assert real["operator: code"] == "INVALID_NODE"
    assert len(real) > 200
