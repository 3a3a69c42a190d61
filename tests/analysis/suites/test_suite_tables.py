from io import BytesIO

import pytest

from enginescope.analysis.frames import to_parquet
from enginescope.analysis.suites import suite_table
from enginescope.analysis.suites.suite_row import run_figures
from enginescope.analysis.suites.suite_view import perf_tables
from enginescope.records.suite.suite import CellStatus
from tests.analysis.gated_runs import crashed, process, with_device_latency
from tests.suites.made import cell, result, row, timed

CUDA = ("CUDAExecutionProvider", 90, 3.0)
CPU = ("CPUExecutionProvider", 10, 1.0)
TRT = [
    ("TensorrtExecutionProvider", 75, 2.0), ("CUDAExecutionProvider", 20, 0.5),
    ("CPUExecutionProvider", 5, 0.5),
]  # fmt: skip
TRT_FIGURES = {"device_memory": 3.0 * 2**20, "load": 4_500.0}


def zoo():
    """Two models; the first on everything that the scripts knew."""
    return result(
        [
            timed(cell("net"), 20.0),
            timed(cell("net", "ort-cuda"), 8.0, providers=[CUDA, CPU]),
            timed(cell("net", "ort-trt"), 5.0, providers=TRT, figures=TRT_FIGURES),
            timed(cell("net", "trt"), 4.0),
            timed(cell("net", "ort-cpu:fp16"), 25.0),
            row(cell("bert"), CellStatus.TIMED_OUT, reason="did not end within 8 s"),
            row(cell("bert", "ort-cuda"), CellStatus.WRONG, reason="y: too far"),
        ]
    )


def table(name: str):
    return next(one for one in perf_tables(zoo()) if one.name == name)


def lines(name: str, made=None) -> list[dict]:
    (found,) = (one for one in perf_tables(made or zoo()) if one.name == name)
    return [dict(zip(found.headers, one, strict=True)) for one in found.rows]


def parquet_of(columns: dict, numbers=frozenset({"figure"})):
    parquet = pytest.importorskip("pyarrow.parquet")
    return parquet.read_table(BytesIO(to_parquet(columns, numbers=numbers)))


def test_speed_up_is_counted_from_the_baseline_at_each_shape() -> None:
    made = zoo()
    assert suite_table.speed_ups(made)["net-ort-trt-None"] == 4.0
    assert suite_table.speed_ups(made)["net-ort-cpu-None"] == 1.0
    assert "bert-ort-cpu-None" not in suite_table.speed_ups(made)
    assert suite_table.speed_ups(result(made.rows, baseline="ort-cuda"))["net-ort-cpu-None"] == 0.4
    times = {("ort-cpu", 1): 2.0, ("ort-cpu", 8): 12.0, ("fake", 1): 1.0, ("fake", 8): 3.0}
    made = result([timed(cell("net", spec, batch=n), ms) for (spec, n), ms in times.items()])
    assert [suite_table.speed_ups(made)[f"net-fake-{batch}"] for batch in (1, 8)] == [2.0, 4.0]


def test_a_row_for_each_cell_metric_and_python() -> None:
    columns = suite_table.tidy_columns(zoo())
    assert tuple(columns) == suite_table.COLUMNS
    assert len({len(one) for one in columns.values()}) == 1
    found = list(zip(columns["cell"], columns["metric"], columns["value"], strict=True))
    assert ("net-ort-trt-None", "latency", 5.0) in found
    assert ("net-ort-trt-None", "nodes:TensorrtExecutionProvider", 75) in found
    assert ("net-ort-trt-None", "kernel_time:TensorrtExecutionProvider", 2.0) in found
    assert ("net-ort-trt-None", "speed_up", 4.0) in found
    assert len(found) == len({one[:2] for one in found})
    at = columns["cell"].index("bert-ort-cpu-None")  # without a figure, one row
    assert columns["cell"].count("bert-ort-cpu-None") == 1
    assert (columns["metric"][at], columns["value"][at]) == (None, None)
    assert (columns["status"][at], columns["reason"][at]) == ("timed_out", "did not end within 8 s")
    columns = suite_table.tidy_columns(result([row(cell("net")), row(cell("net", "ort-cpu@old"))]))
    told = zip(columns["backend"], columns["environment"], columns["spec"], strict=True)
    assert list(told) == [("ort-cpu", None, "ort-cpu"), ("ort-cpu", "old", "ort-cpu@old")]


