"""The verb ``build``, and engines given to ``bench``, on the stand-in for TensorRT."""

import json
from pathlib import Path

import onnx
import pytest

from enginescope.backends.tensorrt import libraries
from enginescope.cli.measure.build import profiles_text
from enginescope.formats.importing.importer import import_artifacts
from enginescope.records.run.job import InputShape
from tests.fakes import models

QUICK = ["--iterations", "10", "--warmup", "0", "--no-layers"]


@pytest.fixture
def model(tmp_path) -> Path:
    return models.perceptron(tmp_path / "net.onnx")


def test_an_engine_with_all_that_explains_it(use, verb, model, tmp_path) -> None:
    use()
    target = tmp_path / "out" / "mine.plan"
    target.parent.mkdir()
    on = ("--on", "trt:fp16", "--shape", "x:3x4")
    code, out, err = verb("build", model, "-o", target, *on)
    assert code == 0, err
    assert "net.onnx · trt fp16" in out
    assert "TensorRT 10.16.1" in out
    names = {file.name for file in target.parent.iterdir()}
    endings = (".build.log", ".build.metadata.json", ".graph.json", ".passport.json")
    assert names == {"mine.plan", *(f"mine.plan{end}" for end in endings)}
    assert all(f"wrote {target.parent / name}" in err for name in names)
    (run,) = import_artifacts(sorted(target.parent.iterdir())).runs
    assert run.plan is not None
    assert run.tool.options["Build Options"]["Precision"] == "FP32+FP16"

    code, out, err = verb("build", model, *on, "--json", "--quiet")
    assert code == 0
    told = json.loads(out)
    assert told["build"]["from_cache"]
    assert told["files"][0] == str(model.with_suffix(".engine"))
    assert Path(told["files"][0]).read_bytes() == target.read_bytes()
    assert err == ""

    code, out, _ = verb("bench", target, *QUICK, "--shape", "x:3x4")
    assert code == 0
    assert "mine.plan · trt" in out


def test_several_profiles_and_one_of_them_measured(use, verb, model, tmp_path) -> None:
    use()
    sizes = ["--opt-shape", "x:1x4", "--opt-shape", "x:16x4"]
    code, out, err = verb("build", model, *sizes, "--json", "--workspace", "1MiB")
    assert code == 0, err
    built = {"opt_shapes": "x:1x4;x:16x4", "workspace": "1MiB"}
    assert json.loads(out)["build"]["options"] == built
    code, out, _ = verb("bench", model.with_suffix(".engine"), *QUICK, "--profile-index", 1)
    assert code == 0
    assert "batch 16" in out
    code, out, _ = verb("bench", model.with_suffix(".engine"), *QUICK, "--profile-index", 2)
    assert code == 3
    assert "2 optimization profiles, from 0" in out


def test_a_build_that_failed_says_why(use, verb, model, tmp_path) -> None:
    use("11.4.0")
    code, out, _ = verb("build", model, "--on", "trt:fp16")  # this version lacks the precision
    assert code == 3
    assert "nvidia-modelopt" in out
    use("8.6.0")
    path = models.missing_operator(tmp_path / "strange.onnx")
    code, out, err = verb("build", path)
    assert code == 3
    assert "node 1 strange (fake.missing::Frobnicate)" in " ".join(out.split())
    assert not path.with_suffix(".engine").exists()
    assert "wrote" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--on", "ort-cpu"], "ort-cpu builds no engines"),
        (["-o", "/absent/folder/net.engine"], "there is no folder"),
        (["--on", "trt?refit=1", "--refit"], "both in --on and as an option"),
        (["--option", "workspace"], "it is not KEY=VALUE"),
        (["--refit", "--option", "refit=0"], "it is given twice"),
        (["--option", "workspac=1MiB"], "did you mean workspace"),
        (["--on", "trt:fp61"], "no precision 'fp61'"),
        (["--builder-optimization-level", "high"], "a whole number"),
        (["--memory-pool", "workspace:huge"], "a size"),
    ],
)
def test_user_errors(use, verb, model, arguments, words) -> None:
    use()
    code, out, err = verb("build", model, *arguments)
    assert code == 2
    assert words in err
    assert out == ""
    assert not model.with_suffix(".engine").exists()


def test_engines_are_built_once_with_all_their_files(use, verb, tmp_path) -> None:
    use()
    engine = tmp_path / "net.engine"
    engine.write_bytes(b"an engine")
    code, _, err = verb("build", engine)
    assert code == 2
    assert "is an engine already" in err
    assert engine.read_bytes() == b"an engine"
    code, out, _ = verb("build", models.perceptron(tmp_path / "net[v1].onnx"), "--json")
    assert code == 0
    assert len(json.loads(out)["files"]) == 5


def test_weights_beside_the_model(use, verb, tmp_path) -> None:
    use()
    path = models.perceptron(tmp_path / "net.onnx")
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert verb("build", path, "--json")[0] == 0
    (tmp_path / "w.bin").write_bytes(bytes(48))
    code, out, _ = verb("build", path, "--json")
    assert code == 0
    assert not json.loads(out)["build"]["from_cache"]
    (tmp_path / "w.bin").unlink()
    code, out, _ = verb("build", path, "--json")
    assert code == 3
    assert "w.bin" in json.loads(out)["outcome"]["message"]


ENTRIES = [["bench", "MODEL", "--on", "trt"], ["build", "MODEL"], ["bench", "ENGINE"]]


@pytest.mark.parametrize("arguments", ENTRIES, ids=" ".join)
@pytest.mark.parametrize("missing", ["TensorRT", "GPU", "driver"])
def test_what_is_missing_is_said_in_one_line(
    use, verb, model, tmp_path, monkeypatch, arguments, missing
) -> None:
    if missing == "TensorRT":
        monkeypatch.setattr(libraries, "is_installed", lambda _: False)
    else:
        use("10.16.1", {"GPU": "no_gpu", "driver": "no_driver"}[missing])
    engine = tmp_path / "net.engine"
    engine.write_bytes(b"never looked at")
    names = {"MODEL": str(model), "ENGINE": str(engine)}
    code, out, err = verb(*(names.get(one, one) for one in arguments))
    assert code == 2
    assert out == ""
    (line,) = err.splitlines()
    assert ("pip install tensorrt" if missing == "TensorRT" else "no NVIDIA GPU") in line


def test_shapes_become_profiles_by_their_turn() -> None:
    turns = (("a", (1, 2)), ("b", (3,)), ("a", (4, 2)))
    shapes = [InputShape(name=name, dims=dims) for name, dims in turns]
    assert profiles_text(shapes) == "a:1x2,b:3;a:4x2"
    assert profiles_text([InputShape(name="s", dims=())]) == "s:scalar"
