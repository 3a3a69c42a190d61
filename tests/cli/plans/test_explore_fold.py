"""Drawings with layers put together."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginescope.cli.main import main


@pytest.fixture
def plan(data: Path) -> str:
    return str(data / "trt86-h200" / "resnet18.graph.json")


def test_modules_are_one_box_each(plan, tmp_path) -> None:
    path = tmp_path / "x.svg"
    assert main(["explore", plan, "--svg", str(path), "--fold", "module"]) == 0
    drawn = path.read_text(encoding="utf-8")
    assert all(f">layer{number}</text>" in drawn for number in (1, 2, 3, 4))
    assert "layer1.0/conv1" not in drawn


def test_nothing_to_fold_is_said_and_drawn_whole(data, tmp_path, capsys) -> None:
    plan = data / "trt86-h200-process" / "small_convnet.onnx.engine.graph.json"
    path = tmp_path / "x.svg"
    assert main(["explore", str(plan), "--svg", str(path), "--fold", "block"]) == 0
    assert "drawn expanded: no block of layers repeats (I-NOT-FOLDED)" in (capsys.readouterr().err)
    assert path.exists()


@pytest.mark.parametrize("option", [("--beam", "x,1"), ("--filter", "conv")])
def test_a_fold_is_of_the_whole(plan, tmp_path, capsys, option) -> None:
    drawing = ["--svg", str(tmp_path / "x.svg"), "--fold", "module"]
    assert main(["explore", plan, *drawing, *option]) == 2
    assert "it is of the whole plan" in capsys.readouterr().err


def test_a_fold_needs_a_drawing(plan, capsys) -> None:
    assert main(["explore", plan, "--fold", "module"]) == 2
    assert "it is of the drawing" in capsys.readouterr().err
