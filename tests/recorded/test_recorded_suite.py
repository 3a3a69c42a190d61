"""A suite that was run before cells had several processes."""

import shutil
from pathlib import Path

import pytest

from enginescope.core.record import replace
from enginescope.formats.suites.suite_file import read_suite_file
from enginescope.records.suite.suite import CellStatus, Suite
from enginescope.runner.suites.suite_cells import cells_of, resume_state
from enginescope.runner.suites.suite_plan import suite_of
from enginescope.store.suite_folder import SuiteFolder

RECORDED = Path(__file__).parents[1] / "data" / "suite-one-process"


@pytest.fixture
def suite(tmp_path) -> Suite:
    for name in ("a", "b"):
        (tmp_path / "zoo" / name).mkdir(parents=True)
        (tmp_path / "zoo" / name / "model.onnx").write_bytes(name.encode())
    file = read_suite_file(RECORDED / "nightly.toml")
    return suite_of(file, tmp_path, name="nightly", samples=tmp_path)


def test_its_cells_are_still_done(suite) -> None:
    rows = SuiteFolder(RECORDED).rows()
    cells = cells_of(suite)
    assert [one.key for one in cells] == list(rows)
    state = resume_state(cells, rows, None)
    assert [len(one) for one in (state.done, state.known_bad, state.todo)] == [2, 2, 0]


def test_of_more_processes_they_are_other_cells(suite) -> None:
    rows = SuiteFolder(RECORDED).rows()
    several = cells_of(replace(suite, processes=3))
    assert {one.processes for one in several} == {3}
    assert not {one.key for one in several} & set(rows)
    assert cells_of(replace(suite, processes=1)) == cells_of(suite)


def test_answers_alone_are_of_no_number_of_processes(suite) -> None:
    once, thrice = (cells_of(replace(suite, mode="validate", processes=count)) for count in (1, 3))
    assert once == thrice


def test_its_rows_are_of_one_process_each(tmp_path) -> None:
    folder = tmp_path / "nightly"
    shutil.copytree(RECORDED, folder)
    result = SuiteFolder(folder).result()
    assert [one.status for one in result.rows] == [CellStatus.OK, CellStatus.FAILED] * 2
    assert {one.runs for one in result.rows} == {()}
    assert [one.run_ids for one in result.rows] == [(one.run,) for one in result.rows]
    assert result.plan.suite.processes == 1