def test_runs_of_several_processes_stand_beside_the_one_shown() -> None:
    several = timed(cell("net", processes=3), 2.0, runs=("r0", "r1", "r2"))
    columns = suite_table.tidy_columns(result([several, timed(cell("alone"), 1.0)]))
    found = zip(columns["model"], columns["processes"], columns["runs"], strict=True)
    assert set(found) == {("net", 3, "r0 r1 r2"), ("alone", 1, None)}


def test_names_and_columns_are_the_scripts() -> None:
    names = ("fail", "success", "latency", "metrics", "status", "session", "system_info")
    assert tuple(one.name for one in perf_tables(zoo())) == names
    assert table("fail").headers == ("model", "ep", "error type", "error message")
    first = [f"ORT-CPUFp32 \n{what}" for what in ("mean (ms)", "90th percentile (ms)")]
    assert table("latency").headers[:4] == ("Model", *first, "ORT-CUDAFp32 \nmean (ms)")
    assert "ORT-TRTFp16 \npeak memory usage (MiB)" in table("latency").headers
    assert table("status").headers == (
        "Model",
        *("ORT-CPUFp32", "ORT-CUDAFp32", "ORT-TRTFp32", "TRTFp32", "ORT-CUDAFp16", "ORT-TRTFp16"),
        "TRTFp16",
        "ort-cpu:fp16",  # which they had no name for
    )


def test_a_name_of_the_scripts_is_of_one_python() -> None:
    there = {"onnxruntime": "1.16.3"}
    made = result(
        [
            timed(cell("a", "ort-cuda@old"), 4.0, versions=there),
            timed(cell("a", "ort-cuda"), 2.0),
            timed(cell("b", "ort-cuda@old"), 6.0, versions=there),
            row(cell("b", "ort-trt@old"), CellStatus.FAILED, versions=there),
        ]
    )
    latency = lines("latency", made)
    assert [one["ORT-CUDAFp32 \nmean (ms)"] for one in latency] == [2.0, None]
    assert [one["ort-cuda@old \nmean (ms)"] for one in latency] == [4.0, 6.0]
    assert [(one["version"], one["device"]) for one in lines("success", made)] == [
        ("1.16.3", "ort-cuda@old"),
        ("1.31.1", "ORT-CUDAFp32"),
        ("1.16.3", "ort-cuda@old"),
    ]
    # this Python has none of its own, so that the name is free
    assert [one["ep"] for one in lines("fail", made)] == ["ORT-TRTFp32"]
    info = {one["Spec"]: one["Version"] for one in lines("system_info", made)}
    assert info["ONNX Runtime"] == "1.16.3; 1.31.1"


