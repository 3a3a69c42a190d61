"""``validate`` and ``depth``, ended from outside: nothing stays but what stored runs name."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from enginescope.services.accuracy.depth_run import SavedInputs
from tests.depth_models import depth_model, scene
from tests.fakes.models import perceptron

signals = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])


def ended(folder: Path, number: int, is_under_way: Callable[[], bool], *arguments: object) -> str:
    """Start a verb, send the signal once it is under way, and return its standard error."""
    work = folder / "work"
    work.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "enginescope", *map(str, arguments), "--store", folder / "store"],
        env=os.environ | {"TMPDIR": str(work)},
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not is_under_way():
        assert process.poll() is None
        assert time.monotonic() < deadline, "not under way"
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else 128 + number)
    assert not list(work.glob("enginescope-*"))
    return said


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [False, True])
@signals
def test_outputs_of_validate_go(tmp_path, number, keeps) -> None:
    (tmp_path / "model").mkdir()
    model, out = perceptron(tmp_path / "model" / "net.onnx"), tmp_path / "out"
    kept = ("--output", out) if keeps else ()
    side = "ort-cpu?graph_optimization_level=disable"
    many = ("--samples", 100_000)  # far longer than a test takes; never waited for
    ended(
        tmp_path,
        number,
        lambda: any(
            name.endswith(".npz")
            for *_, names in os.walk(out if keeps else tmp_path / "work")
            for name in names
        ),
        *("validate", model, "--on", side, *many, *kept),
    )
    assert not out.exists()
    assert [one.name for one in model.parent.iterdir()] == ["net.onnx"]


@pytest.mark.slow
@signals
def test_depth_while_timing(tmp_path, number) -> None:
    net, out = depth_model(tmp_path / "net.onnx"), tmp_path / "out"
    scene(tmp_path / "a", tmp_path / "b", "view", 3)
    said = ended(
        tmp_path,
        number,
        (out / "inputs" / "1.npz").exists,
        *("depth", "--engines", net, "--image", tmp_path / "a" / "view.png"),
        *("--iterations", 10**9, "--output-dir", out),
    )
    assert not out.exists()
    assert "interrupted; 0 of 1 runs are stored" in said
    assert said.count("interrupted") == 1


def test_inputs_of_stored_runs_stay_and_without_one_no_folder(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"a")

    def left(folder: Path, numbers: tuple[int, ...], *, stored: int) -> list[str] | None:
        saved = SavedInputs(folder)
        for number in numbers:
            saved.keep(number, tmp_path / "a")
        saved.drop_but(stored)
        return [one.name for one in folder.iterdir()] if folder.exists() else None

    inputs = tmp_path / "inputs"
    assert left(inputs, (1, 2, 3), stored=1) == ["1.npz"]
    assert left(inputs, (1, 2), stored=0) == ["1.npz"]  # the first is of an earlier run
    assert left(tmp_path / "none", (), stored=0) is None
    assert left(tmp_path / "none", (1,), stored=0) is None
