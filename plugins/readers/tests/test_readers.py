"""Files of other tools through the import: every figure equals the text of the file."""

from __future__ import annotations

import csv
import gzip
import json
import os
import sqlite3
from collections import Counter
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enginescope.core.errors import UsageError
from enginescope.formats.importing.importer import Imported, import_artifacts
from enginescope.records.run.run import Run

if not os.environ.get("ENGINESCOPE_TEST_STRICT"):
    pytest.importorskip("enginescope_readers")

DATA = Path(__file__).parent / "data"
NS, US = Fraction(1, 10**6), Fraction(1, 10**3)


def imported(path: Path, kind: str) -> list[Run]:
    """Return the runs of a file, which the reader of a kind read."""
    found = import_artifacts([path])
    assert [entry.kinds for entry in found.ledger] == [(kind,)]
    return list(found.runs)


def written(folder: Path, value: Any, name: str = "file.json") -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def codes(run: Run) -> list[str]:
    return [notice.code for notice in run.notices]


def exact(text: str, factor: Fraction | int = 1) -> float:
    """Return a printed number times a factor, rounded once."""
    return float(Fraction(text.replace(",", "")) * factor)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_summary_of_nsys_gives_each_kernel_its_time() -> None:
    path = DATA / "nsys_kern_sum.csv"
    (run,) = imported(path, "nsys")
    rows = rows_of(path)
    assert run.profile is not None
    assert run.tool is not None
    layers = run.profile.layers
    assert [layer.name for layer in layers] == [row["Name"] for row in rows]
    totals = [exact(row["Total Time (ns)"], NS) for row in rows]
    assert [layer.total_ms for layer in layers] == totals
    assert [layer.mean_ms for layer in layers] == totals
    assert [layer.share_pct for layer in layers] == [exact(row["Time (%)"]) for row in rows]
    for row in rows:
        assert run.tool.options[row.pop("Name")] == row
    assert (run.profile.source, run.profile.iterations) == ("nsys", 1)
    assert codes(run) == ["I-BENCHMARK-FILE"]
    assert "whole capture" in run.notices[0].message


def test_a_trace_of_nsys_is_added_up_by_name() -> None:
    path = DATA / "nsys_gpu_trace.csv"
    (run,) = imported(path, "nsys")
    rows = rows_of(path)
    counts = Counter(row["Name"] for row in rows)
    assert run.profile is not None
    assert run.tool is not None
    assert [layer.name for layer in run.profile.layers] == list(counts)
    for layer in run.profile.layers:
        own = [Fraction(row["Duration (ns)"]) for row in rows if row["Name"] == layer.name]
        assert layer.total_ms == float(sum(own) * NS)
        assert layer.kind == ("memory" if "memcpy" in layer.name else "kernel")
        assert run.tool.options[layer.name] == {"Instances": str(counts[layer.name])}
    assert [device.name for device in run.environment.devices] == ["NVIDIA GeForce RTX 2080 SUPER"]


def test_json_of_nsys_says_the_same_as_its_csv(tmp_path: Path) -> None:
    for name in ("nsys_kern_sum", "nsys_gpu_trace"):
        rows = [
            {key: _typed(cell) for key, cell in row.items()}
            for row in rows_of(DATA / f"{name}.csv")
        ]
        (from_json,) = imported(written(tmp_path, rows, f"{name}.json"), "nsys")
        (from_csv,) = imported(DATA / f"{name}.csv", "nsys")
        assert from_json.profile == from_csv.profile


