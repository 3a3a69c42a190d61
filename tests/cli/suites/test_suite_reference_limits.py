"""A reference that meets a limit is run once, and again when the limit is raised."""

import json
import threading
from pathlib import Path

import pytest

import enginescope.services.accuracy.validation_run as validation_run
from enginescope.cli.main import main
from enginescope.core.errors import BackendError
from enginescope.core.record import replace
from enginescope.records.run.job import Watcher
from enginescope.records.suite.suite import CellStatus
from enginescope.runner.jobs import subject_of
from enginescope.services.suites.cell import CellContext, checked_cell, run_cell
from enginescope.services.suites.reference_cache import ReferenceCache
from tests.suites.endless import endless
from tests.suites.made import cell

pytest.importorskip("onnxruntime")
REFERENCE = "ort-cpu?intra_op_num_threads=1&inter_op_num_threads=1"


@pytest.fixture
def answered(monkeypatch) -> list[tuple[str, int]]:
    """Backend and number of samples of each process that is asked for outputs."""
    asked: list[tuple[str, int]] = []
    real = validation_run.answered

    def counted(job, *more):
        asked.append((str(job.backend), len(job.answering.samples)))
        return real(job, *more)

    monkeypatch.setattr(validation_run, "answered", counted)
    return asked


def rows(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()]


def test_a_reference_that_times_out_is_run_once_and_again_with_more_time(
    tmp_path, answered, capsys
) -> None:
    model = endless(tmp_path / "endless.onnx")
    file = tmp_path / "limits.toml"
    on = [f"ort-cpu?intra_op_num_threads={count}" for count in (2, 3, 4)]
    file.write_text(f'[suite]\nmodels = ["{model}"]\nbackends = {json.dumps(on)}\nlayers = false\n')
    options = ["suite", str(file), "--mode", "both", "--store", str(tmp_path)]
    main([*options, "--timeout", "4s"])
    folder = tmp_path / "suites" / "limits"
    assert [one["status"] for one in rows(folder)] == ["timed_out"] * 3
    assert all("the reference failed" in one["reason"] for one in rows(folder))
    assert answered.count((REFERENCE, 4)) == 1
    assert "--timeout" in rows(folder)[0]["hint"]

    answered.clear()
    main([*options, "--timeout", "4s"])
    assert answered == []  # known to be bad
    main([*options, "--timeout", "6s"])
    assert answered.count((REFERENCE, 4)) == 1
    assert len(rows(folder)) == 6
    capsys.readouterr()


def test_a_backend_that_is_not_there_is_known_before_its_reference_runs(
    tmp_path, convnet, answered
) -> None:
    if "CUDAExecutionProvider" in pytest.importorskip("onnxruntime").get_available_providers():
        pytest.skip("this ONNX Runtime has the provider")
    one = cell("net", "ort-cuda", mode="validate")
    one = replace(one, job=replace(one.job, subject=subject_of(convnet)))
    found = checked_cell(one, Watcher(), ReferenceCache(tmp_path))
    assert found.status is CellStatus.UNSUPPORTED
    assert "CUDAExecutionProvider is not in" in (found.reason or "")
    assert [spec for spec, _ in answered] == ["ort-cuda"]


@pytest.mark.parametrize("mode", ["benchmark", "validate", "both"])
def test_unsupported_is_unsupported_in_every_mode(mode, tmp_path) -> None:
    from onnx import TensorProto, helper, save_model

    x, y = (helper.make_tensor_value_info(name, TensorProto.BFLOAT16, [4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Sin", ["x"], ["y"])], "none", [x], [y])
    opsets = [helper.make_opsetid("", 22)]
    model = tmp_path / "no_kernel.onnx"
    save_model(helper.make_model(graph, ir_version=10, opset_imports=opsets), model)
    one = cell("no_kernel", "ort-cpu?intra_op_num_threads=2", mode=mode)
    one = replace(one, job=replace(one.job, subject=subject_of(model)))
    assert run_cell(one, CellContext(sink=lambda _run: None)).status is CellStatus.UNSUPPORTED


def test_cells_side_by_side_wait_for_one_reference(tmp_path) -> None:
    known, job, runs = ReferenceCache(tmp_path), cell("a").job, []
    inside, proceed = threading.Event(), threading.Event()

    def run():
        runs.append(1)
        inside.set()
        proceed.wait(20)
        raise BackendError("it ran out of time")

    caught = []

    def ask() -> None:
        with pytest.raises(BackendError) as found:
            known.once(job, (), tmp_path / "out", run)
        caught.append(found.value)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert inside.wait(20)
    proceed.set()
    for thread in threads:
        thread.join(20)
    assert len(runs) == 1
    assert len(caught) == 3
