"""`--extract`: the node at which an error starts, in a folder that shows it without us."""

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import enginescope as es
from enginescope.analysis.bisection.error_growth import Bisected
from enginescope.cli.main import main
from enginescope.core.errors import UsageError
from enginescope.render.bisection.bisect_answer import why_text
from tests.plants.faults import behind, damaged_weight, large_activation, planted, replaced
from tests.plants.in_process import workers_in_process

pytestmark = pytest.mark.slow


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(folder / "check.py")]
    return subprocess.run(command, capture_output=True, text=True)


def extracted(wrong: Path, reference: Path, folder: Path, on: str = "ort-cpu") -> Bisected:
    with workers_in_process():
        found = es.validate(
            wrong, reference=reference, on=on, samples=1, bisect=True, extract=folder
        )
    return found.sides[0].inside


@pytest.mark.parametrize("on", ["ort-cpu", "ort-cpu:fp16"])
def test_the_folder_shows_the_failure_of_one_node(convnet, tmp_path, on) -> None:
    planted(convnet, tmp_path / "wrong.onnx", damaged_weight("stage1/block0/conv1"))
    folder = tmp_path / "report"
    inside = extracted(tmp_path / "wrong.onnx", convnet, folder, on)
    assert "I-EXTRACTED" in [one.code for one in inside.notices]
    operators = [one.op_type for one in onnx.load(folder / "model.onnx").graph.node]
    assert [one for one in operators if one != "Cast"] == ["Conv"]
    shown = check(folder)
    assert shown.returncode == 1, shown.stderr
    assert "the failure is there" in shown.stdout
    assert "stage1/block0/conv1 (Conv)" in (folder / "README.md").read_text()
    # with the right weights the same script finds nothing wrong
    right = onnx.load(convnet)
    model = onnx.load(folder / "model.onnx")
    good = next(one for one in right.graph.initializer if one.name == "stage1/block0/conv1/weight")
    for weight in model.graph.initializer:
        if weight.name == good.name:
            values = onnx.numpy_helper.to_array(good)
            kind = onnx.helper.tensor_dtype_to_np_dtype(weight.data_type)
            weight.CopyFrom(onnx.numpy_helper.from_array(values.astype(kind), good.name))
    onnx.save(model, folder / "model.onnx")
    assert check(folder).returncode == 0


def test_the_readme_says_which_operator_was_replaced(convnet, tmp_path) -> None:
    planted(convnet, tmp_path / "wrong.onnx", replaced("stage1/down/relu", "LeakyRelu", alpha=0.2))
    inside = extracted(tmp_path / "wrong.onnx", convnet, tmp_path / "report")
    readme = (tmp_path / "report" / "README.md").read_text()
    assert "# stage1/down/relu (LeakyRelu) is wrong by itself" in readme
    assert f"| departs: {why_text(inside)} |" in readme
    assert "stage1/down/relu is Relu in " in readme
    assert check(tmp_path / "report").returncode == 1


def test_the_readme_names_every_node_whose_output_was_not_compared(convnet, tmp_path) -> None:
    """Two nodes that the reference does not have stand before the one that is compared."""
    planted(convnet, tmp_path / "wrong.onnx", lambda model: behind(
        model, "stage1/down", ("Mul", "half", 0.5), ("Tanh", "bend", None)))  # fmt: skip
    inside = extracted(tmp_path / "wrong.onnx", convnet, tmp_path / "report")
    step = inside.first_step
    assert step.pair.node == "stage1/down/relu"
    assert step.not_compared == ("half::out", "stage1/down")
    readme = (tmp_path / "report" / "README.md").read_text()
    assert "# The part of the model up to stage1/down/relu (Relu) is wrong by itself" in readme
    assert "| nodes | half (Mul), bend (Tanh), stage1/down/relu (Relu) |" in readme
    assert "half::out, stage1/down were not compared" in readme
    (notice,) = (one for one in inside.notices if one.code == "I-EXTRACTED")
    assert notice.message.startswith("the part of the model up to stage1/down/relu with")


def test_an_overflow_of_fp16_shows_on_the_cpu_too(convnet, tmp_path) -> None:
    planted(convnet, tmp_path / "loud.onnx", large_activation("stage2/block0/conv1"))
    extracted(*[tmp_path / "loud.onnx"] * 2, tmp_path / "report", "ort-cpu:fp16")
    shown = check(tmp_path / "report")
    assert shown.returncode == 1, shown.stderr
    case = json.loads((tmp_path / "report" / "case.json").read_text())
    assert case["own_error"] is None  # not finite


def test_a_folder_that_holds_something_is_refused(convnet, tmp_path, capsys) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(UsageError, match="not an empty folder"):
        es.validate(convnet, on="ort-cpu:fp16", samples=1, bisect=True, extract=tmp_path)
    arguments = ["validate", str(convnet), "--on", "ort-cpu:fp16", "--samples", "1"]
    assert main([*arguments, "--bisect", "--extract", str(tmp_path)]) == 2
    assert main([*arguments, "--extract", str(tmp_path / "new")]) == 2
    assert "add --bisect" in capsys.readouterr().err
    on = "ort-cpu?graph_optimization_level=disable"
    with workers_in_process():
        found = es.validate(convnet, on=on, samples=1, bisect=True, extract=tmp_path / "report")
    assert "W-NOT-EXTRACTED" in [one.code for one in found.sides[0].inside.notices]
    assert not (tmp_path / "report").exists()
