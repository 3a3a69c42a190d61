"""``enginescope load`` on the command line: answers, exit codes, files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.fakes.oip_server import oip_server

ON = ("--on", "fake?latency_us=1000")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    path.write_bytes(b"\x08\x07")
    return path


def test_the_answer_comes_first(verb, model, tmp_path) -> None:
    page = tmp_path / "load.html"
    code, out, err = verb("load", model, *ON, "--rate", 200, "--queries", 20, "--html", page)
    assert code == 0
    assert re.match(r"(largest of 20 latencies|p50 latency) .*; p99 not stated: ", out)
    assert "Queueing time" in out
    assert "poisson" in out.lower()
    assert f"written: {page}" in err
    assert "p99 not stated: " in page.read_text()


def test_an_objective_that_is_not_met_ends_with_1(verb, model) -> None:
    arguments = ("--rate", 50, "--queries", 30, "--arrivals", "constant", "--slo", "p50<1us")
    code, out, _ = verb("load", model, *ON, *arguments)
    assert out.startswith(("p50 < 0.00100 ms is missed", "inconclusive"))
    assert code == 1


def test_an_endpoint_needs_no_backend(verb) -> None:
    with oip_server() as server:
        code, out, _ = verb("load", server.model, "--rate", 100, "--queries", 10, "--json")
    document = json.loads(out)
    assert code == 0
    assert document["report"]["backend"] == "oip"
    assert document["report"]["target"] == server.model
    assert document["verdict"] == "measured"


def test_an_endpoint_that_is_not_there_ends_with_3(verb) -> None:
    with oip_server() as server:
        address = server.model
    code, out, err = verb("load", address, "--rate", 100, "--queries", 10)
    assert (code, out) == (3, "")
    assert address in err


def test_a_search_shows_each_rate(verb, model) -> None:
    code, out, err = verb(
        *("load", model, "--on", "fake?latency_us=4000", "--find-max", "--slo", "p50<40ms"),
        *("--repeats", 1, "--queries", 60, "--arrivals", "constant", "--resolution", 90),
    )
    assert code == 0
    assert out.startswith("highest rate that meets p50 < 40.0 ms: ")
    assert "queries/s: met" in err
    assert "Slow" in out


def test_a_scenario_has_its_figures(verb, model) -> None:
    arguments = ("--scenario", "single-stream", "--queries", 70)
    code, out, _ = verb("load", model, *ON, *arguments)
    assert code == 0
    assert out.startswith("single-stream: p90 latency ")
    assert "early-stopping p90" in out


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (("--find-max",), "--find-max without --slo"),
        (("--trace", "times.txt", "--rate", "5"), "--rate and --trace"),
        (("--warmup", "0"), "--rate"),
    ],
)
def test_mistakes_name_the_flag(verb, model, tmp_path, monkeypatch, arguments, flag) -> None:
    monkeypatch.chdir(tmp_path)
    Path("times.txt").write_text("0\n1\n")
    code, _, err = verb("load", model, *ON, *arguments)
    assert code == 2
    assert flag in err
