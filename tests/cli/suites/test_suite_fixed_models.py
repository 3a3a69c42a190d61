"""Models with fixed dimensions, and a model in the place of a suite file."""

import json
from pathlib import Path

import pytest

from enginescope.cli.main import main


@pytest.fixture
def fixed(tmp_path, convnet) -> Path:
    """The sample network with a fixed batch of 1."""
    onnx = pytest.importorskip("onnx")
    model = onnx.load(str(convnet))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    path = tmp_path / "fixed.onnx"
    onnx.save(model, str(path))
    return path


@pytest.mark.usefixtures("in_process")
def test_another_batch_is_unsupported_in_a_suite(tmp_path, fixed, capsys) -> None:
    file = tmp_path / "suite.toml"
    file.write_text(
        '[suite]\nmodels = ["fixed.onnx"]\nbackends = ["ort-cpu"]\nbatches = [1, 8]\n'
        'layers = false\n[timing]\niterations = 2\nwarmup = "1"\n'
    )
    assert main(["suite", str(file), "--store", str(tmp_path / "store"), "--json"]) == 3
    first, second = json.loads(capsys.readouterr().out)["rows"]
    assert (first["status"], second["status"]) == ("ok", "unsupported")
    assert "the model has a fixed batch of 1" in second["reason"]
    assert "a dynamic batch" in second["hint"]


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("given", [("--batch", "8"), ("--shape", "image:1x4x64x64")])
def test_a_shape_that_the_model_fixes_is_unsupported(tmp_path, fixed, capsys, given) -> None:
    arguments = ["bench", str(fixed), "--iterations", "2", *given, "--store", str(tmp_path)]
    assert main(arguments) == 3
    printed = capsys.readouterr()
    assert "exit code 3: a run failed; enginescope explain 3" in printed.err
    text = " ".join(printed.out.split())
    assert "outcome unsupported" in text
    assert "the model has" in text


def test_a_model_is_not_a_suite(tmp_path, convnet, capsys) -> None:
    assert main(["suite", str(convnet), "--store", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "it is a model" in told
    assert f"enginescope bench {convnet}" in told
