"""``depth`` ended from outside keeps the inputs that stored runs name, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from enginescope.services.accuracy.depth_run import SavedInputs
from tests.depth_models import depth_model, scene


def test_inputs_of_stored_runs_stay(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    kept = SavedInputs(tmp_path / "inputs")
    for number in (1, 2, 3):
        kept.keep(number, tmp_path / "a")
    kept.drop_but(1)
    assert [one.name for one in (tmp_path / "inputs").iterdir()] == ["1.npz"]
    later = SavedInputs(tmp_path / "inputs")
    for number in (1, 2):
        later.keep(number, tmp_path / "a")
    later.drop_but(0)  # the first is of an earlier run
    assert [one.name for one in (tmp_path / "inputs").iterdir()] == ["1.npz"]


def test_without_a_stored_run_no_folder_stays(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    kept = SavedInputs(tmp_path / "inputs")
    kept.drop_but(0)
    kept.keep(1, tmp_path / "a")
    kept.drop_but(0)
    assert not (tmp_path / "inputs").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_interrupted_while_timing_nothing_stays(tmp_path, number) -> None:
    net = depth_model(tmp_path / "net.onnx")
    scene(tmp_path / "a", tmp_path / "b", "view", 3)
    out, work = tmp_path / "out", tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-m", "enginescope", "depth", "--engines", net]
    command += ["--image", tmp_path / "a" / "view.png", "--iterations", 10**9]
    command += ["--store", tmp_path / "store", "--output-dir", out]
    process = subprocess.Popen(
        [str(one) for one in command],
        env=os.environ | {"TMPDIR": str(work)},
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (out / "inputs" / "1.npz").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline, "not timed"
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else 128 + number)
    assert not out.exists()
    assert not list(work.glob("enginescope-*"))
    assert "interrupted; 0 of 1 runs are stored" in said
    assert said.count("interrupted") == 1