def test_json_of_nsys_may_stand_among_lines_of_prose(tmp_path: Path) -> None:
    rows = json.dumps(
        [{"Total Time (ns)": 1500, "Instances": 3, "Name": "k{lambda()#1}"}], indent=1
    )
    api = json.dumps([{"Total Time (ns)": 9, "Num Calls": 1, "Name": "cudaFree"}])
    text = (
        "Processing [net.sqlite] with [cuda_api_sum.py]... \n"
        f"{api}\nProcessing [net.sqlite] with [cuda_gpu_kern_sum.py]... \n{rows}\n"
    )
    for order in (text, f"{rows}\n{api}\n"):
        (run,) = imported(written(tmp_path, order, "net.json"), "nsys")
        assert run.profile is not None
        assert [(one.name, one.total_ms) for one in run.profile.layers] == [
            ("k{lambda()#1}", 0.0015)
        ]
        assert "I-BENCHMARKS-SKIPPED" in codes(run)


def _typed(cell: str) -> Any:
    try:
        return json.loads(cell)
    except ValueError:
        return cell or None


#: Headings of releases of nsys, or of --timeunit, and the factor to ms.
HEADINGS = {
    "2020.5": ("Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name", NS),
    "2021.4": (
        "Time(%),Total Time (ns),Instances,Average (ns),Minimum (ns),Maximum (ns),StdDev (ns),Name",
        NS,
    ),
    "msec": (
        "Time (%),Total Time (ms),Instances,Avg (ms),Med (ms),Min (ms),Max (ms),StdDev (ms),Name",
        Fraction(1),
    ),
    "usec": ("Time (%),Total Time (us),Instances,Name", US),
    "sec": ("Time (%),Total Time (s),Instances,Name", Fraction(1000)),
    "no unit": ("Time(%),Total Time,Instances,Average,Minimum,Maximum,Name", NS),
}


@pytest.mark.parametrize("release", HEADINGS)
def test_the_unit_of_nsys_is_that_of_the_headings(release: str, tmp_path: Path) -> None:
    headings, factor = HEADINGS[release]
    blanks = headings.count(",") - 3
    line = f'75.3,1234.567,3,{"1.5," * blanks}"void k<int, 3>(int)"'
    (run,) = imported(written(tmp_path, f"{headings}\n{line}\n", "k.csv"), "nsys")
    assert run.profile is not None
    (layer,) = run.profile.layers
    assert (layer.name, layer.share_pct) == ("void k<int, 3>(int)", 75.3)
    assert layer.total_ms == exact("1234.567", factor)
    assert ("I-UNIT-ASSUMED" in codes(run)) == (release == "no unit")


def test_reports_of_nsys_in_one_output_are_runs_of_their_own(tmp_path: Path) -> None:
    summary = (DATA / "nsys_kern_sum.csv").read_text()
    trace = (DATA / "nsys_gpu_trace.csv").read_text()
    api = "Time (%),Total Time (ns),Num Calls,Name\n60.0,10,4,cudaFree\n40.0,5,2,cudaMalloc\n"
    text = (
        "Generating SQLite file net.sqlite from net.nsys-rep\n"
        f"Processing [net.sqlite] with [cuda_api_sum.py]... \n{api}\n"
        f"Processing [net.sqlite] with [cuda_gpu_kern_sum.py]... \n\n{summary}\n"
        f"Processing [net.sqlite] with [cuda_gpu_trace.py]... \n{trace}"
    )
    first, second = imported(written(tmp_path, text, "net.csv"), "nsys")
    assert (first.job.subject.name, second.job.subject.name) == ("net 1", "net 2")
    assert first.profile is not None
    assert second.profile is not None
    assert (len(first.profile.layers), len(second.profile.layers)) == (20, 11)
    (skipped,) = [notice for notice in first.notices if notice.code == "I-BENCHMARKS-SKIPPED"]
    assert skipped.evidence["count"] == 3  # the headings and two rows of cuda_api_sum


def test_rows_of_one_kernel_in_several_shapes_stay_apart(tmp_path: Path) -> None:
    text = (
        "Time (%),Total Time (ns),Instances,GridXYZ,BlockXYZ,Name\n"
        '60.0,600,3," 896    1    1","256 1 1",k\n40.0,400,1,"1 1 1","256 1 1",k\n'
    )
    (run,) = imported(written(tmp_path, text, "k.csv"), "nsys")
    assert run.profile is not None
    names = [layer.name for layer in run.profile.layers]
    assert names == ["k <896 1 1, 256 1 1>", "k <1 1 1, 256 1 1>"]


