"""``enginescope explore --html``, on an engine recorded on an H200."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.render.plans import plan_headline

NAME = "small_convnet.onnx.engine"


@pytest.fixture
def plan(data: Path) -> str:
    return str(data / "trt86-h200-process" / f"{NAME}.graph.json")


def test_everything_that_was_asked_for_is_on_the_page(plan, data, convnet, tmp_path, capsys):
    page, log = tmp_path / "plan.html", tmp_path / "build.log"
    packed = data / "trt86-h200-process" / f"{NAME}.build.log.gz"
    log.write_bytes(gzip.decompress(packed.read_bytes()))
    asked = ("--gpu", "NVIDIA H200", "--onnx", str(convnet), "--build-log", str(log))
    assert main(["explore", plan, "--html", str(page), *asked]) == 0
    captured = capsys.readouterr()
    assert f"written: {page}" in captured.err
    assert "Furthest from the limits of H200" in captured.out
    text = page.read_text(encoding="utf-8")
    for expected in ("at the limits of H200", "Layers after each step", "nodes are in", "Findings"):
        assert expected in text, expected


def test_a_page_and_the_screen_share_their_work(plan, tmp_path, monkeypatch, capsys) -> None:
    counts = Counter()
    for name in ("lint", "foldings", "plan_graph"):
        own = getattr(plan_headline, name)

        def counted(*given, own=own, name=name):
            counts[name] += 1
            return own(*given)

        monkeypatch.setattr(plan_headline, name, counted)
    assert main(["explore", plan, "--html", str(tmp_path / "plan.html")]) == 0
    assert counts == {"lint": 1, "foldings": 1, "plan_graph": 1}


def test_with_json_the_document_is_alone_on_standard_output(plan, tmp_path, capsys) -> None:
    page = tmp_path / "plan.html"
    assert main(["explore", plan, "--html", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == NAME
    assert page.stat().st_size > 100_000


def test_times_alone_have_a_page(data, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path))
    profile = data / "trt86-h200-process" / f"{NAME}.profile.json"
    page = tmp_path / "times.html"
    assert main(["import", str(profile)]) == 0
    assert main(["explore", "latest", "--html", str(page)]) == 0
    assert "layer times" in page.read_text(encoding="utf-8")


def test_nothing_is_written_where_the_gpu_is_not_known(plan, tmp_path, capsys) -> None:
    page = tmp_path / "plan.html"
    assert main(["explore", plan, "--html", str(page), "--gpu", "H201"]) == 2
    assert "H201" in capsys.readouterr().err
    assert not page.exists()


def test_the_plan_is_not_overwritten(plan, tmp_path, capsys) -> None:
    copy = tmp_path / "x.graph.json"
    copy.write_bytes(Path(plan).read_bytes())
    assert main(["explore", str(copy), "--html", str(copy)]) == 2
    assert "it is a file that is read" in capsys.readouterr().err
    assert copy.read_bytes() == Path(plan).read_bytes()


def test_a_page_that_cannot_be_written(plan, tmp_path, capsys) -> None:
    assert main(["explore", plan, "--html", str(tmp_path / "none" / "x.html")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_python_writes_the_files_of_the_command_line(plan, tmp_path) -> None:
    endings = ("csv", "svg")
    flags = [f"--{ending}={tmp_path / f'command.{ending}'}" for ending in endings]
    assert main(["explore", plan, *flags, "--color", "time"]) == 0
    files = {ending: tmp_path / f"python.{ending}" for ending in endings}
    assert set(es.explore(plan, **files, color="time").files) == set(files.values())
    for ending, path in files.items():
        assert path.read_bytes() == (tmp_path / f"command.{ending}").read_bytes()


#: What a reader of the walk in docs/contributing/architecture.md has to open.
MOST_FILES = 144  # Python files whose functions run; templates and imports apart
_COUNT = """
import inspect, sys
from pathlib import Path
import enginescope
ran = set()
def note(frame, event, argument):
    code = frame.f_code  # bodies of modules and classes run when they are imported
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_name[0] != "<":
        ran.add(code.co_filename)
sys.setprofile(note)
from enginescope.cli.main import main
main(sys.argv[1:])
sys.setprofile(None)
package = str(Path(enginescope.__file__).parent)
print(sum(one.startswith(package) and one.endswith(".py") for one in ran))
"""


def test_the_page_of_a_plan_runs_few_files(data: Path, tmp_path: Path) -> None:
    plan, page = data / "trt86-h200" / "resnet18.graph.json", tmp_path / "p.html"
    command = [sys.executable, "-c", _COUNT, "explore", str(plan), "--html", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) <= MOST_FILES
