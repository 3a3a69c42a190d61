"""Pictures that ``explore`` draws, on an engine recorded on an H200."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from enginescope.cli.main import main

NAME = "small_convnet.onnx.engine"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def plan(data: Path) -> str:
    return str(data / "trt86-h200-process" / f"{NAME}.graph.json")


def texts(path: Path) -> list[str]:
    return [one.text or "" for one in ElementTree.parse(path).getroot().iter(f"{SVG}text")]


def test_two_files_at_once(plan, tmp_path, capsys) -> None:
    pytest.importorskip("vl_convert")
    files = {one: tmp_path / f"x.{one}" for one in ("svg", "png")}
    options = [word for one, path in files.items() for word in (f"--{one}", str(path))]
    assert main(["explore", plan, *options]) == 0
    said = capsys.readouterr().err
    assert all(f"written: {path}" in said for path in files.values())
    assert files["png"].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("coloring", ["type", "precision", "time", "lint"])
def test_every_colouring_has_its_legend(plan, tmp_path, coloring) -> None:
    path = tmp_path / "x.svg"
    assert main(["explore", plan, "--svg", str(path), "--color", coloring]) == 0
    words = " | ".join(texts(path))
    legend = {"type": "convolution", "precision": "FP16", "time": " ms: ", "lint": "nothing found"}
    assert legend[coloring] in words
    assert ("PLAN" in words) == (coloring == "lint")


def test_only_what_is_meant(plan, tmp_path) -> None:
    path = tmp_path / "x.svg"
    assert main(["explore", plan, "--svg", str(path), "--filter", "type:Pooling"]) == 0
    found = texts(path)
    assert any(" of " in one and "nodes" in one for one in found)
    assert "left out" in found
    assert "Pooling" in found
    assert "Convolution" not in found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--filter", "type:Reformat"], "--png FILE"),
        (["--highlight", "x"], "--highlight"),
        (["--color", "time"], "it is of the drawing"),
        (["--constants"], "it is of the drawing"),
        (["--svg", "x.svg", "--filter", "type:Nothing"], "no layer of type 'Nothing'"),
        (["--svg", "x.svg", "--filter", "("], "regular expression"),
        (["--svg", "x.svg", "--png", "x.svg"], "two results"),
    ],
)
def test_what_cannot_be_drawn(plan, tmp_path, monkeypatch, capsys, options, message) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explore", plan, *options]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.out == ""


def test_colours_by_time_without_times(plan, tmp_path, capsys) -> None:
    bare = tmp_path / "bare.json"
    bare.write_bytes(Path(plan).read_bytes())
    target = str(tmp_path / "x.svg")
    assert main(["explore", str(bare), "--svg", target, "--color", "time"]) == 2
    assert "--profile FILE" in capsys.readouterr().err
