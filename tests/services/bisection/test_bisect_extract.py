"""`--extract`: the node at which an error starts, in a folder that shows it without us."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.core.errors import UsageError
from tests.plants.faults import damaged_weight, large_activation, planted
from tests.plants.in_process import workers_in_process

pytestmark = pytest.mark.slow


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", str(folder / "check.py")],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("on", ["ort-cpu", "ort-cpu:fp16"])
def test_the_folder_shows_the_failure_of_one_node(convnet, tmp_path, on) -> None:
    planted(convnet, tmp_path / "wrong.onnx", damaged_weight("stage1/block0/conv1"))
    with workers_in_process():
        found = es.validate(
            tmp_path / "wrong.onnx", reference=convnet, on=on, samples=1, bisect=True,
            extract=tmp_path / "report",
        )  # fmt: skip
    folder = tmp_path / "report"
    assert "I-EXTRACTED" in [one.code for one in found.sides[0].inside.notices]
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


def test_an_overflow_of_fp16_shows_on_the_cpu_too(convnet, tmp_path) -> None:
    planted(convnet, tmp_path / "loud.onnx", large_activation("stage2/block0/conv1"))
    with workers_in_process():
        es.validate(
            tmp_path / "loud.onnx", reference=tmp_path / "loud.onnx", on="ort-cpu:fp16", samples=1,
            bisect=True, extract=tmp_path / "report",
        )  # fmt: skip
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


def test_without_a_start_nothing_is_written_and_that_is_said(convnet, tmp_path) -> None:
    on = "ort-cpu?graph_optimization_level=disable"
    with workers_in_process():
        found = es.validate(convnet, on=on, samples=1, bisect=True, extract=tmp_path / "report")
    assert "W-NOT-EXTRACTED" in [one.code for one in found.sides[0].inside.notices]
    assert not (tmp_path / "report").exists()
