"""A suite of providers and TensorRT in two Pythons on an H200, and one of one process a cell."""

import shutil

import pytest

from enginescope.analysis.suites.suite_table import speed_ups
from enginescope.analysis.suites.suite_view import perf_tables
from enginescope.core.record import replace
from enginescope.formats.suites.suite_file import read_suite_file
from enginescope.records.suite.suite import CellRow, CellStatus, Suite, SuiteResult
from enginescope.render.suites.suite_answer import backend_names, coverage_text, options_sentence
from enginescope.render.suites.suite_page import suite_page
from enginescope.runner.suites.suite_cells import cells_of, resume_state
from enginescope.runner.suites.suite_plan import suite_of
from enginescope.store.suite_folder import SuiteFolder
from tests.conftest import DATA

OF_ONE_PROCESS = DATA / "suite-one-process"
MODELS = ("resnet18", "small_convnet", "small_transformer")
HERE, THERE = ("ort-cuda", "ort-cuda:fp16"), ("ort-trt:fp16@trt86", "trt:fp16@trt86")


@pytest.fixture(scope="module")
def result() -> SuiteResult:
    return SuiteFolder(DATA / "trt86-h200-suite").result()


@pytest.fixture(scope="module")
def by_name(result) -> dict[tuple[str, str], CellRow]:
    return {(one.cell.model, one.cell.spec.partition("?")[0]): one for one in result.rows}


def test_what_the_libraries_of_a_python_run_is_run(result, by_name) -> None:
    assert {one.processes for one in result.plan.cells} == {3}
    for model in MODELS:
        for spec in (*HERE, *THERE):
            assert by_name[model, spec].status is CellStatus.OK
            assert len(by_name[model, spec].runs) == 3
        for spec in ("ort-trt:fp16", "trt:fp16"):
            row = by_name[model, spec]
            assert row.status is CellStatus.UNSUPPORTED
            assert row.hint
    assert "libnvinfer.so.10 is missing" in (by_name["resnet18", "ort-trt:fp16"].reason or "")
    assert "TensorRT is not installed" in (by_name["resnet18", "trt:fp16"].reason or "")


def test_each_row_has_the_versions_of_its_own_python(by_name) -> None:
    for (_, spec), row in by_name.items():
        wanted = ("1.16.3", "8.6.0") if spec.endswith("@trt86") else ("1.31.1", None)
        assert (row.versions["onnxruntime-gpu"], row.versions.get("tensorrt")) == wanted, spec


def test_speed_up_is_the_baseline_s_median_by_the_cell_s(result, by_name) -> None:
    found = speed_ups(result)
    for model in MODELS:
        base = by_name[model, "ort-cuda"].figure("latency")
        for spec in (*HERE, *THERE):
            row = by_name[model, spec]
            assert found[row.cell.key] == pytest.approx(base / row.figure("latency"), rel=1e-12)
    assert found[by_name["resnet18", "trt:fp16@trt86"].cell.key] == pytest.approx(3.27, abs=0.005)


def test_copies_are_not_hidden(by_name) -> None:
    for (_, spec), row in by_name.items():
        if not spec.startswith("ort-") or row.status is not CellStatus.OK:
            continue
        resident, latency = row.figure("device_latency"), row.figure("latency")
        assert resident is not None
        assert latency is not None
        assert 0.9 * latency < resident < 1.05 * latency  # small inputs: copies are little here


def test_coverage_by_nodes_where_onnx_runtime_tells_them(by_name) -> None:
    said = {key: coverage_text(row) for key, row in by_name.items()}
    assert said["resnet18", "ort-cuda"] == "CUDA 49 of 49 nodes, 100 % of kernel time"
    unknown = "TensorRT nodes not known, 100 % of kernel time"
    assert said["resnet18", "ort-trt:fp16@trt86"] == unknown
    assert said["resnet18", "trt:fp16@trt86"] is None


def test_gains_as_the_scripts_counted_them(result, by_name) -> None:
    means = {key: row.figure("mean") for key, row in by_name.items()}
    tables = {table.name: table for table in perf_tables(result)}
    latency = tables["latency"]
    found = {row[0]: dict(zip(latency.headers, row, strict=True)) for row in latency.rows}
    for model in MODELS:
        ours = means[model, "ort-trt:fp16@trt86"]
        for gain, other in (
            ("TRT v CUDA EP fp16 \ngain (mean) (%)", "ort-cuda:fp16"),
            ("EP v Standalone TRT fp16 \ngain (mean) (%)", "trt:fp16@trt86"),
        ):
            base = means[model, other]
            assert found[model][gain] == pytest.approx(100 * (base - ours) / base, rel=1e-12)
    assert len(tables["status"].rows) == 3


def test_page_and_names(result) -> None:
    there = ("ort-trt:fp16@trt86 + 3 options", "trt:fp16@trt86 + 2 options")
    names = list(backend_names(result).values())
    assert names == [*HERE, *there, "ort-trt:fp16", "trt:fp16"]
    assert "options of trt:fp16@trt86: tactic_sources=-CUDNN" in (options_sentence(result) or "")
    page = suite_page(result).decode()
    assert "TensorRT nodes not known" in page
    conditions = page[page.index('id="conditions"') :]
    assert "versions @trt86" in conditions
    assert "python 3.10.13, onnxruntime-gpu 1.16.3, tensorrt 8.6.0" in conditions


@pytest.fixture
def suite(tmp_path) -> Suite:
    for name in ("a", "b"):
        (tmp_path / "zoo" / name).mkdir(parents=True)
        (tmp_path / "zoo" / name / "model.onnx").write_bytes(name.encode())
    file = read_suite_file(OF_ONE_PROCESS / "nightly.toml")
    return suite_of(file, tmp_path, name="nightly", samples=tmp_path)


def test_its_cells_are_still_done(suite) -> None:
    rows = SuiteFolder(OF_ONE_PROCESS).rows()
    cells = cells_of(suite)
    assert [one.key for one in cells] == list(rows)
    state = resume_state(cells, rows, None)
    assert [len(one) for one in (state.done, state.known_bad, state.todo)] == [2, 2, 0]


def test_of_more_processes_they_are_other_cells_but_for_answers_alone(suite) -> None:
    several = cells_of(replace(suite, processes=3))
    assert {one.processes for one in several} == {3}
    assert not {one.key for one in several} & set(SuiteFolder(OF_ONE_PROCESS).rows())
    assert cells_of(replace(suite, processes=1)) == cells_of(suite)
    once, thrice = (cells_of(replace(suite, mode="validate", processes=count)) for count in (1, 3))
    assert once == thrice


def test_its_rows_are_of_one_process_each(tmp_path) -> None:
    result = SuiteFolder(shutil.copytree(OF_ONE_PROCESS, tmp_path / "nightly")).result()
    assert [one.status for one in result.rows] == [CellStatus.OK, CellStatus.FAILED] * 2
    assert {one.runs for one in result.rows} == {()}
    assert [one.run_ids for one in result.rows] == [(one.run,) for one in result.rows]
    assert result.plan.suite.processes == 1
