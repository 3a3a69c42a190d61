import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from enginescope.core.errors import FormatError
from enginescope.records.run.job import StopRule, Subject, WarmUp, Workload
from enginescope.records.run.run import Run
from enginescope.records.suite.suite import CellStatus
from enginescope.runner.fleet.machines import REMOTE_CELL, packed_task, unpacked_returned
from enginescope.services.suites import remote_cell
from enginescope.services.suites.remote_cell import run_remote_cell
from enginescope.store.archive import Store
from tests.runner.fleet.cells import cell

QUICK = Workload(warmup=WarmUp(time_ms=0, iterations=1), stop=StopRule(iterations=20))


def nothing(backend: str = "fake", *, cache: Path | None = None, **more):
    job = {"workload": QUICK, "layer_profile": False, "engine_cache": cache and str(cache)}
    return cell(backend=backend, subject=Subject(name="nothing", kind="synthetic"), job=job, **more)


def test_row_and_runs_of_all_processes_come_back(tmp_path) -> None:
    def imported(data: bytes) -> Run:
        (tmp_path / "run.zip").write_bytes(data)
        return Store(tmp_path / "store").import_zip(tmp_path / "run.zip")

    asked = nothing(options={"fault": "segfault"}, retries=1)
    found = unpacked_returned(run_remote_cell(packed_task(asked, "suite x")))
    assert found.row.status is CellStatus.CRASHED
    assert (found.row.cell, found.row.attempts, len(found.runs)) == (asked, 2, 2)
    run = imported(found.runs[-1])
    assert (run.id, run.command) == (found.row.run, "suite x")
    found = unpacked_returned(run_remote_cell(packed_task(nothing(processes=3), None)))
    ids = [imported(data).id for data in found.runs]
    assert (found.row.runs, len(set(ids))) == (tuple(ids), 3)
    assert found.row.run in ids


def test_the_fleet_s_word_for_a_gpu_counts_where_it_placed_the_cell() -> None:
    asked = nothing(gpu="a kind of no driver")
    placed = unpacked_returned(run_remote_cell(packed_task(asked, None)))
    assert placed.row.status is CellStatus.OK
    assert placed.row.cell.needs == asked.needs
    not_placed = unpacked_returned(run_remote_cell(packed_task(asked, None, is_placed=False)))
    assert not_placed.row.status is CellStatus.UNSUPPORTED


def test_what_a_machine_lacks_or_cannot_read_is_said(tmp_path) -> None:
    (tmp_path / "file").write_bytes(b"")
    asked = nothing(cache=tmp_path / "file" / "engines")
    assert unpacked_returned(run_remote_cell(packed_task(asked, None))).row.status is CellStatus.OK
    file = tmp_path / "net.onnx"
    subject = Subject(name="net.onnx", kind="onnx", path=str(file), sha256="5" * 64)
    asked = packed_task(cell(subject=subject), None)
    absent = unpacked_returned(run_remote_cell(asked)).row
    assert absent.status is CellStatus.FAILED
    assert f"{file} on {platform.node()} cannot be read there: No such file" in absent.reason
    file.write_bytes(b"another")
    assert "differs there" in unpacked_returned(run_remote_cell(asked)).row.reason
    for data in (b"", b"\x93\x01\x02\x03", b"\x81\xa4cell\x01"):
        with pytest.raises(FormatError, match="a remote task") as caught:
            run_remote_cell(data)
        assert "every machine needs the same" in (caught.value.hint or "")


def test_as_files(tmp_path) -> None:
    (tmp_path / "task").write_bytes(packed_task(nothing(), None))
    command = [sys.executable, "-m", REMOTE_CELL]
    subprocess.run([*command, tmp_path / "task", tmp_path / "returned"], check=True, timeout=100)
    assert unpacked_returned((tmp_path / "returned").read_bytes()).row.status is CellStatus.OK
    assert sorted(one.name for one in tmp_path.iterdir()) == ["returned", "task"]


def test_a_link_in_the_place_of_the_cache_is_not_followed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(remote_cell.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(remote_cell, "_is_writable", lambda _: False)
    folder = tmp_path / "theirs"
    folder.mkdir()
    asked = nothing(cache=tmp_path / "none")
    place = tmp_path / f"enginescope-engines-{os.getuid()}"
    assert remote_cell._with_usable_cache(asked, tmp_path / "last").job.engine_cache == str(place)
    place.rmdir()
    place.symlink_to(folder)
    other = remote_cell._with_usable_cache(asked, tmp_path / "last")
    assert other.job.engine_cache == str(tmp_path / "last")
