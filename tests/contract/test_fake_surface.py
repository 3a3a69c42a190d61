"""The stand-ins have no name, value or parameter that the real bindings of the version have not.

They answer a builder's calls as TensorRT for RTX does.
"""

import ast
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract import builder_script
from tests.fakes import models
from tests.fakes.fake_gpus import NVML
from tests.fakes.loading import VERSIONS, environment, loaded
from tests.fakes.site import recorded_symbols as recorded
from tests.wheels import RTX, unpacked


def public(thing: Any) -> dict[str, Any]:
    return {name: one for name, one in vars(thing).items() if not name.startswith("_")}


def members(cls: type) -> dict[str, Any]:
    """Public names that the fake's own classes define, the builtins' left out."""
    ours = [one for one in reversed(cls.__mro__) if one.__module__.partition(".")[0] == "tensorrt"]
    return {name: one for base in ours for name, one in public(base).items()}


@pytest.fixture(scope="module", params=VERSIONS)
def fake(request):
    with loaded(request.param) as found:
        yield found.trt, recorded.surface(request.param)


def test_classes_and_functions_are_real(fake) -> None:
    trt, real = fake
    things = {name: one for name, one in public(trt).items() if not inspect.ismodule(one)}
    classes = {name for name, one in things.items() if inspect.isclass(one)}
    functions = {name for name, one in things.items() if inspect.isfunction(one)}
    assert classes <= real.classes
    assert functions <= real.functions
    assert {"Runtime", "ICudaEngine", "IExecutionContext", "Builder", "OnnxParser"} <= classes


def test_enumerations_have_the_real_values(fake) -> None:
    trt, real = fake
    for name, values in real.enums.items():
        found = {one: int(member) for one, member in getattr(trt, name).__members__.items()}
        assert set(found) == set(values), name
        known = {one: value for one, value in values.items() if value is not None}
        assert known.items() <= found.items(), name


#: TensorRT for RTX has the whole API of TensorRT 11.
@pytest.mark.parametrize(
    ("version", "real"), [*zip(VERSIONS, VERSIONS, strict=True), ("11.4.0", "rtx-1.7.1")]
)
def test_members_and_their_parameters_are_real(version, real) -> None:
    surface = recorded.surface(real)
    with loaded(version) as found:
        own = {name: members(getattr(found.trt, name, object)) for name in surface.members}
    strange = {name: set(one) - surface.members[name] for name, one in own.items()}
    assert {name: one for name, one in strange.items() if one} == {}
    wrong = []
    for row, names in surface.parameters.items():
        owner, _, method = row.partition(".")
        function = own.get(owner, {}).get(method)
        if not inspect.isfunction(function):
            continue
        found = list(inspect.signature(function).parameters)
        # what the bindings give no name, they call arg0
        named = [a for a, b in zip(names, found, strict=False) if a != b and a[:3] != "arg"]
        if len(names) != len(found) or named:
            wrong.append((row, names, found))
    assert wrong == []


def test_the_cuda_runtime_is_real() -> None:
    real = recorded.read(recorded.CUDA)
    with loaded() as found:
        runtime = found.cuda
        for name in runtime.__all__:
            one = getattr(runtime, name)
            if inspect.isfunction(one):
                assert list(inspect.signature(one).parameters) == real["functions"][name], name
                continue
            listed = real["classes"][name]
            names = (
                {n for n in (*public(one), *vars(one())) if not n.startswith("_")}
                if (name == "cudaDeviceProp")
                else set(public(one))
            )
            assert names <= set(listed.get("members", {})) | set(listed.get("enum", {})) | {"name"}
            for member, value in listed.get("enum", {}).items():
                assert int(getattr(one, member)) == value, member
        for name, value in real["constants"].items():
            assert getattr(runtime, name) == value


def test_every_name_is_nvmls() -> None:
    real = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    tree = ast.parse((NVML / "pynvml.py").read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assigned = [node.targets for node in tree.body if isinstance(node, ast.Assign)]
    names |= {one.id for targets in assigned for one in targets if isinstance(one, ast.Name)}
    ours = {one for one in names if one.startswith(("nvml", "NVML"))}
    assert len(ours) > 30
    assert [one for one in sorted(ours) if not hasattr(real, one)] == []


def transcript(module: str, folder: Path, variables: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, builder_script.__file__, module, str(folder)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_the_stand_in_answers_as_the_real_builder(tmp_path) -> None:
    """TensorRT for RTX builds without a GPU."""
    models.perceptron(tmp_path / "perceptron.onnx")
    models.expanded(tmp_path / "expanded.onnx")
    models.missing_operator(tmp_path / "operator.onnx")
    models.bfloat16(tmp_path / "typed.onnx")
    (tmp_path / "garbage.onnx").write_bytes(b"no model")
    path = {"PYTHONPATH": str(unpacked(*RTX, large=True))}
    real = transcript("tensorrt_rtx_bindings", tmp_path, path)
    fake = transcript("tensorrt", tmp_path, environment("11.4.0"))
    only_rtx = "set_flag REQUIRE_USER_ALLOCATION"  # a flag that TensorRT does not have
    assert {name for name in real if not name.startswith(only_rtx)} == set(fake)
    assert {name: (real[name], fake[name]) for name in fake if real[name] != fake[name]} == {}
    # the calls reach what they are to compare
    assert real["plan, profile fitting"] == "IHostMemory"
    assert real["plan, goes on True"] == "IHostMemory"
    assert real["plan, goes on False"] is None
    assert real["a build without a profile says so"] is True
    assert real["operator: code"] == "INVALID_NODE"
    assert len(real) > 200
