"""Files of hyperfine, Google Benchmark and nvbench as runs: tool, unit, samples or printed only."""

import gzip
import json
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from enginescope.analysis.verdicts.evidence_levels import evidence_level
from enginescope.cli.main import main
from enginescope.core.errors import UsageError
from enginescope.formats.importing.importer import import_artifacts
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.run.run import OutcomeKind, Run


def imported(path: Path) -> dict[str, Run]:
    return {run.job.subject.name: run for run in import_artifacts([path]).runs}


def written(folder: Path, value: object, name: str = "file.json") -> Path:
    (folder / name).write_text(json.dumps(value))
    return folder / name


def test_commands_of_hyperfine_have_every_time_in_milliseconds(data) -> None:
    path = data / "benchmarks" / "hyperfine.json"
    runs = imported(path)
    assert list(runs) == ["short sleep", "long sleep"]
    run = runs["short sleep"]
    times_s = json.loads(path.read_text())["results"][0]["times"]
    assert run.headline.metric == "latency"
    assert run.headline.values_ms == pytest.approx(1e3 * np.array(times_s), rel=1e-12)
    assert run.job.backend.name == run.tool.tool == "hyperfine"
    assert run.origin == "imported"
    (notice,) = run.notices
    assert notice.code == "I-BENCHMARK-FILE"
    assert "whole commands" in notice.message
    printed = run.tool.summaries[0]
    assert printed.median_ms == pytest.approx(float(np.median(run.headline.values_ms)))
    assert [one.kind for one in run.artifacts] == ["hyperfine"]


def test_parameters_of_a_scan_are_kept(data) -> None:
    runs = imported(data / "benchmarks" / "hyperfine_scan.json")
    parameters = {name: run.tool.options["Parameters"]["seconds"] for name, run in runs.items()}
    assert parameters == {"sleep 0.01": "0.01", "sleep 0.02": "0.02"}


def test_exit_codes_other_than_zero_are_told(tmp_path) -> None:
    one = {"command": "a", "mean": 1.0, "times": [1.0, 1.0, 1.0], "exit_codes": [0, 2, None]}
    run = imported(written(tmp_path, {"results": [one]}))["a"]
    texts = [f"1 of 3 runs ended with {code}" for code in (2, None)]
    assert [message.text for message in run.tool.messages] == texts


def test_without_times_hyperfine_has_printed_figures(tmp_path) -> None:
    one = {"command": "a", "mean": 0.5, "median": 0.4, "min": 0.1, "max": 0.9}
    run = imported(written(tmp_path, {"results": [one]}))["a"]
    assert run.headline is None
    assert run.printed.median_ms == pytest.approx(400)
    assert evidence_level([run], [run]) is EvidenceLevel.PRINTED


def test_repetitions_of_google_benchmark_are_samples(data) -> None:
    path = data / "benchmarks" / "google_repetitions.json"
    run = imported(path)["sum_of_range/64"]
    every = json.loads(path.read_text())["benchmarks"]
    entries = [one for one in every if one["run_name"] == "sum_of_range/64"]
    each = [one["real_time"] for one in entries if one["run_type"] == "iteration"]
    assert {one["time_unit"] for one in entries} == {"us"}
    assert run.headline.values_ms == pytest.approx(np.array(each) / 1e3)
    assert (run.job.backend.name, run.tool.tool) == ("google-benchmark",) * 2
    assert run.tool.tool_version == "1.9.5"
    assert run.environment.versions == {"google-benchmark": "1.9.5"}
    assert run.environment.host.cores_logical == 2
    assert "the mean of up to" in run.notices[0].message


@pytest.mark.parametrize(
    ("file", "statistic"),
    [("google_single.json", "mean_ms"), ("google_aggregates.json", "median_ms")],
)
def test_one_repetition_or_aggregates_alone_are_printed_figures(data, file, statistic) -> None:
    run = imported(data / "benchmarks" / file)["sum_of_range/256"]
    assert run.headline is None
    assert getattr(run.printed, statistic) == pytest.approx(0.003, rel=0.6)
    assert "no repetitions" in run.notices[0].message
    assert evidence_level([run], [run]) is EvidenceLevel.PRINTED


def test_a_benchmark_that_ended_with_an_error_is_a_failed_run(data) -> None:
    run = imported(data / "benchmarks" / "google_single.json")["skipping"]
    assert run.outcome.kind is OutcomeKind.FAILED
    assert run.outcome.message == "no such file"
    assert (run.headline, run.printed) == (None, None)


def benchmarks(unit: str, count: int = 1) -> dict[str, object]:
    entry = {"name": "a", "run_type": "iteration", "real_time": 2.0, "time_unit": unit}
    return {"context": {}, "benchmarks": [entry] * count}


