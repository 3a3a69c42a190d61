"""The stand-ins have no name, value or parameter that the real bindings of the version have not."""

import ast
import inspect
from typing import Any

import pytest

from tests.fakes.loading import VERSIONS, loaded
from tests.fakes.nvml_scenarios import FOLDER
from tests.fakes.site import recorded_symbols as recorded


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


def test_members_are_real(fake) -> None:
    trt, real = fake
    strange = {
        name: sorted(set(members(getattr(trt, name))) - allowed)
        for name, allowed in real.members.items()
        if hasattr(trt, name)
    }
    assert {name: one for name, one in strange.items() if one} == {}


def test_enumerations_have_the_real_values(fake) -> None:
    trt, real = fake
    for name, values in real.enums.items():
        found = {one: int(member) for one, member in getattr(trt, name).__members__.items()}
        assert set(found) == set(values), name
        known = {one: value for one, value in values.items() if value is not None}
        assert known.items() <= found.items(), name


def test_parameters_have_the_real_names(fake) -> None:
    trt, real = fake
    wrong = []
    for row, names in real.parameters.items():
        owner, _, method = row.partition(".")
        function = members(getattr(trt, owner, object)).get(method)
        if not inspect.isfunction(function):
            continue
        found = list(inspect.signature(function).parameters)
        # what the bindings give no name, they call arg0
        named = [a for a, b in zip(names, found, strict=False) if a != b and a[:3] != "arg"]
        if len(names) != len(found) or named:
            wrong.append((row, names, found))
    assert wrong == []


def test_what_the_version_lacks_is_an_attribute_error(fake) -> None:
    trt = fake[0]
    version = trt.__version__
    if version.startswith("11"):
        with pytest.raises(AttributeError, match="FP16"):
            _ = trt.BuilderFlag.FP16
        with pytest.raises(AttributeError, match="EXPLICIT_BATCH"):
            _ = trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH
    if version.startswith("8"):
        with pytest.raises(AttributeError, match="IProgressMonitor"):
            _ = trt.IProgressMonitor
        config = trt.Builder(trt.Logger()).create_builder_config()
        with pytest.raises(AttributeError, match="progress_monitor"):
            config.progress_monitor = None


def test_the_renumbering_that_is_a_trap() -> None:
    flags = {}
    for version in VERSIONS:
        with loaded(version) as found:
            enum = found.trt.NetworkDefinitionCreationFlag
            flags[version] = {name: int(one) for name, one in enum.__members__.items()}
    assert flags["8.6.0"]["EXPLICIT_BATCH"] == flags["11.4.0"]["STRONGLY_TYPED"] == 0


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
    tree = ast.parse((FOLDER / "pynvml.py").read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    names |= {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    ours = {one for one in names if one.startswith(("nvml", "NVML"))}
    assert len(ours) > 30
    assert [one for one in sorted(ours) if not hasattr(real, one)] == []
