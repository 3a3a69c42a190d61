"""``enginescope lottery`` on the stand-in for TensorRT, and on ONNX Runtime."""

import hashlib
import json
from pathlib import Path

import pytest

from enginescope.store.archive import Store
from enginescope.store.machine_records import SPREADS
from tests.analysis.verdicts.test_build_spread import SPREAD, sides
from tests.fakes import models

QUICK = ("--builds", "3", "--processes", "2", "--iterations", "24")


ON = ("--on", "trt:fp16", "--shape", "x:3x4")


@pytest.fixture
def model(use, in_process, tmp_path) -> Path:
    use("8.6.0")
    return models.perceptron(tmp_path / "net.onnx")


def test_tensorrt_builds_each_engine_anew(model, verb, tmp_path) -> None:
    page, table = tmp_path / "page.html", tmp_path / "table.md"
    files = ("--json", "--html", page, "--markdown", table)
    code, out, err = verb("lottery", model, *ON, *QUICK, *files)
    assert code == 0, err
    report = json.loads(out)["report"]
    assert report["made"] == "engine"
    assert [build["changed_layers"] for build in report["builds"]] == [0, 0, 0]
    assert {build["outputs"] for build in report["builds"]} == {"A"}
    assert report["spread"]["timing_cache_sha256"] is None
    assert not list((tmp_path / "store").glob("engines/*"))
    assert "| build |" in table.read_text(encoding="utf-8")
    assert "uilds of net.onnx" in page.read_text(encoding="utf-8")  # or "No difference … between"


def test_a_pinned_timing_cache_is_read_by_every_build_and_kept(model, verb, tmp_path) -> None:
    cache = tmp_path / "net.cache"
    on = ("--on", f"trt:fp16?timing_cache={cache}", "--shape", "x:3x4")
    assert verb("build", model, *on, "-o", tmp_path / "net.engine")[0] == 0
    before = cache.read_bytes()
    code, out, err = verb("lottery", model, *ON, "--timing-cache", cache, *QUICK)
    assert code == 0, err
    digest = hashlib.sha256(before).hexdigest()
    assert f"built anew with the timing cache {digest[:12]}" in " ".join(out.split())
    assert cache.read_bytes() == before
    code, _, err = verb("lottery", model, *on, *QUICK)
    assert code == 2
    assert "--timing-cache" in err


@pytest.mark.usefixtures("in_process")
def test_onnx_runtime_answers_on_one_screen(verb, convnet, tmp_path) -> None:
    code, out, err = verb("lottery", convnet, *QUICK)
    assert code == 0, err
    lines = out.splitlines()
    assert f"builds of {convnet.name} " in lines[0]
    assert "processes of one build vary by " in " ".join(lines[:2])
    assert "95 % CI" in out
    assert "the graph that ONNX Runtime optimizes" in " ".join(out.split())
    assert "identical bits in all builds" in out
    assert "cmp-" in err
    assert (tmp_path / "store" / "build-spreads.json").is_file()


@pytest.fixture
def recorded(tmp_path) -> Store:
    """A store of one build tagged ``a``, another, 2 % faster, tagged ``b``; and their spread."""
    store = Store(tmp_path / "store")
    for tag, runs in zip("ab", sides(), strict=True):
        for run in runs:
            store.save(run, tags=[tag])
    SPREADS.record(store.path, SPREAD)
    return store


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "a", "b"),
        ("gate", "b", "--baseline", "a", "--max-regression", "1%"),
        ("upgrade", "--old", "a", "--new", "b", "--max-regression", "1%"),
    ],
)
def test_verdicts_on_single_builds_are_withheld(recorded, verb, arguments) -> None:
    _, out, _ = verb(*arguments, "--json")
    assert '"build-spread"' in out
    assert "builds of net.onnx differ by 2 %" in out
    assert "W-BUILD-SPREAD" in out
    (recorded.path / SPREADS.file).unlink()
    _, out, _ = verb(*arguments, "--json")
    assert "build-spread" not in out