@pytest.mark.parametrize(("unit", "ms"), [("ns", 2e-6), ("us", 2e-3), ("ms", 2.0), ("s", 2e3)])
def test_every_unit_of_google_benchmark(tmp_path, unit, ms) -> None:
    run = imported(written(tmp_path, benchmarks(unit, 2)))["a"]
    assert run.headline.values_ms == pytest.approx([ms, ms])


def test_an_unknown_unit_is_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match="at a: it has no time in a known unit"):
        import_artifacts([written(tmp_path, benchmarks("min"))])


def summary(tag: str, value: str, name: str = "value", kind: str = "float64") -> dict:
    return {"tag": tag, "name": tag, "data": [{"name": name, "type": kind, "value": value}]}


DEVICE = {"id": 0, "name": "NVIDIA H100", "sm_version": 900, "number_of_sms": 132}
DEVICE |= {"global_memory_size": 85_000_000_000, "sm_default_clock_rate": 1_980_000_000}
SKIPPED = {"summaries": None, "is_skipped": True, "skip_reason": "too large"}
NVBENCH = {
    "meta": {
        "argv": ["bench", "--json", "out.json"],
        "version": {"json": {"string": "1.0.0"}, "nvbench": {"string": "0.1.0"}},
    },
    "devices": [DEVICE],
    "benchmarks": [
        {
            "name": "copy",
            "states": [
                {
                    "device": 0,
                    "axis_values": [{"name": "Size", "type": "int64", "value": "256"}],
                    "summaries": [
                        summary("nv/cold/sample_size", "3", kind="int64"),
                        summary("nv/cold/time/cpu/mean", "0.0009"),
                        summary("nv/cold/time/gpu/mean", "0.00012"),
                        summary("nv/cold/time/gpu/stdev/relative", "inf"),
                        {
                            "tag": "nv/json/bin:nv/cold/sample_times",
                            "data": [
                                {"name": "filename", "value": "/far/out.json-bin/0.bin"},
                                {"name": "size", "value": "3"},
                            ],
                        },
                    ],
                    "is_skipped": False,
                },
                {
                    "device": 0,
                    "axis_values": [{"name": "Size", "type": "int64", "value": "512"}],
                    **SKIPPED,
                },
            ],
        }
    ],
}


def nvbench(**state: object) -> dict:
    """Return the file with a part of its first state changed."""
    value = deepcopy(NVBENCH)
    value["benchmarks"][0]["states"][0] |= state
    return value


def test_states_of_nvbench_without_samples_are_printed_gpu_times(tmp_path) -> None:
    runs = imported(written(tmp_path, NVBENCH, "out.json"))
    run = runs["copy Size=256"]
    assert run.headline is None
    assert (run.printed.metric, run.printed.mean_ms) == ("gpu_compute", pytest.approx(0.12))
    assert run.printed.median_ms is None
    assert (run.job.backend.name, run.tool.tool_version) == ("nvbench", "0.1.0")
    (device,) = run.environment.devices
    assert (device.name, device.compute_capability, device.sm_count) == ("NVIDIA H100", "9.0", 132)
    assert device.clock_mhz == pytest.approx(1_980)
    assert run.tool.options["Summaries"]["nv/cold/time/cpu/mean"] == "0.0009"
    assert "--jsonbin" in run.notices[0].message
    assert runs["copy Size=512"].outcome.message == "too large"


def with_samples(folder: Path, values: list[float]) -> Path:
    (folder / "out.json-bin").mkdir()
    np.array(values, dtype="<f4").tofile(folder / "out.json-bin" / "0.bin")
    return written(folder, NVBENCH, "out.json")


@pytest.mark.parametrize("written_at", ["/far/out.json-bin/", r"C:\\far\\out.json-bin/"])
def test_samples_of_nvbench_lie_beside_its_json_of_any_place(tmp_path, written_at) -> None:
    path = with_samples(tmp_path, [1e-4, 2e-4, 3e-4])
    path.write_text(path.read_text().replace("/far/out.json-bin/", written_at))
    run = imported(path)["copy Size=256"]
    assert run.headline.metric == "gpu_compute"
    assert run.headline.values_ms == pytest.approx([0.1, 0.2, 0.3], rel=1e-6)
    assert run.notices == ()


@pytest.mark.parametrize("values", [[1e-4, 2e-4], [1e-4, 2e-4, float("nan")], []])
def test_a_file_of_samples_that_is_not_whole_is_not_used(tmp_path, values) -> None:
    run = imported(with_samples(tmp_path, values))["copy Size=256"]
    assert (run.headline, run.notices[0].code) == (None, "I-BENCHMARK-FILE")


