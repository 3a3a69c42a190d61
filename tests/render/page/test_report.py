import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.render.page import report as report_module
from enginescope.render.page.report import write_report
from tests.render.runs import failed_run, imported_run, measured_run

DATA_FILES = {
    *("report.json", "report.md", "report.html", "summary.json", "summary.csv"),
    *("latency_series.csv", "latency_percentiles.csv", "per_layer_times.csv"),
}
PLOTS = {"latency_hist.png", "percentiles.png", "per_layer_time.png"}


def test_one_run_gives_every_file_by_its_known_name(tmp_path) -> None:
    pytest.importorskip("vl_convert")
    written = write_report([RunView(measured_run())], tmp_path / "new" / "folder")
    assert {path.name for path in written.files} == DATA_FILES | PLOTS
    assert {path.name for path in written.folder.iterdir()} == DATA_FILES | PLOTS
    assert all(path.stat().st_size for path in written.files)
    assert written.skipped == ()
    assert written.page == tmp_path / "new" / "folder" / "report.html"


def test_a_failed_run_gives_a_report_without_plots_and_says_why(tmp_path) -> None:
    written = write_report([RunView(failed_run())], tmp_path)
    assert {path.name for path in written.files} == DATA_FILES
    assert dict(written.skipped) == {
        "latency_hist.png": "the run has no samples",
        "percentiles.png": "the run has no samples",
        "per_layer_time.png": "the run has no layer times",
    }


def test_without_the_plots_extra_the_rest_is_written(tmp_path, monkeypatch) -> None:
    def refuse(_chart) -> bytes:
        raise MissingDependencyError("Python package vl_convert", why="w", hint="pip install it")

    monkeypatch.setattr(report_module, "png_bytes", refuse)
    written = write_report([RunView(measured_run())], tmp_path)
    assert {path.name for path in written.files} == DATA_FILES
    assert {name for name, _ in written.skipped} == PLOTS
    assert all(reason.endswith("; pip install it") for _, reason in written.skipped)


def test_several_runs_share_the_files_and_have_plots_of_their_own(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(report_module, "png_bytes", lambda chart: chart.key.encode())
    written = write_report([RunView(measured_run()), RunView(imported_run())], tmp_path)
    names = {path.name for path in written.files}
    assert names >= DATA_FILES
    ends = [one.removeprefix("latency_hist_") for one in names if one.startswith("latency_hist_")]
    assert sorted(ends) == ["resnet18.png", "squeezenet.onnx.png"]
    assert len(names) == len(DATA_FILES) + 6
    twins = [RunView(measured_run()), RunView(measured_run(id="0123456789ab"))]
    named = {path.name for path in write_report(twins, tmp_path / "twins").files}
    assert {f"percentiles_squeezenet.onnx_{run.id}.png" for run in twins} <= named


def test_formats_and_topk_are_those_asked_for(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(report_module, "png_bytes", lambda chart: " ".join(chart.subtitle).encode())
    write_report([RunView(measured_run())], tmp_path, topk=7, formats=("png",))
    assert (tmp_path / "per_layer_time.png").read_bytes().startswith(b"The 7 slowest of 40")
    written = write_report([RunView(measured_run())], tmp_path, formats=("csv", "md"))
    assert {path.suffix for path in written.files} == {".csv", ".md"}
    assert written.page is None


def test_requests_that_make_no_sense(tmp_path) -> None:
    view = RunView(measured_run())
    with pytest.raises(UsageError, match="at least one run"):
        write_report([], tmp_path)
    with pytest.raises(UsageError, match="topk is 0"):
        write_report([view], tmp_path, topk=0)
    with pytest.raises(UsageError, match="'htm' is not a report format") as caught:
        write_report([view], tmp_path, formats=("htm",))
    assert caught.value.hint == "did you mean html?"