def test_rows_that_are_cut_off_are_counted(tmp_path: Path) -> None:
    lines = (DATA / "nsys_kern_sum.csv").read_text().splitlines()
    text = "\n".join([*lines[:3], "8.9,14865009,8"])
    (run,) = imported(written(tmp_path, text, "k.csv"), "nsys")
    assert run.profile is not None
    assert len(run.profile.layers) == 2
    (lost,) = [notice for notice in run.notices if notice.code == "W-RECORDS"]
    assert lost.evidence["count"] == 1


LAUNCHES = [
    ("void gemm(float *)", 1_000, 8_501_234),
    ("relu", 9_000_000, 9_012_345),
    ("void gemm(float *)", 10_000_000, 18_400_001),
]


def database(path: Path, *, launches: list[tuple[str, int, int | None]] = LAUNCHES) -> Path:
    """Write an export as Nsight Systems documents its tables."""
    with closing(sqlite3.connect(path)) as export, export:
        export.executescript(
            """
            create table StringIds (id integer primary key, value text);
            create table ENUM_CUDA_MEMCPY_OPER (id integer primary key, name text, label text);
            create table TARGET_INFO_GPU (id integer, name text);
            create table TARGET_INFO_CUDA_DEVICE (gpuId integer, cudaId integer, pid integer);
            create table META_DATA_EXPORT (name text, value text);
            create table CUPTI_ACTIVITY_KIND_KERNEL (
                start integer, "end" integer, deviceId integer, demangledName integer,
                shortName integer
            );
            create table CUPTI_ACTIVITY_KIND_MEMCPY (
                start integer, "end" integer, deviceId integer, bytes integer, copyKind integer
            );
            create table CUPTI_ACTIVITY_KIND_MEMSET (start integer, "end" integer, bytes integer);
            create table CUPTI_ACTIVITY_KIND_GRAPH_TRACE (
                start integer, "end" integer, graphId integer
            );
            insert into ENUM_CUDA_MEMCPY_OPER values (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device');
            insert into TARGET_INFO_GPU values (0, 'NVIDIA H100'), (1, 'NVIDIA L4');
            insert into TARGET_INFO_CUDA_DEVICE values (1, 0, 42);
            insert into META_DATA_EXPORT values ('EXPORT_VERSION', '2025.3');
            insert into CUPTI_ACTIVITY_KIND_MEMCPY values (10, 510, 0, 4096, 1), (20, 27, 0, 8, 9);
            insert into CUPTI_ACTIVITY_KIND_MEMSET values (30, 41, 64);
            insert into CUPTI_ACTIVITY_KIND_GRAPH_TRACE values (20000000, 20000777, 5);
            """
        )
        names = list(dict.fromkeys(name for name, _, _ in launches))
        export.executemany("insert into StringIds values (?, ?)", enumerate(names))
        export.executemany(
            "insert into CUPTI_ACTIVITY_KIND_KERNEL values (?, ?, 0, ?, 7)",
            [(start, end, names.index(name)) for name, start, end in launches],
        )
    return path


def test_a_database_of_nsys_is_added_up_by_name(tmp_path: Path) -> None:
    (run,) = imported(database(tmp_path / "net.sqlite"), "nsys")
    assert run.profile is not None
    assert run.tool is not None
    assert {layer.name: layer.total_ms for layer in run.profile.layers} == {
        "[CUDA memcpy Host-to-Device]": 500 / 1e6,
        "[CUDA memcpy kind 9]": 7 / 1e6,
        "[CUDA memset]": 11 / 1e6,
        "void gemm(float *)": (8_500_234 + 8_400_001) / 1e6,
        "relu": 12_345 / 1e6,
        "[CUDA graph 5]": 777 / 1e6,
    }
    assert run.tool.options["void gemm(float *)"] == {"Instances": "2"}
    assert run.tool.options["META_DATA_EXPORT"] == {"EXPORT_VERSION": "2025.3"}
    assert [device.name for device in run.environment.devices] == ["NVIDIA L4"]


