"""What ``explore`` shows and writes when asked: drawings, a page, limits, nodes, memory."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.render.plans import plan_headline
from tests.cli.plans.conftest import ENGINE

SVG = "{http://www.w3.org/2000/svg}"


def test_limits_nodes_and_the_story_of_the_build_are_shown(explore, convnet, log) -> None:
    printed = explore("--gpu", "NVIDIA H200", "--top", 3).out
    assert "Furthest from the limits of H200" in printed
    assert "The 3 layers that lose most would save at most" in " ".join(printed.split())
    printed = explore("--gpu", "NVIDIA H200", "--top", 1).out
    assert "The layer that loses most would save at most" in " ".join(printed.split())
    table = explore("--onnx", convnet, "--top", 4).out.partition("ONNX nodes that cost most")[2]
    assert "Conv" in table
    assert "shares its time out" in " ".join(table.split())
    assert " nodes are in 18 layers" in " ".join(table.split())
    printed = explore("--build-log", log).out
    for title in ("Layers after each step", "Chosen against fastest tried", "What tuning cost"):
        assert title in printed


def test_pictures_are_of_the_whole_a_part_or_what_is_meant(explore, tmp_path) -> None:
    whole, part, path = (tmp_path / f"{name}.svg" for name in ("whole", "part", "x"))
    assert f"written: {whole}" in explore("--svg", whole, "--color", "precision").err
    explore("--svg", part, "--beam", "head/pool,1")
    boxes = [len(list(ElementTree.parse(one).getroot().iter())) for one in (whole, part)]
    assert boxes[0] > boxes[1] > 5
    assert "head/pool" in part.read_text()
    assert "stage0/down" not in part.read_text()
    explore("--svg", path, "--filter", "type:Pooling")
    found = texts(path)
    assert any(" of " in one and "nodes" in one for one in found)
    assert "left out" in found
    assert "Pooling" in found
    assert "Convolution" not in found


def test_times_alone_have_a_page_but_no_limits_and_no_picture(
    data, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path))
    page, profile = tmp_path / "times.html", data / "trt86-h200-process" / f"{ENGINE}.profile.json"
    assert main(["import", str(profile)]) == 0
    for option in (("--gpu", "H200"), ("--svg", str(tmp_path / "x.svg"))):
        assert main(["explore", "latest", *option]) == 2
        assert "no plan" in capsys.readouterr().err
    assert main(["explore", "latest", "--html", str(page)]) == 0
    assert "layer times" in page.read_text(encoding="utf-8")


def test_memory_alone_takes_no_other_files(explore, tmp_path) -> None:
    shown = explore("--memory").out
    assert "packed into one block" in shown
    assert "What the memory consists of" in shown or "weights" in shown
    data = json.loads(explore("--memory", "--json").out)
    assert data["peak"]["bytes"] == max(one["bytes"] for one in data["layers"])
    assert data["arena"] is None
    page = tmp_path / "page.html"
    assert "--html with --memory" in explore("--memory", "--html", page, status=2).err
    assert "is not an ONNX model" in explore("--fits", "seq=1GiB", status=2).err
    assert "is not a size" in explore("--fits", "much", status=2).err


def texts(path: Path) -> list[str]:
    return [one.text or "" for one in ElementTree.parse(path).getroot().iter(f"{SVG}text")]


def test_two_files_at_once(explore, tmp_path) -> None:
    pytest.importorskip("vl_convert")
    files = {one: tmp_path / f"x.{one}" for one in ("svg", "png")}
    said = explore(*(word for one, path in files.items() for word in (f"--{one}", path))).err
    assert all(f"written: {path}" in said for path in files.values())
    assert files["png"].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("coloring", ["type", "precision", "time", "lint"])
def test_every_colouring_has_its_legend(explore, tmp_path, coloring) -> None:
    path = tmp_path / "x.svg"
    explore("--svg", path, "--color", coloring)
    words = " | ".join(texts(path))
    legend = {"type": "convolution", "precision": "FP16", "time": " ms: ", "lint": "nothing found"}
    assert legend[coloring] in words
    assert ("PLAN" in words) == (coloring == "lint")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--filter", "type:Reformat"], "--png FILE"),
        (["--highlight", "x"], "--highlight"),
        (["--color", "time"], "it is of the drawing"),
        (["--constants"], "it is of the drawing"),
        (["--fold", "module"], "it is of the drawing"),
        (["--beam", "head/pool,1"], "--svg FILE"),
        (["--svg", "x.svg", "--filter", "type:Nothing"], "no layer of type 'Nothing'"),
        (["--svg", "x.svg", "--filter", "("], "regular expression"),
        (["--svg", "x.svg", "--png", "x.svg"], "two results"),
        *(
            (["--svg", "x.svg", "--fold", "module", *option], "it is of the whole plan")
            for option in (("--beam", "x,1"), ("--filter", "conv"))
        ),
    ],
)
def test_what_cannot_be_drawn(explore, tmp_path, monkeypatch, options, message) -> None:
    monkeypatch.chdir(tmp_path)
    said = explore(*options, status=2)
    assert message in said.err
    assert said.out == ""


def test_colours_by_time_without_times(plan, tmp_path, capsys) -> None:
    bare = tmp_path / "bare.json"
    bare.write_bytes(Path(plan).read_bytes())
    assert main(["explore", str(bare), "--svg", str(tmp_path / "x.svg"), "--color", "time"]) == 2
    assert "--profile FILE" in capsys.readouterr().err


def test_modules_are_one_box_each_and_nothing_to_fold_is_drawn_whole(
    data, tmp_path, explore
) -> None:
    path, modules = tmp_path / "x.svg", data / "trt86-h200" / "resnet18.graph.json"
    assert main(["explore", str(modules), "--svg", str(path), "--fold", "module"]) == 0
    drawn = path.read_text(encoding="utf-8")
    assert all(f">layer{number}</text>" in drawn for number in (1, 2, 3, 4))
    assert "layer1.0/conv1" not in drawn
    path.unlink()
    said = explore("--svg", path, "--fold", "block").err
    assert "drawn expanded: no block of layers repeats (I-NOT-FOLDED)" in said
    assert path.exists()


def test_everything_that_was_asked_for_is_on_the_page(explore, log, convnet, tmp_path):
    page = tmp_path / "plan.html"
    asked = ("--gpu", "NVIDIA H200", "--onnx", convnet, "--build-log", log)
    captured = explore("--html", page, *asked)
    assert f"written: {page}" in captured.err
    assert "Furthest from the limits of H200" in captured.out
    text = page.read_text(encoding="utf-8")
    for expected in ("at the limits of H200", "Layers after each step", "nodes are in", "Findings"):
        assert expected in text, expected


def test_a_page_and_the_screen_share_their_work(explore, tmp_path, monkeypatch) -> None:
    counts = Counter()
    for name in ("lint", "foldings", "plan_graph"):
        own = getattr(plan_headline, name)

        def counted(*given, own=own, name=name):
            counts[name] += 1
            return own(*given)

        monkeypatch.setattr(plan_headline, name, counted)
    explore("--html", tmp_path / "plan.html")
    assert counts == {"lint": 1, "foldings": 1, "plan_graph": 1}


def test_with_json_the_document_is_alone_on_standard_output(explore, tmp_path) -> None:
    page, none = tmp_path / "plan.html", tmp_path / "none.html"
    assert json.loads(explore("--html", page, "--json").out)["name"] == ENGINE
    assert page.stat().st_size > 100_000
    captured = explore("--html", none, "--gpu", "H201", status=2)
    assert captured.out == ""
    assert "H201" in captured.err
    assert not none.exists()


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
