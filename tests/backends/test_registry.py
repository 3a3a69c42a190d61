"""Specifications of backends: names, options, files, shapes and modes that they take and refuse."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import enginescope
from enginescope.backends import registry
from enginescope.backends.base import Answering, StoringBuilds, check_named_files
from enginescope.backends.profile_bounds import check_bounds, is_in_order
from enginescope.backends.registry import BACKENDS, backends_with, load_backend, parse_backend
from enginescope.cli.main import main
from enginescope.core.errors import MissingDependencyError, PluginError, UsageError
from enginescope.formats.trtexec.trtexec_flags import read_shapes
from enginescope.records.run.job import CPU_BACKEND, BackendSpec, InputShape, Mode, Subject
from enginescope.runner.jobs import check_demands, check_subject
from tests.backends.onnxruntime import models
from tests.plants.packages import installed, write_package


def test_every_built_in_backend_loads_and_the_fake_is_not_named() -> None:
    for name in BACKENDS.built_in:
        assert load_backend(name).availability().detail
    assert "ort-cpu" in registry.backend_names()
    assert "fake" not in registry.backend_names()


def test_a_specification_is_read_and_written() -> None:
    text = "ort-cpu?intra_op_num_threads=1&graph_optimization_level=basic"
    spec = parse_backend(text)
    assert spec.name == "ort-cpu"
    assert spec.options["graph_optimization_level"] == "basic"
    assert str(spec) == text
    assert parse_backend("ort-cuda?device_id=1").options == {"device_id": "1"}
    assert parse_backend("ort-cpu?session.intra_op.allow_spinning=0").options
    with pytest.raises(UsageError) as caught:
        parse_backend("ort-cpo")
    assert caught.value.hint == "did you mean ort-cpu?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ort-cpo", "no backend is called 'ort-cpo'"),
        ("ort-cpu:int8", "no precision 'int8'"),
        ("ort-cpu:", "not NAME or NAME:PRECISION"),
        ("?a=b", "not NAME or NAME:PRECISION"),
        ("ort-cpu?threads", "'threads' is not an option"),
        ("ort-cpu?intra_op_threads=1", "no option 'intra_op_threads'"),
        ("ort-cpu?intra_op_num_threads=many", "not a number of threads"),
        ("ort-cpu?graph_optimization_level=most", "graph_optimization_level=most"),
        ("ort-cpu?enable_mem_pattern=yes", "enable_mem_pattern=yes"),
        ("fake?fault=flood", "no fault 'flood'"),
        ("fake?color=red", "no option 'color'"),
    ],
)
def test_what_is_refused(text, message) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        parse_backend(text)


def test_backends_of_other_packages(tmp_path) -> None:
    points = {"mine": "enginescope.backends.fake:FakeBackend", "broken": "no_such_package:Backend"}
    with installed(write_package(tmp_path, {}, {"backend": points})):
        assert {"mine", "broken"} <= set(registry.backend_names())
        assert load_backend("mine").availability().usable
        with pytest.raises(PluginError, match=r"backend broken of outside 1\.5 failed"):
            load_backend("broken")


@pytest.mark.parametrize("text", ["trt@", "trt@x:fp16", "trt@x@y", "trt@a b"])
def test_a_name_of_an_environment_that_is_none_says_where_it_stands(text) -> None:
    with pytest.raises(UsageError) as caught:
        registry.read_spec(text)
    assert "trt:fp16@trt86" in str(caught.value.hint)


SOURCES = Path(enginescope.__file__).parent
#: Help, examples and the default of an option are texts of a command line.
SPOKEN = (
    *("cli/", "services/suites/example.py", "services/sensitivity/", "services/measurement/"),
    "analysis/suites/suite_view.py",  # what other scripts call it
)


def test_the_name_of_the_usual_backend_stands_in_one_place() -> None:
    naming = []
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if CPU_BACKEND not in text:
            continue
        nodes = [*ast.walk(ast.parse(text))]
        told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        helps = [call for call in calls if ast.unparse(call.func) == "Param"]
        told |= {id(part) for call in helps for part in ast.walk(call)}
        texts = (node for node in nodes if isinstance(node, ast.Constant))
        if any(CPU_BACKEND in str(node.value) and id(node) not in told for node in texts):
            naming.append(path.relative_to(SOURCES).as_posix())
    assert [name for name in naming if not name.startswith(SPOKEN)] == ["records/run/job.py"]


def test_hints_name_the_backends_that_can() -> None:
    assert CPU_BACKEND in registry.backends_that(Answering)
    assert registry.backends_that(StoringBuilds) == tuple(
        name for name in BACKENDS.built_in if name.startswith("ort-")
    )
    assert backends_with("cold") == ("trt",)


@pytest.mark.parametrize(
    "option",
    [
        *("trt?plugins=", "trt?serialize_plugins=", "trt?calibration_cache=", "trt?refit_from="),
        *("trtexec?plugins=", "trtexec?refit_from=", "ort-trt-rtx?plugin="),
    ],
)
def test_a_file_that_does_not_exist_is_a_user_error(option, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path))
    model, absent = models.relu(tmp_path / "m.onnx"), tmp_path / "absent.so"
    assert main(["bench", str(model), "--on", f"{option}{absent}"]) == 2
    said = capsys.readouterr().err
    assert f"{option.partition('?')[2]}{absent}" in said
    assert "no such file" in said


def test_a_folder_in_a_list_of_files_is_named(tmp_path, monkeypatch) -> None:
    there = tmp_path / "a.so"
    there.write_bytes(b"x")
    spec = parse_backend(f"trt?plugins={there},{tmp_path}")
    with pytest.raises(UsageError, match="it is a folder") as caught:
        check_named_files(spec, several=("plugins",))
    assert str(there) not in caught.value.what
    spec = parse_backend(f"trt?plugins={there}")
    check_named_files(spec, several=("plugins",))

    def nothing(_runtime: str | None) -> None:
        raise MissingDependencyError("TensorRT is not installed")

    monkeypatch.setattr("enginescope.backends.tensorrt.backend.load", nothing)
    with pytest.raises(MissingDependencyError):  # the library is looked for after the files
        load_backend("trt").require(spec)


def test_shapes_of_several_profiles() -> None:
    assert read_shapes("x:1x3,'a:b':8;x:scalar") == (
        (InputShape(name="x", dims=(1, 3)), InputShape(name="a:b", dims=(8,))),
        (InputShape(name="x", dims=()),),
    )
    for text in ("", "x", "x:", "x:1x", "x:1;", ":1", "x:-1"):
        with pytest.raises(ValueError, match="NAME:1x3x224x224"):
            read_shapes(text)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("min_shapes=x:3x4&opt_shapes=x:2x4", "min 3x4, opt 2x4 are not in ascending order"),
        ("min_shapes=x:3x4&max_shapes=x:2x4", "min 3x4, max 2x4 are not in ascending order"),
        ("opt_shapes=x:2x4&max_shapes=x:2x4x1", "not in ascending order"),
        ("opt_shapes=x:1;x:4&max_shapes=x:1;x:3", "opt 4, max 3"),
        ("min_shapes=x:1;x:2&opt_shapes=x:2", "min_shapes 2, opt_shapes 1"),
    ],
)
def test_bounds_that_contradict_each_other_are_no_specification(options, words) -> None:
    for backend in ("trt", "trtexec"):
        with pytest.raises(UsageError, match=words):
            parse_backend(f"{backend}?{options}")


def test_bounds_in_order() -> None:
    check_bounds({})
    check_bounds({"min_shapes": "x:1x4", "opt_shapes": "x:2x4,y:3", "max_shapes": "y:3,x:2x8"})
    assert is_in_order([(1, 2), (1, 2), (3, 2)])
    assert is_in_order([])


@pytest.mark.parametrize("backend", ["trt", "trtexec"])
def test_a_profile_that_the_engine_will_not_have(backend) -> None:
    model, engine = Subject(name="m", kind="onnx"), Subject(name="e", kind="engine")
    for text in ("profile_index=1", "opt_shapes=x:1;x:2&profile_index=2"):
        spec = parse_backend(f"{backend}?{text}")
        with pytest.raises(UsageError, match=r"profile_index=\d.*\n?.*from 0"):
            check_subject(spec, model)
    for text in ("profile_index=0", "opt_shapes=x:1;x:2&profile_index=1"):
        check_subject(parse_backend(f"{backend}?{text}"), model)
    check_subject(parse_backend(f"{backend}?profile_index=7"), engine)  # only the engine tells


def test_numbers_below_the_least_are_no_specification() -> None:
    for option in (
        *("profile_index=-1", "device=-1", "builder_optimization_level=-1"),
        *("avg_timing_iterations=0", "max_threads=0", "max_aux_streams=-2"),
    ):
        with pytest.raises(UsageError, match=f"trt: {option}"):
            parse_backend(f"trt?{option}")
    # the library's own choice
    parse_backend("trt?max_aux_streams=-1&dla_core=-1&max_num_tactics=-1&profile_index=0")


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


def test_a_field_of_the_mode_is_honoured_by_a_backend_and_checked_against_all() -> None:
    ignored = [field for field in Mode.__struct_fields__ if not backends_with(field)]
    assert not ignored, "no backend honours these fields: their options would do nothing"
    # one request in flight is what a mode starts with; its number follows from the kind
    assert {*ASKED, "in_flight"} == set(Mode.__struct_fields__)


@pytest.mark.parametrize("name", BACKENDS.built_in)
def test_a_backend_honours_the_fields_that_it_names_and_refuses_the_others(name) -> None:
    declared, spec = load_backend(name).mode_fields, BackendSpec(name=name)
    assert declared <= set(Mode.__struct_fields__)
    package = BACKENDS.built_in[name].partition(":")[0].rpartition(".")[0]
    assert not declared or declared <= fields_read(package)
    for field, value in ASKED.items():
        mode = Mode(**{field: value})
        if field in declared:
            check_demands(spec, mode, is_elsewhere=True)
            continue
        with pytest.raises(UsageError, match=f"{name} has no ") as caught:
            check_demands(spec, mode, is_elsewhere=True)
        assert backends_with(field)[0] in (caught.value.hint or ""), field
