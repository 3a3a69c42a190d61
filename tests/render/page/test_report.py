import csv
import io
import json

import numpy as np
import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.core.record import replace
from enginescope.records.samples import QueryTrace
from enginescope.render.page import export
from enginescope.render.page import report as report_module
from enginescope.render.page.report import write_report
from tests.render.runs import EVIL, failed_run, imported_run, measured_run

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


def strict(data: bytes) -> dict:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(data, parse_constant=refuse)


def test_summary_holds_the_figures_unrounded_of_runs_in_order() -> None:
    view = RunView(measured_run())
    (run,) = strict(export.summary_json([view]))["runs"]
    assert run["run"] == view.id
    assert run["headline"] == "latency"
    (summary,) = run["summaries"]
    assert summary["median_ms"] == view.latency.median_ms
    assert summary["median_interval"]["low"] == view.latency.median_interval.low
    p99 = next(one for one in summary["percentiles"] if one["p"] == 99)
    assert p99["needed_n"] == 459
    assert (p99["mark"] is None) is (p99["interval"] is not None)
    assert run["throughput"]["per_s"] == view.throughput_per_s
    assert run["layer_sum"]["ratio"] == view.layer_sum_ratio
    assert {one["name"] for one in run["phases"]} == {"load", "first_inference"}
    assert next(one["code"] for one in run["notices"]) == "W-LOAD"
    views = [RunView(measured_run()), RunView(failed_run())]
    assert [one["run"] for one in strict(export.summary_json(views))["runs"]] == [
        one.id for one in views
    ]


def test_report_holds_the_record_and_the_slowest_layers() -> None:
    view = RunView(measured_run())
    (run,) = strict(export.report_json([view], topk=5))["runs"]
    assert run["record"]["command"] == "enginescope bench squeezenet.onnx --on ort-cpu"
    assert run["record"]["environment"]["versions"] == {"onnxruntime": "1.31.1"}
    assert run["record"]["stop"]["rule"] == "precision"
    times = [one["time_ms"] for one in run["top_layers"]]
    assert len(times) == 5
    assert times == sorted(times, reverse=True)
    assert times[0] == max(row.time_ms for row in view.layers)
    assert run["layers_total"] == 40
    assert run["samples"] == [{"metric": "latency", "steady_state": 600, "warm_up": 5}]
    trace = QueryTrace(**dict.fromkeys(QueryTrace.__struct_fields__, np.arange(3.0)))
    run = replace(measured_run(), trace=trace)
    (reported,) = strict(export.report_json([RunView(run)]))["runs"]
    assert "trace" not in reported["record"]


def test_failed_and_imported_runs_say_what_is_known() -> None:
    (run,) = strict(export.report_json([RunView(failed_run())]))["runs"]
    assert run["outcome"] == "crashed"
    assert run["record"]["outcome"]["message"] == "the worker died while loading the model"
    assert run["headline"] is None
    assert run["throughput"] is None
    assert run["summaries"] == []
    assert run["layer_sum"] is None
    (run,) = strict(export.report_json([RunView(imported_run())]))["runs"]
    assert run["reported"][0]["min_ms"] == 0.8
    assert run["throughput"] == {
        "per_s": 1234.5,
        "unit": "queries",
        "definition": "as trtexec printed it",
    }


def read(data: bytes) -> list[dict[str, str]]:
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    assert all(None not in row for row in rows)
    assert all(None not in row.values() for row in rows)
    return rows


def test_summary_has_a_row_per_run_and_metric() -> None:
    views = [RunView(measured_run()), RunView(imported_run()), RunView(failed_run())]
    rows = read(export.summary_csv(views))
    assert [(row["run"], row["metric"]) for row in rows] == [
        ("7f3ac01944de", "latency"),
        ("0123456789ab", "trtexec_latency"),
        ("0123456789ab", "gpu_compute"),
        ("deadbeef0001", ""),
    ]
    latency = views[0].latency
    assert float(rows[0]["median_ms"]) == latency.median_ms
    assert float(rows[0]["median_low_ms"]) == latency.median_interval.low
    assert float(rows[0]["p99_ms"]) == latency.p99_ms
    assert bool(rows[0]["p99_mark"]) is not bool(rows[0]["p99_low_ms"])
    assert (rows[0]["throughput_unit"], rows[1]["throughput_unit"]) == ("items", "queries")
    assert rows[2]["throughput_per_s"] == ""
    assert (rows[3]["outcome"], rows[3]["median_ms"], rows[3]["p99_ms"]) == ("crashed", "", "")


def test_series_hold_every_sample_and_percentiles_go_from_least_to_greatest() -> None:
    run = measured_run()
    rows = read(export.latency_series_csv([RunView(run)]))
    steady = [row for row in rows if row["phase"] == "steady_state"]
    assert [float(row["value_ms"]) for row in steady] == run.samples[0].values_ms.tolist()
    assert [float(row["start_ms"]) for row in steady] == run.samples[0].start_ms.tolist()
    warm_up = [row for row in rows if row["phase"] == "warm_up"]
    assert [float(row["value_ms"]) for row in warm_up] == run.samples[0].warmup_ms.tolist()
    assert {row["start_ms"] for row in warm_up} == {""}
    assert [int(row["i"]) for row in warm_up] == list(range(5))
    rows = read(export.latency_percentiles_csv([RunView(measured_run())]))
    values = [float(row["value_ms"]) for row in rows]
    assert values == sorted(values)
    by_p = {float(row["p"]): row for row in rows}
    assert {1, 50, 90, 99, 99.5, 99.9} <= set(by_p)
    assert by_p[99]["needed_n"] == "459"
    assert by_p[99.9]["mark"] == "effective-samples"
    assert all(bool(row["mark"]) or bool(row["low_ms"]) for row in rows)
    assert read(export.latency_percentiles_csv([RunView(failed_run())])) == []


def test_layers_are_sorted_and_complete_and_defused() -> None:
    rows = read(export.per_layer_times_csv([RunView(imported_run())]))
    assert [row["name"] for row in rows] == ["stem", EVIL, "Reformat | copy", "fc"]
    assert [float(row["time_ms"]) for row in rows] == [0.3, 0.2, 0.15, 0.05]
    assert rows[0]["tactic"] == "'=HYPERLINK(1)"
    assert rows[0]["onnx_nodes"] == "Conv_0;Relu_1"
    assert [row["precision"] for row in rows] == ["INT8", "INT8", "FP32", "FP16"]