def test_a_packed_database_of_nsys_reads_like_the_plain_one(tmp_path: Path) -> None:
    plain = database(tmp_path / "net.sqlite")
    packed = tmp_path / "net.sqlite.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    (one,), (other,) = imported(plain, "nsys"), imported(packed, "nsys")
    assert one.profile == other.profile


def test_launches_without_an_end_are_counted(tmp_path: Path) -> None:
    path = database(tmp_path / "net.sqlite", launches=[*LAUNCHES, ("relu", 30_000_000, None)])
    (run,) = imported(path, "nsys")
    (lost,) = [notice for notice in run.notices if notice.code == "W-RECORDS"]
    assert lost.evidence["count"] == 1


def refused(path: Path) -> str:
    with pytest.raises(UsageError) as error:
        import_artifacts([path])
    return f"{error.value.why}"


def test_a_database_without_kernels_says_how_to_record_them(tmp_path: Path) -> None:
    path = tmp_path / "net.sqlite"
    with closing(sqlite3.connect(path)) as export, export:
        export.execute("create table StringIds (id integer, value text)")
        export.execute("create table TARGET_INFO_GPU (id integer, name text)")
    assert "nsys profile --trace=cuda" in refused(path)


def test_a_damaged_database_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = database(tmp_path / "net.sqlite")
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    assert "SQLite says" in refused(path)


