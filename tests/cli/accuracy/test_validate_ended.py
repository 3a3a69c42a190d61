"""A comparison that is ended from outside leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.models import perceptron

pytestmark = pytest.mark.slow
#: Far longer than a test takes; never waited for.
MANY = "100000"


def began(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until answers lie on the disk."""
    deadline = time.monotonic() + 60
    while not any(name.endswith(".npz") for *_, names in os.walk(folder) for name in names):
        assert process.poll() is None, process.stderr
        assert time.monotonic() < deadline, "no outputs"
        time.sleep(0.05)


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_what_was_written_goes(tmp_path, number, keeps) -> None:
    (tmp_path / "model").mkdir()
    model = perceptron(tmp_path / "model" / "net.onnx")
    work, out = tmp_path / "work", tmp_path / "out"
    work.mkdir()
    side = "ort-cpu?graph_optimization_level=disable"
    command = [sys.executable, "-m", "enginescope", "validate", str(model), "--on", side]
    command += ["--samples", MANY, "--store", str(tmp_path / "store")]
    process = subprocess.Popen(
        [*command, *(["--output", str(out)] if keeps else [])],
        env=os.environ | {"TMPDIR": str(work)},
        stderr=subprocess.DEVNULL,
    )
    began(out if keeps else work, process)
    process.send_signal(number)
    assert process.wait(60) == (130 if number == signal.SIGINT else 128 + number)
    assert not list(work.glob("enginescope-*"))
    assert not out.exists()
    assert [one.name for one in model.parent.iterdir()] == ["net.onnx"]
