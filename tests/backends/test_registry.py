import ast
from pathlib import Path

import pytest

import enginescope
from enginescope.backends.base import Answering, StoringBuilds
from enginescope.backends.registry import (
    BACKENDS,
    backend_names,
    backends_that,
    backends_with,
    load_backend,
    parse_backend,
    read_spec,
)
from enginescope.core.errors import PluginError, UsageError
from enginescope.records.run.job import CPU_BACKEND
from tests.plants.packages import installed, write_package


def test_every_built_in_backend_loads_and_the_fake_is_not_named() -> None:
    for name in BACKENDS.built_in:
        assert load_backend(name).availability().detail
    assert "ort-cpu" in backend_names()
    assert "fake" not in backend_names()


def test_specification_round_trip() -> None:
    text = "ort-cpu?intra_op_num_threads=1&graph_optimization_level=basic"
    spec = parse_backend(text)
    assert spec.name == "ort-cpu"
    assert spec.options["graph_optimization_level"] == "basic"
    assert str(spec) == text


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


def test_a_near_name_is_suggested_and_providers_have_own_options() -> None:
    with pytest.raises(UsageError) as caught:
        parse_backend("ort-cpo")
    assert caught.value.hint == "did you mean ort-cpu?"
    assert parse_backend("ort-cuda?device_id=1").options == {"device_id": "1"}
    assert parse_backend("ort-cpu?session.intra_op.allow_spinning=0").options


def test_backends_of_other_packages(tmp_path) -> None:
    points = {"mine": "enginescope.backends.fake:FakeBackend", "broken": "no_such_package:Backend"}
    with installed(write_package(tmp_path, {}, {"backend": points})):
        assert {"mine", "broken"} <= set(backend_names())
        assert load_backend("mine").availability().usable
        with pytest.raises(PluginError, match=r"backend broken of outside 1\.5 failed"):
            load_backend("broken")


@pytest.mark.parametrize("text", ["trt@", "trt@x:fp16", "trt@x@y", "trt@a b"])
def test_a_name_of_an_environment_that_is_none_says_where_it_stands(text) -> None:
    with pytest.raises(UsageError) as caught:
        read_spec(text)
    assert "trt:fp16@trt86" in str(caught.value.hint)


SOURCES = Path(enginescope.__file__).parent
#: Help, examples and the default of an option are texts of a command line.
SPOKEN = (
    *("cli/", "services/suites/example.py", "services/sensitivity/", "services/measurement/"),
    "analysis/suites/suite_view.py",  # what other scripts call it
)


def _is_param(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "Param"


def test_the_name_of_the_usual_backend_stands_in_one_place() -> None:
    naming = []
    for path in sorted(SOURCES.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        helps = [call for call in ast.walk(tree) if _is_param(call)]
        told |= {id(text) for call in helps for text in ast.walk(call)}
        texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
        if any(CPU_BACKEND in str(node.value) and id(node) not in told for node in texts):
            naming.append(path.relative_to(SOURCES).as_posix())
    assert [name for name in naming if not name.startswith(SPOKEN)] == ["records/run/job.py"]


def test_hints_name_the_backends_that_can() -> None:
    assert CPU_BACKEND in backends_that(Answering)
    assert backends_that(StoringBuilds) == tuple(
        name for name in BACKENDS.built_in if name.startswith("ort-")
    )
    assert backends_with("cold") == ("trt",)
