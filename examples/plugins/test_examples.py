"""Every example, through the command line, as its user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from enginescope.core.errors import UnsupportedError
from enginescope_examples import sampler

if not os.environ.get("ENGINESCOPE_TEST_STRICT"):
    pytest.importorskip("enginescope_examples")

FOLDER = Path(__file__).parent / "enginescope_examples"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def model(home: Path) -> Path:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    graph = helper.make_graph([node], "small", [x], [y])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    onnx.save(made, home / "small.onnx")
    return home / "small.onnx"


def run(home: Path, *arguments: object, code: int = 0) -> str:
    command = [sys.executable, "-m", "enginescope", *map(str, arguments)]
    environment = {**os.environ, "ENGINESCOPE_HOME": str(home / "store")}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == code, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_an_example_has_forty_lines(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= 40


def test_doctor_names_every_example(home: Path) -> None:
    found = json.loads(run(home, "doctor", "--json"))["plugins"]
    names = {one["name"] for one in found if one["usable"]}
    assert names >= {
        *("backend onnx-reference", "task mean-error", "reader stopwatch", "exporter stopwatch"),
        *("rule example", "sampler amdgpu", "verb slowest"),
    }


def test_the_backend_the_exporter_and_the_reader(home: Path, model: Path) -> None:
    run(home, "bench", model, "--on", "onnx-reference", "--iterations", "5", "--warmup", "1")
    table = home / "times.csv"
    run(home, "runs", "export", "latest", table, "--format", "stopwatch")
    assert len(table.read_text().splitlines()) == 6
    read = " ".join(run(home, "import", table).split())
    assert "stopwatch" in read
    assert "5 samples" in read
    table.write_text("case,latency_ms\na,fast\n")
    run(home, "import", table, code=2)


def test_the_task(home: Path, model: Path) -> None:
    data, right = home / "data", home / "right"
    for folder in (data, right):
        folder.mkdir()
    values = np.array([[-1, 2, 3], [4, 5, 6]], dtype=np.float32)
    np.savez(data / "one.npz", x=values)
    np.save(right / "one.npy", np.maximum(values, 0) + 0.5)
    arguments = ("--task", "mean-error", "--data", data, "--targets", right, "--json")
    found = json.loads(run(home, "validate", model, "--on", "ort-cpu", *arguments))
    assert found["task"]["sides"][0]["values"] == {"mae": 0.5}


def test_the_rule(home: Path) -> None:
    plan, profile = home / "net.graph.json", home / "net.profile.json"
    names = ("first", "second")
    layers = [
        {"Name": name, "LayerType": "Convolution", "Inputs": [], "Outputs": []} for name in names
    ]
    plan.write_text(json.dumps({"Layers": layers, "Bindings": []}))
    times = [
        {"name": n, "timeMs": 10 * t, "averageMs": t, "percentage": 50.0}
        for n, t in zip(names, (3, 1), strict=True)
    ]
    profile.write_text(json.dumps([{"count": 10}, *times]))
    shown = run(home, "lint", plan, "--profile", profile, "--select", "EXAMPLE1")
    assert "first takes 75 % of the engine's time" in shown
    assert "EXAMPLE1" in run(home, "explain", "dominant-layer")


def test_the_sampler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "CARDS", tmp_path)
    with pytest.raises(UnsupportedError):
        sampler.AmdSampler("0")
    facts = {"gpu_busy_percent": "42", "hwmon/hwmon3/power1_average": "31000000"}
    for name, text in facts.items():
        file = tmp_path / "card0" / "device" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    read = sampler.AmdSampler("0").sample(1)
    assert (read["gpu_utilization_pct"], read["power_w"]) == (42.0, 31.0)
    assert read["sm_clock_mhz"] is None


def test_the_verb(home: Path) -> None:
    assert "onnx-reference" in run(home, "slowest", "--most", "1")
    assert "usage: enginescope slowest" in run(home, "slowest", "--help")
    assert "slowest" in run(home, "--help", "--all")