def test_the_scripts_tables_have_their_figures_and_units() -> None:
    net, bert = lines("status")
    assert (net["ORT-CPUFp32"], net["TRTFp32"], net["ORT-TRTFp16"]) == ("Pass", "Pass", None)
    assert (bert["ORT-CPUFp32"], bert["ORT-CUDAFp32"], bert["TRTFp32"]) == ("Fail", "Fail", None)
    assert [(one["ep"], one["error type"], one["error message"]) for one in lines("fail")] == [
        ("ORT-CPUFp32", "runtime error", "timed out: did not end within 8 s"),
        ("ORT-CUDAFp32", "result accuracy issue", "wrong: y: too far"),
    ]
    net, bert = lines("latency")
    assert (net["ORT-TRTFp32 \nmean (ms)"], net["ORT-TRTFp32 \n90th percentile (ms)"]) == (5.0, 5.5)
    assert net["ORT-TRTFp32 \npeak memory usage (MiB)"] == 3.0
    assert net["TRT v CUDA EP fp32 \ngain (mean) (%)"] == pytest.approx(100 * (8 - 5) / 8)
    assert net["EP v Standalone TRT fp32 \ngain (mean) (%)"] == pytest.approx(100 * (4 - 5) / 4)
    assert net["TRT v CUDA EP fp16 \ngain (mean) (%)"] is None
    assert set(bert.values()) == {"bert", None}
    (net,) = lines("metrics")
    assert net["% CUDA operators (not fall back to CPU)"] == 0.9
    assert (net["Total TRT operators"], net["Total operators"]) == (75, 100)
    assert net["% TRT operator"] == 0.75
    assert (net["Total TRT execution time"], net["Total execution time"]) == (2_000.0, 3_000.0)
    assert net["% TRT execution time"] == pytest.approx(2 / 3)
    found = lines("success")
    devices = ["ORT-CPUFp32", "ORT-CUDAFp32", "ORT-TRTFp32", "TRTFp32", "ort-cpu:fp16"]
    assert [one["device"] for one in found] == devices
    first = found[0]
    assert (first["engine"], first["version"], first["fp16"]) == ("onnxruntime", "1.31.1", False)
    assert (first["QPS"], first["average_latency_ms"], first["test_times"]) == (50.0, 20.0, 200)
    assert first["latency_variance"] == pytest.approx(1e3 * 0.002**2)  # of seconds, as they had it
    assert found[3]["engine"] == "tensorrt"
    net, bert = lines("session")
    assert net["ORT-TRTFp32 \nsession creation time (s)"] == 4.5
    made = timed(cell("net", "ort-trt"), 5.0, figures={"load": 700.0, "cold_load": 9_000.0})
    (cold,) = lines("session", result([made]))
    assert cold["ORT-TRTFp32 \nsession creation time (s)"] == 9.0
    assert cold["ORT-TRTFp32 \nsecond session creation time (s)"] == 0.7
    assert net["ORT-TRTFp32 \nsecond session creation time (s)"] is None
    assert bert["ORT-CPUFp32 \nsession creation time (s)"] is None


def test_what_copies_take_is_told_where_requests_were_timed_without() -> None:
    """As medians of the same requests in turn; the difference is of the two medians."""
    found = {one.metric: one.value for one in run_figures(with_device_latency(process(4.0), 0.75))}
    assert found["device_latency"] == pytest.approx(0.75 * found["latency"])
    assert found["copies"] == pytest.approx(0.25 * found["latency"])
    assert not {"device_latency", "copies"} & {one.metric for one in run_figures(process(4.0))}
    columns = suite_table.tidy_columns(result([row(cell("net", "ort-cuda"), figures=found)]))
    units = dict(zip(columns["metric"], columns["unit"], strict=True))
    values = dict(zip(columns["metric"], columns["value"], strict=True))
    assert (units["device_latency"], units["copies"]) == ("ms", "ms")
    assert values["copies"] == found["copies"]


def test_a_run_that_failed_has_no_figures() -> None:
    assert run_figures(crashed()) == ()


def test_parquet_holds_the_same_table_with_every_figure_and_sign() -> None:
    columns = suite_table.tidy_columns(zoo())
    found = parquet_of(columns, suite_table.NUMBERS)
    assert (found.to_pydict(), str(found.schema.field("value").type)) == (columns, "double")
    assert str(found.schema.field("precision").type) == "string"
    columns = {
        "figure": [0.1 + 0.2, 5e-324, -0.0, 7, float("inf"), float("-inf"), None],
        "text": ["", "null", '"a",\n\\b', "中\0", "x" * (3 << 20), "1.5", None],
    }
    found = parquet_of(columns).to_pydict()
    assert (found, str(found["figure"][2])) == (columns, "-0.0")
    (nan,) = parquet_of({"figure": [float("nan")]}).to_pydict()["figure"]
    assert nan != nan
    assert parquet_of({"figure": []}).to_pydict() == {"figure": []}


