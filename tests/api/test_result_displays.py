"""Each result of a public function prints in three lines and has a notebook view."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import enginescope as es
from enginescope.analysis.runs.run_view import RunView
from enginescope.notebook import measure, verdicts
from enginescope.notebook.display import shown_as
from enginescope.notebook.plan import ShownProcess
from enginescope.records.plan.build import BuildReport
from enginescope.services.plans.process import ProcessResult
from enginescope.store.suite_folder import SuiteFolder
from tests.analysis.contend import contended
from tests.analysis.historic_runs import over_days
from tests.analysis.in_turn import in_turn
from tests.analysis.lottery import drawn as lotteries
from tests.analysis.shapes import simulated as shapes
from tests.analysis.verdicts.test_measured_sides import FLOOR
from tests.api.public_functions import public_functions, result_classes
from tests.conftest import DATA
from tests.depth_benchmarks import depth_benchmark
from tests.notebook.html.pages import checked
from tests.render.load import load_reports as loads
from tests.render.reproduction import test_reproduction_text as reproductions
from tests.render.sensitivity import test_sensitivity_files as sensitive
from tests.render.test_self_test_files import TEST as SELF_TEST
from tests.render.validation import test_validate_answer as validations
from tests.render.verdicts import test_ladder_files as ladders
from tests.render.verdicts import test_tune_files as tunes
from tests.render.verdicts import test_upgrade_files as upgrades
from tests.suites.made import cell, result, timed

NAME = "small_convnet.onnx.engine"
LONG = "a_directory_with_a_long_name/" * 20


class Inputs(NamedTuple):
    """A recorded plan and a folder to write to."""

    plan: Path
    folder: Path


@pytest.fixture
def inputs(plan: Path, tmp_path: Path) -> Inputs:
    return Inputs(plan, tmp_path)


def sides() -> tuple[list[RunView], list[RunView]]:
    a, b = in_turn(1.05)
    return [RunView(run) for run in a], [RunView(run) for run in b]


def suite(inputs: Inputs) -> Any:
    made = result([timed(cell("net"), 8.0), timed(cell("net", "ort-cuda"), 2.0)])
    folder = SuiteFolder(inputs.folder / "suites" / "main")
    folder.begin(made.plan)
    for row in made.rows:
        folder.keep(row)
    return es.open_suite("main", store=inputs.folder)


def history(_: Inputs) -> Any:
    (found,) = es.history([RunView(run) for run in over_days([1.0] * 8 + [1.2] * 8)])
    return found


def gate(_: Inputs) -> Any:
    a, b = sides()
    return es.gate(b, baseline=a)


def archive(inputs: Inputs) -> Any:
    return es.archive(inputs.folder / "net.tea", inputs.plan)


def report(inputs: Inputs) -> Any:
    whole = DATA / "trt86-h200-process" / inputs.plan.name  # samples too
    return es.write_report(whole, inputs.folder / "report")


def validation(_: Inputs) -> Any:
    pair = (validations.side("fine", 1e-4), validations.side("broken" * 40, 0.5))
    return shown_as(measure.ShownValidation)(validations.found(*pair))


def build(_: Inputs) -> Any:
    return shown_as(measure.ShownBuild)(
        BuildReport(engine=LONG + "net.plan", engine_bytes=5_000_000, command=LONG, build_ms=9e3)
    )


def files(_: Inputs) -> Any:
    return shown_as(ShownProcess)(ProcessResult(files=(Path(LONG + "net.engine"),), run_id="ab12"))


#: Class -> how to get an object of it, and text of its notebook view. The functions that need a
#: GPU or minutes are not called: their displays get a record.
EXAMPLES: dict[type, tuple[Callable[[Inputs], Any], str]] = {
    es.RunView: (lambda inputs: es.import_artifacts(inputs.plan)[0], "small_convnet"),
    es.OpenedPlan: (lambda inputs: es.open_plan(inputs.plan), "19 launch work"),
    es.Explored: (lambda inputs: es.explore(inputs.plan), "19 launch work"),
    es.LintReport: (lambda inputs: es.lint(inputs.plan), "What to do"),
    es.Comparison: (lambda inputs: es.compare_plans(inputs.plan, inputs.plan), "Plans"),
    es.MeasuredComparison: (lambda _: es.compare(*sides()), "B is slower"),
    es.GateReport: (gate, "regression"),
    es.JobHistory: (history, "Levels"),
    es.SuiteView: (suite, "2 cells: 2 ok"),
    es.CreatedArchive: (archive, f"{NAME}.graph.json"),
    es.WrittenReport: (report, "Files"),
    es.ProcessResult: (files, "net.engine"),
    es.Passport: (lambda inputs: es.passport(inputs.plan), "not next to the plan"),
    es.Explanation: (lambda _: es.explain("W-LOAD"), "What to do"),
    es.Diagnosis: (lambda _: es.doctor(), "ort-cpu"),
    es.Validation: (validation, "1 of 2 sides do not pass"),
    es.UpgradeReport: (
        lambda _: shown_as(verdicts.ShownUpgrade)(
            upgrades.report(upgrades.measured("net.onnx", 1.05))
        ),
        "net.onnx",
    ),
    es.ReleaseSearch: (
        lambda _: shown_as(verdicts.ShownSearch)(upgrades.searched()),
        "new made net.onnx worse than old",
    ),
    es.LoadReport: (lambda _: shown_as(measure.ShownLoad)(loads.searched()), "highest rate"),
    es.ShapesReport: (lambda _: shown_as(measure.ShownShapes)(shapes.report()), "run batch 4"),
    es.ContendReport: (
        lambda _: shown_as(verdicts.ShownContend)(contended.report()),
        "no contender is slowed",
    ),
    es.LadderReport: (
        lambda _: shown_as(verdicts.ShownLadder)(ladders.report()),
        "the largest step",
    ),
    es.Reproduction: (
        lambda _: shown_as(verdicts.ShownReproduction)(reproductions.result("latency")),
        "not reproduced",
    ),
    es.LotteryReport: (
        lambda _: shown_as(verdicts.ShownLottery)(lotteries.report(build_sd=0.02)),
        "builds of net.onnx differ by",
    ),
    es.TuneReport: (lambda _: shown_as(verdicts.ShownTune)(tunes.report()), "winner for net.onnx"),
    es.SensitivityReport: (
        lambda _: shown_as(verdicts.ShownSensitivity)(sensitive.report()),
        "keep 1 of 4 layers",
    ),
    es.NoiseFloor: (lambda _: shown_as(measure.ShownNoise)(FLOOR), "smallest difference"),
    es.SelfTest: (lambda _: shown_as(measure.ShownSelfTest)(SELF_TEST), "a difference of 2.1 %"),
    es.BuildReport: (build, "net.plan"),
    es.DepthBenchmark: (
        lambda _: shown_as(measure.ShownDepth)(depth_benchmark(["a · trt", "b · trt"])),
        "median ms",
    ),
}


def test_every_result_has_an_example_and_every_function_adds_a_display() -> None:
    assert set(result_classes()) == set(EXAMPLES)
    functions = {name for name, one in public_functions().items() if hasattr(one, "__wrapped__")}
    assert functions == set(public_functions()) - {"open_plan", "samples"}


@pytest.mark.parametrize("result_class", EXAMPLES, ids=lambda found: found.__name__)
def test_a_result_prints_in_three_lines_and_has_a_notebook_view(
    result_class: type, inputs: Inputs
) -> None:
    example, text = EXAMPLES[result_class]
    value = example(inputs)
    assert isinstance(value, result_class)
    lines = repr(value).splitlines()
    assert isinstance(value, getattr(es, lines[0].removeprefix("<").split()[0]))
    assert len(lines) <= 3
    assert max(map(len, lines)) <= 100
    assert text in checked(value._repr_html_()).text
