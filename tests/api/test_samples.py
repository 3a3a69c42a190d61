"""The samples of the package: what is written, and that it is what the tests read too."""

import json

import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.core.errors import UsageError
from tests.conftest import DATA

RECORDED = {
    "resnet18/resnet18.graph.json": "trt86-h200/resnet18.graph.json",
    "resnet18/resnet18.profile.json": "trt86-h200/resnet18.profile.json",
    "resnet18/cuda_graph.profile.json": "trt86-h200-cudagraph/resnet18.profile.json",
    "resnet18/cuda_graph.profile.log": "trt86-h200-cudagraph/resnet18.profile.log",
    "small_convnet/small_convnet.onnx.engine.graph.json": (
        "trt86-h200-process/small_convnet.onnx.engine.graph.json"
    ),
}


def test_recordings_are_those_of_the_tests(tmp_path) -> None:
    folder = es.samples(tmp_path / "samples")
    for name, recorded in RECORDED.items():
        assert (folder / name).read_bytes() == (DATA / recorded).read_bytes(), name
    assert es.open_plan(folder / "resnet18" / "resnet18.graph.json").total_ms is not None
    assert (folder / "small_convnet.onnx").is_file()


def test_what_is_there_is_kept_and_the_verb_names_all(tmp_path, capsys) -> None:
    folder = tmp_path / "samples"
    own = folder / "resnet18" / "resnet18.profile.json"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    assert main(["models", "samples", "--to", str(folder), "--json"]) == 0
    named = json.loads(capsys.readouterr().out)
    assert own.read_text() == "mine"
    assert {str(folder / name) for name in RECORDED} <= set(named)
    assert main(["models", "samples", "--to", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == named


def test_samples_are_in_the_store_or_the_folder_is_named(tmp_path) -> None:
    assert es.samples(store=tmp_path / "store") == tmp_path / "store" / "samples"
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        es.samples(tmp_path / "file" / "samples")
