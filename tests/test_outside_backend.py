"""A backend of 60 lines outside the tree: every verb serves it as one of its own."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.called import called
from tests.docs.recipe_inputs import another_python
from tests.plants.in_process import workers_in_process
from tests.plants.packages import installed, write_package

BACKEND = '''\
"""The nodes of an ONNX model, one after another, by the reference evaluator of onnx."""

from time import perf_counter_ns

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from enginescope.backends.base import Availability, InputSpec
from enginescope.backends.plain import PlainBackend, PlainSession
from enginescope.formats.tensors.tensor_files import tensor_of
from enginescope.records.plan.plan import EXECUTED, Layer, LayerTiming, Plan, Profile
from enginescope.records.tensor import Tensor


def spec_of(name, declared):
    kind = declared.tensor_type
    shape = tuple(dim.dim_value or dim.dim_param or None for dim in kind.shape.dim)
    empty = np.empty(0, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return InputSpec(name=name, dtype=tensor_of("", empty).dtype, shape=shape, type_text="")


class Session(PlainSession):
    def __init__(self, job):
        self.evaluator = evaluator = ReferenceEvaluator(str(job.subject.path))
        self.input_specs = tuple(map(spec_of, evaluator.input_names, evaluator.input_types))
        self.output_specs = tuple(map(spec_of, evaluator.output_names, evaluator.output_types))
        layers = [
            Layer(
                index=index,
                name=node.onnx_node.name,
                type=node.onnx_node.op_type,
                inputs=tuple(Tensor(name=name) for name in node.input),
                outputs=tuple(Tensor(name=name) for name in node.output),
                onnx_nodes=(node.onnx_node.name,),
            )
            for index, node in enumerate(evaluator.rt_nodes_)
        ]
        self.plan = Plan(name=job.subject.name, layers=tuple(layers), source_schema=EXECUTED)

    def step(self):
        self.values = self.evaluator.run(None, dict(self.arrays))


class Backend(PlainBackend):
    def availability(self):
        return Availability(usable=True, detail=f"onnx {onnx.__version__}")

    def open_for_answers(self, job):
        return Session(job)

    def profile_pass(self, job, feeds):
        evaluator = Session(job).evaluator
        values, layers = {**evaluator.rt_inits_, **feeds.arrays}, []
        for index, node in enumerate(evaluator.rt_nodes_):
            begin = perf_counter_ns()
            values |= zip(node.output, node.run(*(values[name] for name in node.input)))
            took = (perf_counter_ns() - begin) / 1e6
            layers.append(LayerTiming(index=index, name=node.onnx_node.name, mean_ms=took))
        return Profile(source="nodes", layers=tuple(layers), iterations=1), ()
'''
Run = Callable[..., Any]
QUICK = ("--iterations", "3")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def verb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run a verb where the package is installed, on a store of this module; return its JSON."""
    home = tmp_path_factory.mktemp("home")
    points = {"backend": {"nodes": "outside_nodes:Backend", "broken": "no_such_module:Backend"}}
    site = write_package(home / "site", {"outside_nodes": BACKEND}, points)

    def run(*arguments: object, codes: tuple[int, ...] = (0,)) -> Any:
        ended = called(*arguments, "--json")
        assert ended.returncode in codes, ended.stderr
        return json.loads(ended.stdout)

    run.home = home
    with installed(site), workers_in_process(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENGINESCOPE_HOME", str(home / "store"))
        another_python(home / "bin" / "python", site=site)
        yield run


@pytest.fixture(scope="module")
def measured(verb: Run, transformer: Path) -> dict[str, str]:
    """Measure a model on the backend and on ONNX Runtime; return the ids of the runs."""
    found = verb("bench", transformer, "--on", "nodes", "--on", "ort-cpu", *QUICK, "--layers")
    return {run["backend"]: run["run"] for run in found["runs"]}


def test_it_has_sixty_lines() -> None:
    assert len(BACKEND.splitlines()) <= 60


def test_doctor_bench_and_explore_know_it(verb: Run, measured: dict[str, str]) -> None:
    found = verb("doctor")
    backends = {one["name"]: one["usable"] for one in found["backends"]}
    assert (backends["nodes"], backends["broken"], backends["ort-cpu"]) == (True, False, True)
    plugins = {one["name"]: one["detail"] for one in found["plugins"]}
    assert plugins["backend nodes"] == "outside 1.5"
    assert "No module named 'no_such_module'" in plugins["backend broken"]
    (run,) = verb("runs", "show", measured["nodes"])["runs"]
    assert (run["outcome"], run["summaries"][0]["n"]) == ("ok", 3)
    explored = verb("explore", measured["nodes"])
    assert explored["totals"]["layers"] == 31
    times = {one["key"]: one["time_ms"] for one in explored["by_type"]}
    assert {"MatMul", "Transpose", "Softmax"} <= times.keys()
    assert min(times.values()) > 0
    assert versions_of(verb, measured["nodes"])["outside"] == "1.5"


def versions_of(verb: Run, run: str) -> dict[str, str]:
    file = next(verb.home.glob(f"store/**/{run}*/run.json"))
    return json.loads(file.read_bytes())["environment"]["versions"]


def test_compare_pairs_its_layers_with_those_of_onnx_runtime(verb, measured) -> None:
    found = verb("compare", *measured.values(), "--across", "backend")
    (pair,) = found["measured"]["pairs"]
    assert min(pair["verdicts"][0][side] for side in "ab") > 0
    paired = [one for one in found["layers"] if one["a"] and one["b"]]
    assert sum(len(one["a"]["layers"]) for one in paired) >= 29


def test_validate_compares_its_outputs(verb: Run, transformer: Path) -> None:
    found = verb("validate", transformer, "--on", "nodes", "--samples", "1")
    assert found["passes"] is True
    assert found["sides"][0]["binding_differences"] == []


def test_a_suite_measures_and_checks_it(verb: Run, transformer: Path) -> None:
    what = ("--include", transformer.stem, "--mode", "both", "--samples", "1")
    found = verb("suite", transformer.parent, *what, "--on", "ort-cpu", "--on", "nodes", *QUICK)
    rows = {row["cell"]["job"]["backend"]["name"]: row for row in found["rows"]}
    assert {row["status"] for row in rows.values()} == {"ok"}
    figures = {one["metric"]: one["value"] for one in rows["nodes"]["figures"]}
    assert 0 < figures["max_abs_error"] < 1e-4


def test_upgrade_compares_two_stacks_that_have_it(verb: Run, transformer: Path) -> None:
    few = ("--samples", "1", "--rounds", "8", *QUICK)
    python = verb.home / "bin" / "python"
    # three iterations a round decide nothing on most machines, and anything on a busy one
    found = verb("upgrade", transformer, "--on", "nodes", "--old", python, *few, codes=(0, 1))
    (model,) = found["report"]["models"]
    rows = {row["metric"]: row for row in model["rows"]}
    assert (rows["outputs"]["kind"], rows["outputs"]["reason"]) == ("safe", "identical")
    assert rows["latency"]["old"] > 0
