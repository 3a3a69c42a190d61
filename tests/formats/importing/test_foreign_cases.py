"""Files of strangers: every summary layout behind every prefix, and every container around JSON."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from enginescope.core.errors import UsageError
from enginescope.formats.importing.importer import Imported, import_artifacts
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.records.run.run import Run
from tests.formats import logs, times

_HOST = """\
min: 4 ms (end to end 4.5 ms)
max: 6 ms (end to end 6.5 ms)
mean: 5 ms (end to end 5.5 ms)
median: 5 ms (end to end 5.5 ms)
percentile: 6 ms at 99% (end to end 6.5 ms at 99%)
throughput: 200 qps
walltime: 3 s
"""
_GPU = """\
GPU Compute
min: 3 ms
max: 5 ms
mean: 4 ms
median: 4.25 ms
percentile: 5 ms at 99%
total compute time: 2.5 s
"""
TRT_7_0 = f"Host latency\n{_HOST}{_GPU}"
TRT_7_1 = f"Host Latency\n{_HOST}Enqueue Time\nmin: 1 ms\nmax: 2 ms\nmedian: 1.5 ms\n{_GPU}"
TRT_8_0 = """\
=== Performance summary ===
Throughput: 200 qps
Latency: min = 4 ms, max = 6 ms, mean = 5 ms, median = 5 ms, percentile(99%) = 6 ms
End-to-End Host Latency: min = 4.5 ms, max = 6.5 ms, mean = 5.5 ms, median = 5.5 ms, \
percentile(99%) = 6.5 ms
GPU Compute Time: min = 3 ms, max = 5 ms, mean = 4 ms, median = 4.25 ms, percentile(99%) = 5 ms
Total Host Walltime: 3 s
Total GPU Compute Time: 2.5 s
"""
TRT_8_5 = """\
=== Performance summary ===
Throughput: 200 qps
Latency: min = 4 ms, max = 6 ms, mean = 5 ms, median = 5 ms, percentile(90%) = 5.5 ms, \
percentile(95%) = 5.75 ms, percentile(99%) = 6 ms
H2D Latency: min = 0.1 ms, max = 0.2 ms, mean = 0.1 ms, median = 0.1 ms, percentile(99%) = 0.2 ms
GPU Compute Time: min = 3 ms, max = 5 ms, mean = 4 ms, median = 4.25 ms, percentile(90%) = 4.5 ms, \
percentile(95%) = 4.75 ms, percentile(99%) = 5 ms
D2H Latency: min = 0.1 ms, max = 0.2 ms, mean = 0.1 ms, median = 0.1 ms, percentile(99%) = 0.2 ms
Total Host Walltime: 3 s
"""
TRT_11_5 = """\
=== Performance summary ===
Throughput: 200 qps
Latency: min = 4 ms, max = 6 ms, mean = 5 ms, median = 5 ms, percentile(99%) = 6 ms
GPU Compute Time: min = 3 ms, max = 5 ms, mean = 4 ms, median = 4.25 ms, percentile(99%) = 5 ms
"""
LAYOUTS = {"7.0": TRT_7_0, "7.1": TRT_7_1, "8.0": TRT_8_0, "8.5": TRT_8_5, "11.5": TRT_11_5}


def before(prefix: str) -> Callable[[str], str]:
    return lambda text: "".join(
        prefix.replace("#", str(at % 10)) + line + "\n" for at, line in enumerate(text.splitlines())
    )


def notebook(text: str) -> str:
    cell = {"cell_type": "code", "outputs": [{"name": "stdout", "text": text.splitlines(True)}]}
    return json.dumps({"cells": [cell], "nbformat": 4}, indent=1)


def container_lines(text: str) -> str:
    rows = ({"log": line + "\n", "stream": "stdout"} for line in text.splitlines())
    return "\n".join(map(json.dumps, rows)) + "\n"


PREFIXES: dict[str, Callable[[str], str]] = {
    "none": lambda text: text,
    "level": before("[I] "),
    "stamp": before(logs.PREFIX),
    "time of CI": before("2026-11-27T10:00:0#.1234567Z [01/02/2026-03:04:05] [I] "),
    "time of CI alone": before("2026-11-27T10:00:0#.1234567Z "),
    "compose": before("trt-1  | [I] "),
    "kubectl": before("[pod/trt-#/main] [01/02/2026-03:04:05] [I] "),
    "syslog": before("Nov 27 10:00:0# host trtexec[123]: [I] "),
    "quote": before("> [I] "),
    "indent": before("    [01/02/2026-03:04:05] [I] "),
    "color": before("\x1b[32m[I]\x1b[0m "),
    "nohup": lambda text: "nohup: ignoring input\n" + before(logs.PREFIX)(text),
    "README": lambda text: f"# Results\n\nIt took:\n\n```\n{text}```\n\nSee above.\n",
    "notebook": lambda text: notebook(before(logs.PREFIX)(text)),
    "JSON lines": lambda text: container_lines(before(logs.PREFIX)(text)),
    "JSON string": lambda text: json.dumps(before("[I] ")(text)),
}


def imported(folder: Path, text: str | bytes, name: str = "x.txt") -> Imported:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return import_artifacts([folder / name])


def only(folder: Path, text: str, name: str = "x.txt") -> Run:
    (run,) = imported(folder, text, name).runs
    return run


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_behind_every_prefix(tmp_path, layout, prefix) -> None:
    run = only(tmp_path, PREFIXES[prefix](LAYOUTS[layout]))
    printed = [one for one in run.tool.summaries if one.percentiles]
    figures = {one.metric: (one.median_ms, dict(one.percentiles)[99.0]) for one in printed}
    assert (figures["trtexec_latency"], figures["gpu_compute"]) == ((5, 6), (4.25, 5))
    assert run.tool.throughput_per_s == 200
    assert not run.tool.options
    if layout in ("7.0", "7.1", "8.0"):
        assert figures["end_to_end"] == (5.5, 6.5)


@pytest.mark.parametrize(
    "text",
    [
        TRT_8_5.replace("ms, p", "ms,\n             p"),
        before("[I] ")(TRT_8_5.replace("ms, p", "ms,\n    p")),
        TRT_8_5.replace(" = 5 ms", " =\n 5 ms").replace("4.25 ms", "4.2\n5 ms"),
        " / ".join(TRT_8_5.splitlines()[1:]),
        TRT_8_5.splitlines()[2] + "\n" + TRT_8_5.splitlines()[4],
    ],
    ids=["indented rests", "levels", "cut anywhere", "one line", "two lines of a README"],
)
def test_wrapped_and_joined_summaries(tmp_path, text) -> None:
    by_metric = {one.metric: one for one in only(tmp_path, text).tool.summaries}
    assert (by_metric["gpu_compute"].median_ms, by_metric["trtexec_latency"].median_ms) == (4.25, 5)
    assert dict(by_metric["gpu_compute"].percentiles)[99.0] == 5


@pytest.mark.parametrize(
    "line",
    [
        "Average over 10 runs is 6.6 ms (host walltime is 6.7 ms, 99% percentile time is 6.7)",
        "Mean latency of the GPU was 3.5 ms",
        "Throughput was 300.5 fps",
    ],
)
def test_figures_that_are_not_read_are_named(tmp_path, line) -> None:
    start = "&&&& RUNNING TensorRT.trtexec # trtexec --onnx=m.onnx\n"
    run = only(tmp_path, start + line + "\n")
    (notice,) = (one for one in run.notices if one.code == "W-FIGURES-UNREAD")
    assert line[:60] in notice.message
    with pytest.raises(UsageError) as refused:
        imported(tmp_path, "[01/02/2026-03:04:05] [I] " + line + "\n")
    assert line[:60] in str(refused.value)


def test_a_metric_of_a_later_version_is_named(tmp_path) -> None:
    text = TRT_11_5 + "Graph Launch Time: min = 1 ms, max = 2 ms, mean = 1 ms, median = 1 ms\n"
    run = only(tmp_path, text)
    assert [one.code for one in run.notices] == ["W-FIGURES-UNREAD"]
    assert "Graph Launch Time" in run.notices[0].message


PLAN_LAYER = {"Name": "a", "LayerType": "Convolution", "Inputs": [], "Outputs": []}


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"--- Layer {at} ---\n{json.dumps(PLAN_LAYER, indent=1)}\n" for at in range(2)),
        "".join(f"{json.dumps(PLAN_LAYER)}\n" for _ in range(2)),
        json.dumps(json.dumps([PLAN_LAYER] * 2)),
        json.dumps({"engine": json.dumps({"Layers": [PLAN_LAYER] * 2})}),
        f"# Plan\n\n```json\n{json.dumps({'Layers': [PLAN_LAYER] * 2}, indent=2)}\n```\n",
    ],
    ids=["dashes", "lines", "string", "in a field", "Markdown"],
)
def test_plans_in_containers(tmp_path, text) -> None:
    assert len(only(tmp_path, text).plan.layers) == 2
    assert len(read_plan_files(PlanFiles(plan=tmp_path / "x.txt")).plan.layers) == 2


@pytest.mark.parametrize("joint", ["\n", "", ",\n", "\n\n--- batch ---\n"])
def test_documents_one_after_another_are_runs_of_their_own(tmp_path, joint) -> None:
    parts = [times.records(count) for count in (3, 4, 5)]
    found = imported(tmp_path, joint.join(json.dumps(part) for part in parts))
    assert [len(run.samples[0]) for run in found.runs] == [3, 4, 5]
    (entry,) = found.ledger
    assert (entry.kinds, entry.read) == (("trtexec_times",), ("3 documents", "12 samples"))


def test_the_last_of_several_documents_may_be_cut_off(tmp_path) -> None:
    whole, cut = json.dumps(times.records(3)), json.dumps(times.records(5))[:-40]
    found = imported(tmp_path, f"{whole}\n{cut}")
    assert [len(run.samples[0]) for run in found.runs] == [3, 4]
    assert "W-TRUNCATED" in found.ledger[0].left_out


def test_documents_of_several_kinds_make_one_run(tmp_path) -> None:
    run = only(tmp_path, json.dumps(times.PROFILE) + "\n" + json.dumps({"Layers": [PLAN_LAYER]}))
    assert (len(run.plan.layers), run.profile.iterations) == (1, 2)


def test_a_bad_file_does_not_lose_the_others(tmp_path) -> None:
    (tmp_path / "bad.json").write_text(json.dumps([{"name": ["a"], "latencyMs": {}}]))
    (tmp_path / "good.json").write_text(json.dumps(times.records(3)))
    found = import_artifacts([tmp_path])
    assert len(found.runs) == 1
    assert [Path(path).name for path, _ in found.skipped] == ["bad.json"]


def swapped(count: int) -> list[dict[str, float]]:
    """Times as TensorRT 7.1 writes them: the copy takes 0.0625 ms, the enqueue 4 ms."""
    rows = []
    for at in range(count):
        start = 10.0 * at
        marks = {"startEnqMs": start, "endEnqMs": start + 0.0625}
        marks |= {"startInMs": start + 0.25, "endInMs": start + 4.25 + at % 2}
        marks |= {"startComputeMs": start + 0.0625, "endComputeMs": start + 3.0625}
        rows.append({**marks, "inMs": 0.0625, "computeMs": 3.0, "latencyMs": 3.0625})
    return rows


def enqueue_of(run: Run) -> float | None:
    series = next((one for one in run.samples if one.metric == "enqueue"), None)
    return None if series is None else float(series.values_ms.mean())


def test_what_a_stamp_means_is_decided_by_the_file(tmp_path) -> None:
    run = only(tmp_path, json.dumps(swapped(10)))
    assert enqueue_of(run) == pytest.approx(4.5)
    assert "I-STAMPS-SWAPPED" in {one.code for one in run.notices}
    exchanged = {"startEnqMs": "startInMs", "endEnqMs": "endInMs"}
    exchanged |= {other: name for name, other in exchanged.items()}
    plain = [{exchanged.get(name, name): row[name] for name in row} for row in swapped(10)]
    run = only(tmp_path, json.dumps(plain))
    assert enqueue_of(run) == pytest.approx(4.5)
    assert "I-STAMPS-SWAPPED" not in {one.code for one in run.notices}
    neither = [{**row, "inMs": 2.0} for row in swapped(10)]
    assert enqueue_of(only(tmp_path, json.dumps(neither))) is None


def test_each_process_of_a_log_has_its_own_times_and_warm_up(tmp_path) -> None:
    log = "".join(
        f"&&&& RUNNING TensorRT.trtexec # trtexec --exportTimes=t.json\n"
        f"[I] Warmup completed {warmup} queries over 100 ms\n"
        f"[I] Timing trace has {count - warmup} queries over 1 s\n"
        + TRT_7_1.replace("200 qps", f"{count} qps")
        + "&&&& PASSED TensorRT.trtexec # trtexec --exportTimes=t.json\n"
        for count, warmup in ((8, 2), (9, 0), (10, 4))
    )
    (tmp_path / "run.log").write_text(log)
    (tmp_path / "t.json").write_text("\n".join(json.dumps(swapped(n)) for n in (8, 9, 10)))
    runs = import_artifacts([tmp_path]).runs
    figures = [(run.tool.throughput_per_s, len(run.samples[0])) for run in runs]
    assert figures == [(8, 6), (9, 9), (10, 6)]


def test_files_of_one_run_that_contradict_each_other(tmp_path) -> None:
    (tmp_path / "net.log").write_text(
        "&&&& RUNNING TensorRT.trtexec # trtexec\n[I] Timing trace has 50 queries over 1 s\n"
        + TRT_11_5
        + logs.PROFILE
    )
    metadata = {"performance_summary": {"Latency": [4.0, 6.0, 5.0, 5.0, 7.0]}}
    (tmp_path / "net.metadata.json").write_text(json.dumps(metadata))
    (tmp_path / "net.times.json").write_text(json.dumps(times.records(10)))
    profile = [{"count": 120}, {"name": "conv + relu 3 4", "timeMs": 60.0, "averageMs": 0.5}]
    (tmp_path / "net.profile.json").write_text(json.dumps(profile))
    (run,) = import_artifacts([tmp_path]).runs
    said = [one.message for one in run.notices if one.code == "W-CONTRADICTION"]
    for what in ("trtexec_latency summaries (p99)", "counts of queries", "layer times (conv"):
        assert any(what in message for message in said), what


def test_the_cases(shared) -> None:
    folder = shared / "data/cases-2026-11-27"
    if not folder.is_dir():
        pytest.skip("the cases of 2026-11-27 are not here")

    def medians(name: str) -> list[dict[str, float | None]]:
        return [
            {one.metric: one.median_ms for one in run.tool.summaries}
            for run in import_artifacts([folder / name]).runs
        ]

    assert medians("trt7_block_summary.log") == [{"gpu_compute": 21, "enqueue": 2.75}]
    assert medians("no_timestamps.log") == [{"trtexec_latency": 10, "gpu_compute": 9.5}]
    assert medians("summary_wrapped.log") == [{"trtexec_latency": 1.875, "gpu_compute": 1.4375}]
    (pair,) = import_artifacts([folder / "trt71_pair"]).runs
    assert enqueue_of(pair) == pytest.approx(4.375)
    assert len(pair.samples[0]) == 138
    assert not [one for one in pair.notices if "MISMATCH" in one.code or "CONTRA" in one.code]
    batches = import_artifacts([folder / "times_three_batches.json"]).runs
    assert [len(run.samples[0]) for run in batches] == [120, 120, 120]
    (inside,) = import_artifacts([folder / "notebook_log.ipynb"]).runs
    assert (inside.tool.tool_version, inside.job.backend.precision) == ("8.2.5", "int8")
    assert inside.command.endswith("m.trt")
    (trace,) = import_artifacts([folder / "torch_nostep.json"]).runs
    assert trace.profile.sum_mean_ms == pytest.approx(0.0765)
    conv = import_artifacts([folder / "gb_complexity.json"]).runs
    means = {run.job.subject.name: run.tool.summaries[0].mean_ms for run in conv}
    assert means == pytest.approx({"BM_Conv/64": 0.0125, "BM_Conv/128": 0.0255})
    assert all("I-BENCHMARKS-SKIPPED" in {one.code for one in run.notices} for run in conv)
    with pytest.raises(UsageError, match="at a: it has no time in a known unit"):
        import_artifacts([folder / "gb_unit_list.json"])
    plan = read_plan_files(PlanFiles(plan=folder / "layers_dashes.json")).plan
    assert [layer.name for layer in plan.layers] == ["q_myl0", "g_myl1"]


def test_several_summaries_of_a_page_are_runs_of_their_own(tmp_path) -> None:
    page = "".join(
        f"## Batch {batch}\n```\n{TRT_11_5.replace('200 qps', f'{batch} qps')}```\n"
        for batch in (1, 4, 8)
    )
    assert [run.tool.throughput_per_s for run in imported(tmp_path, page).runs] == [1, 4, 8]
    twice = TRT_11_5.splitlines()[2]
    (notice,) = only(tmp_path, f"A: {twice}\nB: {twice}\n\n{twice}\n{twice}\n").notices
    assert notice.code == "W-FIGURES-UNREAD"