def test_another_database_is_not_of_nsys(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("create table t (id integer)")
    assert "SQLite database" in refused(path)


def test_statistics_of_aiperf_equal_the_text() -> None:
    path = DATA / "aiperf.csv"
    (run,) = imported(path, "aiperf")
    tables = [table.splitlines() for table in path.read_text().split("\n\n")]
    stated = {row["Metric"]: row for row in csv.DictReader(tables[0])}
    single = {row["Metric"]: row["Value"] for row in csv.DictReader(tables[1])}
    assert run.tool is not None
    metrics = {
        "latency": "Request Latency (ms)",
        "time_to_first_token": "Time to First Token (ms)",
        "time_per_token": "Inter Token Latency (ms)",
    }
    summaries = {summary.metric: summary for summary in run.tool.summaries}
    assert summaries.keys() == metrics.keys()
    for metric, heading in metrics.items():
        row = stated[heading]
        assert summaries[metric].figures == {
            "min": exact(row["min"]),
            "max": exact(row["max"]),
            "mean": exact(row["avg"]),
            "median": exact(row["p50"]),
            **{f"p{p}": exact(row[f"p{p}"]) for p in (1, 5, 25, 75, 90, 95, 99)},
        }
    assert run.tool.throughput_per_s == exact(single["Request Throughput (requests/sec)"])
    for heading, row in stated.items():
        assert run.tool.options[heading] == {k: v for k, v in row.items() if k != "Metric"}
    for heading, value in single.items():
        assert run.tool.options[heading] == {"avg": value}
    assert run.printed == summaries["latency"]
    assert run.job.backend.name == "aiperf"


def test_json_of_aiperf_has_all_digits_the_command_and_what_failed() -> None:
    path = DATA / "aiperf_records.json"
    (run,) = imported(path, "aiperf")
    stated = json.loads(path.read_text())["records"]
    assert run.tool is not None
    latency = stated["request_latency"]
    assert run.printed is not None
    assert run.printed.figures == {
        "min": latency["min"],
        "max": latency["max"],
        "mean": latency["avg"],
        "median": latency["p50"],
        **{f"p{p}": latency[f"p{p}"] for p in (1, 5, 25, 75, 90, 95, 99)},
    }
    assert run.tool.throughput_per_s == stated["request_throughput"]["avg"]
    assert run.job.subject.name == "openai/gpt-oss-20b"
    assert run.command is not None
    assert run.command.startswith("aiperf profile -m")
    assert [message.text for message in run.tool.messages] == [
        "11 requests ended with RequestCancellationError: Request was cancelled after 0.000 seconds"
    ]


def test_newer_json_of_aiperf_has_its_metrics_at_the_top(tmp_path: Path) -> None:
    latency = {"unit": "ms", "avg": 2617.75843253125, "p50": 1560.043837, "p99": 10438.0777105999}
    value = {
        "schema_version": "1.3",
        "aiperf_version": "0.10.0",
        "request_throughput": {"unit": "requests/sec", "avg": 0.7460502167796494},
        "request_latency": latency,
        "telemetry_data": {"summary": {}, "endpoints": {}},
        "input_config": {"models": {"items": [{"name": "qwen3.6"}]}},
        "run_info": {"cli_command": "aiperf profile --model 'qwen3.6'"},
        "was_cancelled": False,
    }
    (run,) = imported(written(tmp_path, value), "aiperf")
    assert run.printed is not None
    assert run.printed.mean_ms == latency["avg"]
    assert run.printed.percentiles == ((99.0, latency["p99"]),)
    assert run.environment.versions == {"aiperf": "0.10.0"}
    assert run.job.subject.name == "qwen3.6"
    assert run.tool is not None
    assert run.tool.throughput_per_s == 0.7460502167796494


def test_genai_perf_groups_thousands_and_begins_with_the_highest_percentile(tmp_path: Path) -> None:
    text = (
        "Metric,avg,min,max,p99,p95,p90,p75,p50,p25\n"
        'Time To First Token (ms),"1,146.31",249.48,"3,485.23","3,457.97",3,2,1,640.07,286.52\n'
        'Request Latency (ms),"6,406.20","5,371.47","9,608.72","9,436.13",4,3,2,"5,690.23",1\n'
        "\nMetric,Value\nRequest Throughput (per sec),1.17\n"
    )
    (run,) = imported(written(tmp_path, text, "profile_genai_perf.csv"), "aiperf")
    assert run.tool is not None
    assert run.tool.tool == "genai-perf"
    latency, first = sorted(run.tool.summaries, key=lambda one: one.metric)
    assert (latency.mean_ms, latency.median_ms) == (6406.20, 5690.23)
    assert (latency.percentiles[-1], first.mean_ms) == ((99.0, 9436.13), 1146.31)
    assert run.tool.throughput_per_s == 1.17


def test_tables_of_slices_and_gpus_are_skipped_with_a_notice(tmp_path: Path) -> None:
    head = "Metric,avg,min,max,p50,p90,p95,p99,std\n"
    text = (
        f"=== Overall Benchmark Metrics ===\n\n{head}Request Latency (ms),45.23,1,2,3,4,5,6,7\n\n\n"
        f"=== Time Slice 1 (0.00ms - 5.00ms) ===\n\n{head}Request Latency (ms),48,1,2,3,4,5,6,7\n"
    )
    (run,) = imported(written(tmp_path, text, "slices.csv"), "aiperf")
    assert run.printed is not None
    assert run.printed.mean_ms == 45.23
    (skipped,) = [notice for notice in run.notices if notice.code == "I-BENCHMARKS-SKIPPED"]
    assert skipped.evidence["count"] == 1


def record(number: int, latency: float | None, phase: str = "profiling", error: Any = None) -> str:
    """Return a line of AIPerf's profile_export.jsonl."""
    metrics = {"request_latency": {"value": latency, "unit": "ms"}} if latency is not None else {}
    metadata = {
        "x_request_id": f"r{number}",
        "request_start_ns": 1_759_522_419_000_000_000 + number * 1_000_003,
        "benchmark_phase": phase,
    }
    return json.dumps({"metadata": metadata, "metrics": metrics, "error": error})


def test_records_of_aiperf_are_samples_and_failed_requests_are_not(tmp_path: Path) -> None:
    failure = {"code": 499, "type": "Cancelled", "message": "after 0 s"}
    lines = [
        record(0, 99.0, phase="warmup"),
        record(2, 7936.968269),
        record(1, 8214.202336),
        record(3, None, error=failure),
        record(4, None),
        record(5, 1.0)[:-9],
    ]
    (run,) = imported(written(tmp_path, "\n".join(lines) + "\n", "profile_export.jsonl"), "aiperf")
    assert run.headline is not None
    assert run.headline.values_ms.tolist() == [8214.202336, 7936.968269]  # in order of their starts
    assert run.headline.start_ms is not None
    assert run.headline.start_ms.tolist() == [0.0, 1.000003]
    assert run.tool is not None
    assert [one.text for one in run.tool.messages] == ["1 request ended with Cancelled: after 0 s"]
    counts = {notice.code: notice.evidence.get("count") for notice in run.notices}
    assert counts["I-BENCHMARKS-SKIPPED"] == 1  # of the warm-up
    assert counts["W-RECORDS"] == 2  # without a latency, and cut off


def test_rows_of_perf_analyzer_are_runs_in_microseconds() -> None:
    path = DATA / "perf_analyzer.csv"
    runs = imported(path, "perf_analyzer")
    rows = rows_of(path)
    assert [run.job.subject.name for run in runs] == [
        f"perf_analyzer concurrency {row['Concurrency']}" for row in rows
    ]
    for run, row in zip(runs, rows, strict=True):
        assert run.printed is not None
        assert run.tool is not None
        assert run.printed.median_ms == exact(row["p50 latency"], US)
        assert run.printed.percentiles == tuple(
            (float(p), exact(row[f"p{p} latency"], US)) for p in (90, 95, 99)
        )
        assert run.printed.mean_ms is None
        assert run.tool.throughput_per_s == exact(row["Inferences/Second"])
        assert run.tool.options["Columns"] == row
        assert "I-UNIT-ASSUMED" in codes(run)


def test_verbose_csv_of_perf_analyzer_has_a_mean_and_other_percentiles(tmp_path: Path) -> None:
    text = (
        "Request Rate,Inferences/Second,Client Send,Client Recv,p50 latency,p80 latency,"
        "Avg latency,request/response,response wait\n20,19.5,1,2,4001,5003,4200,3,4\n"
    )
    (run,) = imported(written(tmp_path, text, "rate.csv"), "perf_analyzer")
    assert run.job.subject.name == "rate request rate 20"
    assert run.printed is not None
    assert run.printed.mean_ms == 4.2
    assert run.printed.percentiles == ((80.0, 5.003),)


def test_every_request_of_a_profile_export_is_a_sample(tmp_path: Path) -> None:
    start = 1_700_000_000_123_456_789
    requests = [
        {
            "timestamp": start + 1_000_007,
            "response_timestamps": [start + 3_000_000, start + 9_000_001],
        },
        {"timestamp": start, "response_timestamps": [start + 2_000_003]},
        {"timestamp": start + 5, "response_timestamps": []},
    ]
    value = {
        "experiments": [
            {
                "experiment": {"mode": "concurrency", "value": 2},
                "requests": requests,
                "window_boundaries": [start, start + 9_000_001],
            }
        ],
        "version": "2.59.0",
        "service_kind": "triton",
    }
    (run,) = imported(written(tmp_path, value, "net.json"), "perf_analyzer")
    assert run.headline is not None
    assert run.headline.start_ms is not None
    assert run.headline.values_ms.tolist() == [2_000_003 / 1e6, 7_999_994 / 1e6]
    assert run.headline.start_ms.tolist() == [0.0, 1_000_007 / 1e6]
    assert run.job.subject.name == "net concurrency 2"
    assert run.environment.versions == {"perf_analyzer": "2.59.0"}
    assert "W-RECORDS" in codes(run)


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_results_of_benchmark_app_equal_the_text(suffix: str) -> None:
    path = DATA / f"benchmark_app_results.{suffix}"
    (run,) = imported(path, "benchmark_app")
    text = path.read_text()
    if suffix == "json":
        stated = json.loads(text)["execution_results"]
    else:
        lines = text.partition("Execution results\n")[2].splitlines()
        stated = dict(line.split(";") for line in lines if line)
    assert run.printed is not None
    assert run.tool is not None
    assert run.printed.figures == {
        "min": exact(stated["min latency"]),
        "max": exact(stated["max latency"]),
        "mean": exact(stated["avg latency"]),
        "median": exact(stated["latency (ms)"]),
    }
    assert run.tool.throughput_per_s == exact(stated["throughput"])  # a batch of one
    assert run.tool.options["Execution results"] == stated


def test_throughput_of_a_batch_counts_requests(tmp_path: Path) -> None:
    text = (DATA / "benchmark_app_results.csv").read_text()
    assert "batch size;1\n" in text
    path = written(tmp_path, text.replace("batch size;1\n", "batch size;4\n"), "results.csv")
    (one,) = imported(DATA / "benchmark_app_results.csv", "benchmark_app")
    (run,) = imported(path, "benchmark_app")
    assert one.tool is not None
    assert run.tool is not None
    assert run.tool.throughput_per_s == pytest.approx((one.tool.throughput_per_s or 0) / 4)


#: As the benchmark_app of C++ writes them.
CPP = {
    "csv": (
        "Command line parameters;\nd;CPU;\n\nConfiguration setup;\ntopology;net;\nbatch size;1;\n\n"
        "Execution results;\nMedian latency (ms);1.25;\nAverage latency (ms);1.5;\n"
        "Min latency (ms);1;\nMax latency (ms);9.75;\nthroughput;640.5;\n\n"
        "Group Latencies;\nData shape;Median;Average;Min;Max;\nx[1,3];7;7;7;7;\n"
    ),
    "json": {
        "configuration_setup": {"topology": "net", "batch_size": 1},
        "execution_results": {
            "latency_median": 1.25,
            "percentile_boundary": 50,
            "latency_avg": 1.5,
            "latency_min": 1.0,
            "latency_max": 9.75,
            "throughput": 640.5,
        },
    },
}


@pytest.mark.parametrize("suffix", CPP)
def test_results_of_the_cpp_benchmark_app_have_other_names(suffix: str, tmp_path: Path) -> None:
    (run,) = imported(written(tmp_path, CPP[suffix], f"report.{suffix}"), "benchmark_app")
    assert run.printed is not None
    assert run.tool is not None
    assert run.printed.figures == {"min": 1.0, "max": 9.75, "mean": 1.5, "median": 1.25}
    assert (run.job.subject.name, run.tool.throughput_per_s) == ("net", 640.5)


def test_another_percentile_of_benchmark_app_is_not_the_median(tmp_path: Path) -> None:
    results = {"latency_median": 3.5, "percentile_boundary": 90, "latency_avg": 1.5}
    cpp = written(tmp_path, {"execution_results": {**results, "throughput": 1.0}}, "cpp.json")
    text = "Execution results\nlatency (90 percentile) (ms);3.5\navg latency;1.5\nthroughput;1\n"
    for path in (cpp, written(tmp_path, text, "python.csv")):
        (run,) = imported(path, "benchmark_app")
        assert run.printed is not None
        assert run.printed.median_ms is None
        assert run.printed.percentiles == ((90.0, 3.5),)


def test_an_error_of_benchmark_app_is_a_failed_run(tmp_path: Path) -> None:
    text = "Execution results\nread model time (ms);2.5\nerror;Can't open net.xml\n"
    (run,) = imported(written(tmp_path, text, "report.csv"), "benchmark_app")
    assert not run.is_ok
    assert run.outcome.message == "Can't open net.xml"


def layers_of(path: Path) -> list[list[dict[str, str]]]:
    """Return the rows of each table of layers, without the line of their total."""
    tables = [table for table in path.read_text().split("\n\n") if table.strip()]
    rows = [list(csv.DictReader(table.strip().splitlines(), delimiter=";")) for table in tables]
    return [[row for row in some if row["layerType"]] for some in rows]


def test_mean_layer_times_of_benchmark_app_equal_the_text() -> None:
    path = DATA / "benchmark_app_average.csv"
    (run,) = imported(path, "benchmark_app")
    (rows,) = layers_of(path)
    ran = [row for row in rows if row["execStatus"].endswith("EXECUTED")]
    assert run.profile is not None
    assert [(one.name, one.kind, one.mean_ms) for one in run.profile.layers] == [
        (row["layerName"], row["layerType"], exact(row["realTime (ms)"])) for row in ran
    ]
    idle = [notice for notice in run.notices if notice.code == "I-BENCHMARKS-SKIPPED"]
    assert sum(notice.evidence["count"] for notice in idle) == len(rows) - len(ran)


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_layer_times_of_each_request_are_averaged(suffix: str) -> None:
    path = DATA / f"benchmark_app_detailed.{suffix}"
    (run,) = imported(path, "benchmark_app")
    if suffix == "csv":
        tables = [
            [(row["layerName"], row["execStatus"], row["realTime (ms)"]) for row in rows]
            for rows in layers_of(path)
        ]
    else:
        tables = [
            [(node["name"], node["status"], node["real_time"]) for node in request["nodes"]]
            for request in json.loads(path.read_text())["detailed_performance"]
        ]
    assert len(tables) > 1
    times: dict[str, list[Fraction]] = {}
    for name, status, time in (row for rows in tables for row in rows):
        if status.endswith("EXECUTED"):
            times.setdefault(name, []).append(Fraction(time))
    assert run.profile is not None
    assert run.profile.iterations == len(tables)
    assert {one.name: one.mean_ms for one in run.profile.layers} == {
        name: pytest.approx(float(sum(some) / len(tables)), rel=1e-15)
        for name, some in times.items()
    }
    assert {one.name: one.total_ms for one in run.profile.layers} == {
        name: float(sum(some)) for name, some in times.items()
    }


def test_the_sorted_report_of_benchmark_app_has_commas() -> None:
    path = DATA / "benchmark_app_sorted.csv"
    (run,) = imported(path, "benchmark_app")
    rows = [line.split(",") for line in path.read_text().splitlines() if "Status.EXECUTED" in line]
    assert run.profile is not None
    assert [(one.name, one.mean_ms) for one in run.profile.layers] == [
        (row[0], exact(row[4])) for row in rows
    ]


def test_a_json_of_means_has_the_first_layer_alone_and_says_what_to_use(tmp_path: Path) -> None:
    node = {"name": "x", "node_type": "Parameter", "status": "Status.NOT_RUN", "real_time": "0.000"}
    value = {"report_type": "average", "avg_performance": {"nodes": [node]}}
    assert "use its CSV" in refused(written(tmp_path, value))


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n1,2,3\n",
        "layerName,execStatus,layerType,execType,realTime (ms)\n",
        "Metric,avg,min\n",
    ],
)
def test_a_table_without_figures_is_refused_with_a_reason(text: str, tmp_path: Path) -> None:
    assert refused(written(tmp_path, text, "t.csv"))


def test_folders_of_all_tools_come_in_one_import(tmp_path: Path) -> None:
    database(tmp_path / "net.sqlite")
    found: Imported = import_artifacts([DATA, tmp_path])
    tools = Counter(run.job.backend.name for run in found.runs)
    assert set(tools) == {"nsys", "aiperf", "perf_analyzer", "benchmark_app"}
    assert all(np.isfinite(sample.values_ms).all() for run in found.runs for sample in run.samples)