def test_a_path_of_samples_does_not_lead_out_of_the_folder(tmp_path) -> None:
    np.array([1.0] * 3, dtype="<f4").tofile(tmp_path / "0.bin")
    inside = tmp_path / "inside"
    inside.mkdir()
    value = deepcopy(NVBENCH)
    value["benchmarks"][0]["states"][0]["summaries"][-1]["data"][0]["value"] = "../0.bin"
    assert imported(written(inside, value, "out.json"))["copy Size=256"].headline is None


def test_cpu_benchmarks_of_nvbench_are_latency(tmp_path) -> None:
    value = nvbench(summaries=[summary("nv/cpu_only/time/cpu/mean", "0.002")])
    run = imported(written(tmp_path, value))["copy Size=256"]
    assert (run.printed.metric, run.printed.mean_ms) == ("latency", pytest.approx(2.0))


def test_devices_of_one_benchmark_are_told_apart(tmp_path) -> None:
    value = deepcopy(NVBENCH)
    value["devices"].append({**value["devices"][0], "id": 1, "name": "NVIDIA H200"})
    (bench,) = value["benchmarks"]
    bench["devices"], bench["axes"] = [0, 1], None
    # null is a benchmark without axes; old versions also wrote it for infinity
    state = {**bench["states"][0], "axis_values": None}
    state["summaries"] = [*state["summaries"][:3], summary("nv/cold/walltime", None)]
    bench["states"] = [{**state, "device": number} for number in (0, 1)]
    runs = imported(written(tmp_path, value))
    names = {name: run.environment.devices[0].name for name, run in runs.items()}
    assert names == {"copy Device=0": "NVIDIA H100", "copy Device=1": "NVIDIA H200"}
    assert "nv/cold/walltime" not in runs["copy Device=0"].tool.options["Summaries"]


def test_a_benchmark_without_states_does_not_hide_the_others(tmp_path) -> None:
    value = deepcopy(NVBENCH)
    value["benchmarks"].append({"name": "empty", "index": 1, "axes": None, "states": None})
    assert set(imported(written(tmp_path, value))) == {"copy Size=256", "copy Size=512"}
    del value["benchmarks"][0]
    with pytest.raises(UsageError):
        import_artifacts([written(tmp_path, value)])


def test_a_state_without_times_does_not_lose_the_others(tmp_path) -> None:
    value = nvbench(summaries=[])
    runs = imported(written(tmp_path, value))
    assert "copy Size=256" not in runs
    (notice,) = (n for n in runs["copy Size=512"].notices if n.code == "I-BENCHMARKS-SKIPPED")
    assert "no times of copy Size=256" in notice.message
    value["benchmarks"][0]["states"][1] |= {"summaries": [], "is_skipped": False}
    with pytest.raises(UsageError, match=r"no times of copy Size=256"):
        import_artifacts([written(tmp_path, value)])


def test_a_compressed_file_opens_like_the_file_inside(data, tmp_path) -> None:
    packed = tmp_path / "hyperfine.json.gz"
    packed.write_bytes(gzip.compress((data / "benchmarks" / "hyperfine.json").read_bytes()))
    assert len(imported(packed)) == 2


def test_two_files_of_many_benchmarks_compare_by_name(tmp_path, capsys) -> None:
    def report(name: str, **times: float) -> str:
        entries = [{"name": name, "real_time": ms, "time_unit": "ms"} for name, ms in times.items()]
        return str(written(tmp_path, {"benchmarks": entries}, name))

    a = report("a.json", conv=1.0, gemm=2.0, old=1.0)
    b = report("b.json", conv=1.5, gemm=2.0, new=1.0)
    assert main(["compare", a, b]) == 0
    shown = capsys.readouterr().out
    assert shown.index("conv") < shown.index("gemm")
    assert "+50.0" in shown
    assert shown.startswith("2 benchmarks in both files: ")
    assert "only in A  1 benchmark: old" in shown
    assert "only in B  1 benchmark: new" in shown
    files = [tmp_path / name for name in ("out.md", "out.csv", "out.html")]
    options = zip(("--markdown", "--csv", "--html"), map(str, files), strict=True)
    assert main(["compare", a, b, *(part for option in options for part in option)]) == 0
    assert all("conv" in file.read_text() for file in files)
    capsys.readouterr()
    assert main(["compare", a, b, "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["conv", "gemm"]
    assert main(["compare", a, report("c.json", other=1.0, more=2.0)]) == 2
    assert "no benchmark in common" in capsys.readouterr().err
