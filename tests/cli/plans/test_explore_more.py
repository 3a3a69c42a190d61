"""What ``explore`` adds when asked, on an engine recorded on an H200."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from enginescope.cli.main import main

NAME = "small_convnet.onnx.engine"


@pytest.fixture
def plan(data: Path) -> str:
    return str(data / "trt86-h200-process" / f"{NAME}.graph.json")


def test_layers_against_the_limits_of_a_gpu(plan, capsys) -> None:
    assert main(["explore", plan, "--gpu", "NVIDIA H200", "--top", "3"]) == 0
    printed = capsys.readouterr().out
    assert "Furthest from the limits of H200" in printed
    assert "The 3 layers that lose most would save" in " ".join(printed.split())
    assert main(["explore", plan, "--gpu", "NVIDIA H200", "--top", "1"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "The layer that loses most would save" in printed


def test_a_gpu_that_is_not_known_is_said_before_anything_is_printed(plan, capsys) -> None:
    assert main(["explore", plan, "--gpu", "H201"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "H201" in captured.err


def test_nodes_of_the_model_and_what_they_cost(plan, convnet, capsys) -> None:
    assert main(["explore", plan, "--onnx", str(convnet), "--top", "4"]) == 0
    printed = capsys.readouterr().out
    table = printed[printed.index("ONNX nodes that cost most") :]
    assert "Conv" in table
    assert "shares its time out" in " ".join(table.split())
    assert " nodes are in 18 layers" in " ".join(table.split())


def test_the_story_of_its_build(plan, data, tmp_path, capsys) -> None:
    log = tmp_path / "build.log"
    packed = data / "trt86-h200-process" / f"{NAME}.build.log.gz"
    log.write_bytes(gzip.decompress(packed.read_bytes()))
    assert main(["explore", plan, "--build-log", str(log)]) == 0
    printed = capsys.readouterr().out
    for title in ("Layers after each step", "Chosen against fastest tried", "What tuning cost"):
        assert title in printed


def test_the_plan_as_a_picture(plan, tmp_path, capsys) -> None:
    whole, part = tmp_path / "whole.svg", tmp_path / "part.svg"
    assert main(["explore", plan, "--svg", str(whole), "--color", "precision"]) == 0
    assert main(["explore", plan, "--svg", str(part), "--beam", "head/pool,1"]) == 0
    assert f"written: {whole}" in capsys.readouterr().err
    boxes = [len(list(ElementTree.parse(one).getroot().iter())) for one in (whole, part)]
    assert boxes[0] > boxes[1] > 5
    assert "head/pool" in part.read_text()
    assert "stage0/down" not in part.read_text()


def test_a_beam_without_a_picture(plan, capsys) -> None:
    assert main(["explore", plan, "--beam", "head/pool,1"]) == 2
    assert "--svg FILE" in capsys.readouterr().err


def test_a_picture_that_cannot_be_written(plan, tmp_path, capsys) -> None:
    assert main(["explore", plan, "--svg", str(tmp_path / "none" / "x.svg")]) == 2
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.parametrize("option", [("--gpu", "H200"), ("--svg", "x.svg")])
def test_times_alone_are_not_enough(data, tmp_path, monkeypatch, capsys, option) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    profile = data / "trt86-h200-process" / f"{NAME}.profile.json"
    assert main(["import", str(profile)]) == 0
    assert main(["explore", "latest", *option]) == 2
    assert "no plan" in capsys.readouterr().err


def test_memory_alone_as_text_and_json(plan, capsys) -> None:
    assert main(["explore", str(plan), "--memory"]) == 0
    shown = capsys.readouterr().out
    assert "packed into one block" in shown
    assert "What the memory consists of" in shown or "weights" in shown
    assert main(["explore", str(plan), "--memory", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["peak"]["bytes"] == max(one["bytes"] for one in data["layers"])
    assert data["arena"] is None


def test_memory_takes_no_other_files_and_a_limit_needs_a_model(plan, tmp_path, capsys) -> None:
    page = str(tmp_path / "page.html")
    assert main(["explore", str(plan), "--memory", "--html", page]) == 2
    assert "--html with --memory" in capsys.readouterr().err
    assert main(["explore", str(plan), "--fits", "seq=1GiB"]) == 2
    assert "is not an ONNX model" in capsys.readouterr().err
    assert main(["explore", str(plan), "--fits", "much"]) == 2
    assert "is not a size" in capsys.readouterr().err
