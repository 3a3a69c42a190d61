import json

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.records.samples import QueryTrace
from enginescope.render.page.export import report_json, summary_json
from tests.render.runs import failed_run, imported_run, measured_run


def strict(data: bytes) -> dict:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(data, parse_constant=refuse)


def test_summary_holds_the_figures_unrounded_of_runs_in_order() -> None:
    view = RunView(measured_run())
    (run,) = strict(summary_json([view]))["runs"]
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
    assert [one["run"] for one in strict(summary_json(views))["runs"]] == [one.id for one in views]


def test_report_holds_the_record_and_the_slowest_layers() -> None:
    view = RunView(measured_run())
    (run,) = strict(report_json([view], topk=5))["runs"]
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
    (reported,) = strict(report_json([RunView(run)]))["runs"]
    assert "trace" not in reported["record"]


def test_failed_and_imported_runs_say_what_is_known() -> None:
    (run,) = strict(report_json([RunView(failed_run())]))["runs"]
    assert run["outcome"] == "crashed"
    assert run["record"]["outcome"]["message"] == "the worker died while loading the model"
    assert run["headline"] is None
    assert run["throughput"] is None
    assert run["summaries"] == []
    assert run["layer_sum"] is None
    (run,) = strict(report_json([RunView(imported_run())]))["runs"]
    assert run["reported"][0]["min_ms"] == 0.8
    assert run["throughput"] == {
        "per_s": 1234.5,
        "unit": "queries",
        "definition": "as trtexec printed it",
    }
