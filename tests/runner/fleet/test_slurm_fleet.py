"""Cells as jobs: submitit's executor of this machine, and what Slurm would be asked."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from enginescope.core.errors import MissingDependencyError
from enginescope.runner.fleet import slurm_fleet
from enginescope.runner.fleet.cell_task import (
    CellTaskResult,
    longest_s,
    packed_returned,
    unpacked_task,
)
from enginescope.runner.fleet.slurm_fleet import SlurmFleet
from tests.runner.fleet.cells import Heard, cell, row

submitit = pytest.importorskip("submitit")


def doing(data: bytes) -> bytes:
    """What a job does here: by the cell's key, dies, fails or comes back."""
    one = unpacked_task(data).cell
    kept = Path(os.environ["FLEET_KEPT"])
    with (kept / one.key).open("a") as file:
        file.write("x")
    if one.key.startswith("dies") or (one.key == "once" and (kept / one.key).stat().st_size == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return packed_returned(CellTaskResult(row=row(one)))


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    monkeypatch.setenv("FLEET_KEPT", str(tmp_path))
    monkeypatch.setattr(slurm_fleet, "_LOOK_S", 0.1)

    def make(cluster: str = "local", **options: str) -> SlurmFleet:
        return SlurmFleet(tmp_path / "jobs", doing, options, cluster)

    return make


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # submitit's own, about files that it leaves open
def test_jobs_come_back_and_lost_ones_are_done_again(fleet, monkeypatch) -> None:
    # how long submitit waits for the result of a job that has ended, for slow file systems
    monkeypatch.setattr(submitit.Job, "_results_timeout_s", 1)
    heard = Heard()
    fleet().run([cell("fine"), cell("once"), cell("dies")], "cmd", heard.watch)
    assert sorted(one.row.cell.key for one in heard.returned) == ["fine", "once"]
    assert sorted(key for key, _ in heard.again) == ["dies", "once"]
    (lost,) = heard.lost
    assert lost.cell.key == "dies"
    assert lost.attempts == 2
    assert "its job was lost 2 times" in lost.reason


def asked(fleet, one) -> dict:
    return fleet("slurm", partition="gpu", account="me")._parameters(one)


def test_what_a_job_asks_for(fleet) -> None:
    gpu = asked(fleet, cell(backend="trt", gpu="H200"))["slurm_additional_parameters"]
    assert gpu == {"partition": "gpu", "account": "me", "gres": "gpu:h200:1"}
    any_gpu = asked(fleet, cell(backend="trt"))["slurm_additional_parameters"]
    assert any_gpu["gres"] == "gpu:1"
    alone = asked(fleet, cell(backend="trt", exclusive=True))["slurm_additional_parameters"]
    assert "exclusive" in alone
    assert "gres" in alone
    on_cpu = asked(fleet, cell())
    assert on_cpu["slurm_additional_parameters"] == {
        "partition": "gpu",
        "account": "me",
        "exclusive": True,
    }
    assert on_cpu["timeout_min"] == 12
    own = fleet("slurm", gres="gpu:a100:2")._parameters(cell(backend="trt", gpu="H200"))
    assert own["slurm_additional_parameters"]["gres"] == "gpu:a100:2"


def test_the_time_of_a_job_covers_what_a_cell_may_take() -> None:
    assert longest_s(cell()) == 720
    assert longest_s(cell(retries=1)) == 1_320
    assert longest_s(cell(processes=3)) == 120 + 3 * 600
    assert longest_s(cell(backend="trt")) == 720 + 7_200
    # both sides say what they take, and answer; only then is it measured
    assert longest_s(cell(mode="validate")) == 120 + 4 * 600
    assert longest_s(cell(mode="both", retries=1)) == 120 + (4 + 2) * 600
    assert longest_s(cell(backend="trt", mode="validate")) == 120 + 4 * 600 + 2 * 7_200
    assert longest_s(cell(precision="fp16")) == 720 + 7_200  # of a model that is made first


def test_the_script_that_slurm_gets(fleet, tmp_path) -> None:
    from submitit.slurm.slurm import _make_sbatch_string

    more = asked(fleet, cell(backend="trt", gpu="H200"))["slurm_additional_parameters"]
    script = _make_sbatch_string(command="run", folder=tmp_path, additional_parameters=more)
    assert "#SBATCH --gres=gpu:h200:1" in script
    assert "#SBATCH --partition=gpu" in script
    alone = asked(fleet, cell())["slurm_additional_parameters"]
    script = _make_sbatch_string(command="run", folder=tmp_path, additional_parameters=alone)
    assert "#SBATCH --exclusive\n" in script


def test_without_submitit(monkeypatch, tmp_path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(MissingDependencyError) as caught:
        SlurmFleet(tmp_path, doing, {})
    assert "enginescope[slurm]" in caught.value.hint
