"""What ``report`` takes beside a plan, as ``explore`` does: a GPU, the model, the build's log."""

import gzip
from pathlib import Path

import pytest

from enginescope.cli.main import main

NAME = "small_convnet.onnx.engine"


@pytest.fixture
def bare(data: Path, tmp_path) -> Path:
    """The plan and its layer times, without what tells TensorRT's version."""
    for role in ("graph", "profile"):
        source = data / "trt86-h200-process" / f"{NAME}.{role}.json"
        (tmp_path / f"net.{role}.json").write_bytes(source.read_bytes())
    return tmp_path / "net.graph.json"


def test_the_page_of_a_report_has_what_was_named_beside_the_plan(bare, log, convnet, tmp_path):
    folder = tmp_path / "out"
    asked = ("--gpu", "H200", "--onnx", str(convnet), "--build-log", str(log))
    assert main(["report", str(bare), "-o", str(folder), *asked]) == 0
    text = (folder / "report.html").read_text(encoding="utf-8")
    for expected in ("at the limits of H200", "Layers after each step", "nodes are in"):
        assert expected in text, expected


def test_a_gpu_counts_for_every_plan_a_log_for_one(bare, log, tmp_path, capsys) -> None:
    other = tmp_path / "other.graph.json"
    other.write_bytes(bare.read_bytes())
    other.with_name("other.profile.json").write_bytes(
        bare.with_name("net.profile.json").read_bytes()
    )
    folder = tmp_path / "out"
    both = ("report", str(bare), str(other), "-o", str(folder))
    assert main([*both, "--build-log", str(log)]) == 2
    said = capsys.readouterr().err
    assert "--build-log" in said
    assert "2 were given" in said
    assert not folder.exists()
    assert main([*both, "--gpu", "H200"]) == 0
    assert (folder / "report.html").read_text(encoding="utf-8").count("at the limits of H200") >= 2


@pytest.mark.parametrize("verb", ["explore", "report"])
def test_the_first_screen_has_the_version_that_the_log_tells(verb, bare, log, tmp_path, capsys):
    page = tmp_path / "out" / "report.html"
    page.parent.mkdir()
    to = ("--html", str(page)) if verb == "explore" else ("-o", str(page.parent))
    assert main([verb, str(bare), *to]) == 0
    assert "version of TensorRT not known" in page.read_text(encoding="utf-8")
    capsys.readouterr()
    assert main([verb, str(bare), *to, "--build-log", str(log)]) == 0
    assert "TensorRT 8.6.0" in page.read_text(encoding="utf-8")
    if verb == "explore":
        assert "TensorRT 8.6.0" in capsys.readouterr().out.splitlines()[0]


def test_another_model_is_said_where_the_report_is_written(bare, transformer, tmp_path, capsys):
    asked = ("--onnx", str(transformer), "-o", str(tmp_path / "out"))
    assert main(["report", str(bare), *asked]) == 0
    shown = capsys.readouterr()
    assert "0 of 19 layers of net were made from nodes of" in shown.err
    assert "W-ONNX-NO-MATCH" not in shown.out


def test_the_gpu_given_stands_in_for_a_machine_that_is_not_known(data, tmp_path) -> None:
    made = tmp_path / "net"
    made.mkdir()
    for role in ("graph", "profile"):
        source = data / "trt86-h200-process" / f"{NAME}.{role}.json"
        (made / f"net.{role}.json").write_bytes(source.read_bytes())
    packed = data / "trt86-h200-process" / f"{NAME}.timing.json.gz"
    (made / "net.timing.json").write_bytes(gzip.decompress(packed.read_bytes()))
    text = {}
    for name, asked in (("with", ("--gpu", "H200")), ("without", ())):
        folder = tmp_path / name
        assert main(["report", str(made), "-o", str(folder), *asked]) == 0
        text[name] = (folder / "report.html").read_text(encoding="utf-8")
    assert "machine not known" in text["without"]
    assert "H200, as given" in text["with"]
    assert "machine not known" not in text["with"]


def test_open_shows_the_page(bare, tmp_path, monkeypatch, capsys) -> None:
    shown: list[str] = []
    monkeypatch.setattr("click.launch", shown.append)
    folder = tmp_path / "out"
    assert main(["report", str(bare), "-o", str(folder)]) == 0
    assert shown == []
    assert f"open: {folder / 'report.html'}" in capsys.readouterr().err
    assert main(["report", str(bare), "-o", str(folder), "--open"]) == 0
    assert shown == [str(folder / "report.html")]
