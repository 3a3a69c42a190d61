"""``enginescope lottery`` on the stand-in for TensorRT, and on ONNX Runtime."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest

from tests.fakes import loading, models

QUICK = ("--builds", "3", "--processes", "2", "--iterations", "24")


@pytest.fixture
def use(monkeypatch):
    """Put the stand-in where this process and its workers find it."""
    with ExitStack() as stack:

        def loaded(version: str = "8.6.0", fault: str = ""):
            return stack.enter_context(loading.loaded(version, fault))

        yield loaded


def test_tensorrt_builds_each_engine_anew(use, verb, tmp_path) -> None:
    use()
    model = models.perceptron(tmp_path / "net.onnx")
    page, table = tmp_path / "page.html", tmp_path / "table.md"
    code, out, err = verb(
        "lottery",
        model,
        "--on",
        "trt:fp16",
        "--shape",
        "x:3x4",
        *QUICK,
        "--json",
        "--html",
        page,
        "--markdown",
        table,
    )
    assert code == 0, err
    report = json.loads(out)["report"]
    assert report["made"] == "engine"
    assert [build["changed_layers"] for build in report["builds"]] == [0, 0, 0]
    assert {build["outputs"] for build in report["builds"]} == {"A"}
    assert report["spread"]["timing_cache_sha256"] is None
    assert not list((tmp_path / "store").glob("engines/*"))
    assert "| build |" in table.read_text(encoding="utf-8")
    assert "Builds of net.onnx" in page.read_text(encoding="utf-8")
