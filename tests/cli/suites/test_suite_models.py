"""``enginescope models``: what words stand for, and downloads."""

import hashlib
import json
from pathlib import Path

import onnx
import pytest

from enginescope.cli.main import main
from enginescope.runner.inputs.sample_models import sample_models
from tests.services.suites.test_model_download import BODY, Served, served
from tests.suites.language import decoder
from tests.wheels import unpacked


def test_lists_what_is_bundled_and_what_words_stand_for(tmp_path, capsys, convnet) -> None:
    assert main(["models", "list", "--store", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("light_") >= 9
    assert "small_convnet" in shown
    assert main(["models", "list", str(convnet), "--json", "--store", str(tmp_path)]) == 0
    (found,) = json.loads(capsys.readouterr().out).values()
    assert found == [{"name": "small_convnet", "path": str(convnet.resolve())}]
    assert main(["models", "list", "nothing.onnx"]) == 2
    assert "no model" in capsys.readouterr().err


def test_fetches_what_it_can_and_says_what_it_cannot(tmp_path, capsys) -> None:
    digest = hashlib.sha256(BODY).hexdigest()
    with served(Served(BODY)) as what:
        (tmp_path / "links.txt").write_text(
            f"{what.url}/a.onnx {digest} good\n{what.url}/b.onnx {'0' * 64} bad\n"
        )
        to = ["models", "fetch", str(tmp_path / "links.txt"), "--to", str(tmp_path / "zoo")]
        assert main(to) == 3
        shown = capsys.readouterr()
        assert "1 of 2 models" in shown.out
        assert f"enginescope suite {tmp_path / 'zoo'}" in shown.out
        assert "[2/2] bad" in shown.err
        assert "SHA-256" in shown.err
        assert main([*to, "--json"]) == 3
    (good,) = json.loads(capsys.readouterr().out)
    assert (good["link"]["name"], good["was_there"]) == ("good", True)
    assert (tmp_path / "zoo" / "good" / "a.onnx").read_bytes() == BODY


SUITE = """[suite]
models = [{models}]
backends = ["ort-cpu"]
layers = false
{more}
[timing]
iterations = 2
warmup = 1
"""


@pytest.fixture
def fixed(tmp_path, convnet) -> Path:
    """The sample network with a fixed batch of 1."""
    model, path = onnx.load(convnet), tmp_path / "fixed.onnx"
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(model, path)
    return path


@pytest.mark.usefixtures("in_process")
def test_another_batch_is_unsupported_in_a_suite(tmp_path, fixed, capsys) -> None:
    file = tmp_path / "suite.toml"
    file.write_text(SUITE.format(models='"fixed.onnx"', more="batches = [1, 8]"))
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


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_twelve_models_run_out_of_the_box(tmp_path, shared, capsys) -> None:
    models = [
        *sorted(shared.glob("models/*/model.onnx")),
        *(decoder(tmp_path / f"{style}.onnx", style) for style in ("optimum", "fused")),
        *sample_models(tmp_path)[:2],
        Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx",
        *sorted(unpacked("rapidocr-onnxruntime").rglob("*_infer.onnx")),
    ]
    assert len(models) == 12
    file = tmp_path / "twelve.toml"
    file.write_text(SUITE.format(models=", ".join(f'"{one}"' for one in models), more=""))
    assert main(["suite", str(file), "--store", str(tmp_path / "s"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == 12
    assert {row["status"] for row in rows} == {"ok"}, [row.get("reason") for row in rows]