def test_a_name_of_the_scripts_is_of_its_python_and_precision() -> None:
    made = result(
        [
            timed(cell("a", "ort-cuda:fp16"), 2.0),
            timed(cell("a", "ort-trt:fp16@old"), 1.0),
            row(cell("a", "ort-trt:fp16"), CellStatus.UNSUPPORTED),
        ]
    )
    (line,) = lines("latency", made)
    assert line["ORT-TRTFp16 \nmean (ms)"] == 1.0
    assert line["ort-trt:fp16 \nmean (ms)"] is None
    assert line["TRT v CUDA EP fp16 \ngain (mean) (%)"] == 50.0
    half = cell("net", "ort-cpu:fp16")
    for codes, called in (((), "fp16"), (("W-NOT-FP16",), None)):
        suite = result([timed(half, 2.0, warnings=codes)])
        assert set(suite_table.tidy_columns(suite)["precision"]) == {called}
        (success,) = lines("success", suite)
        assert success["fp16"] is (called == "fp16")


def test_two_variants_of_a_provider_never_share_a_name_and_the_tables_join() -> None:
    one, two = "ort-cpu?intra_op_num_threads=1", "ort-cpu?intra_op_num_threads=2"
    made = result(
        [
            timed(cell("a", one), 4.0),
            timed(cell("a", "ort-cpu"), 2.0),
            timed(cell("b", two), 6.0),
            row(cell("b", "ort-cpu"), CellStatus.FAILED),
            timed(cell("b", "trt"), 1.0),
            timed(cell("b", "trtexec"), 3.0),
            row(cell("a", two), CellStatus.CRASHED),
        ]
    )
    success, failed = lines("success", made), lines("fail", made)
    devices = [(line["model_name"], line["device"]) for line in success]
    assert devices == [*zip("aabbb", [one, "ORT-CPUFp32", two, "TRTFp32", "trtexec"], strict=True)]
    by_model = {line["Model"]: line for line in lines("latency", made)}
    status = {line["Model"]: line for line in lines("status", made)}
    for line in success:
        name, device = line["model_name"], line["device"]
        assert by_model[name][f"{device} \nmean (ms)"] == line["average_latency_ms"]
        assert status[name][device] == "Pass"
    for line in failed:
        assert status[line["model"]][line["ep"]] == "Fail"
    assert [(line["model"], line["ep"]) for line in failed] == [("b", "ORT-CPUFp32"), ("a", two)]


def test_one_row_per_cell_holds_what_the_tidy_table_holds() -> None:
    made = zoo()
    columns, tidy = suite_table.cell_columns(made), suite_table.tidy_columns(made)
    assert [*columns][: len(suite_table.CELL_COLUMNS)] == [*suite_table.CELL_COLUMNS]
    assert columns["cell"] == [one.cell.key for one in made.rows]
    assert len({len(values) for values in columns.values()}) == 1
    latencies = dict(zip(columns["cell"], columns["latency_ms"], strict=True))
    for cell_key, metric, value in zip(tidy["cell"], tidy["metric"], tidy["value"], strict=True):
        if metric == "latency":
            assert latencies[cell_key] == value
    assert [value for value in columns["speed_up"] if value is not None] == [
        one for one, name in zip(tidy["value"], tidy["metric"], strict=True) if name == "speed_up"
    ]
    failed = [at for at, status in enumerate(columns["status"]) if status != "ok"]
    assert failed
    assert all(columns["latency_ms"][at] is None for at in failed)


def test_a_column_has_the_type_that_it_declares() -> None:
    """A number in a column of texts ended a suite with a crash, when its table was written."""
    done = timed(cell("net", batch=8), 2.0, runs=("r0", "r1"), versions={"onnxruntime": "1.2"})
    for columns in (
        suite_table.tidy_columns(result([done])),
        suite_table.cell_columns(result([done])),
    ):
        for name in set(suite_table.COLUMNS) & set(columns):
            kind = int | float if name in suite_table.NUMBERS else str
            assert all(value is None or isinstance(value, kind) for value in columns[name]), name
