import json
import sys
from pathlib import Path

import numpy as np
import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.core.errors import UsageError
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Device, Environment, Host
from enginescope.services.store.export_runs import EXPORTERS
from enginescope.services.store_access import own_command
from enginescope.store.archive import Store
from tests.analysis.in_turn import COMPARISON, crashed, in_turn, process

TOOLS = tuple(EXPORTERS.built_in)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


def exported(store: Store, what: str, tool: str) -> list[Path]:
    return es.export_run(what, store.path / "out.json", format=tool, store=store.path)


def back(path: Path) -> dict[str, es.RunView]:
    return {view.run.job.subject.name: view for view in es.import_artifacts(path)}


@pytest.mark.parametrize("tool", TOOLS)
def test_the_samples_of_a_run_come_back(store, tool) -> None:
    run = process(2.0)
    store.save(run)
    files = exported(store, "latest", tool)
    assert files[0] == store.path / "out.json"
    (view,) = back(files[0]).values()
    exact = 1e-6 if tool == "nvbench" else 1e-12  # nvbench stores 32 bits
    assert view.run.headline.values_ms == pytest.approx(run.headline.values_ms, rel=exact)
    assert (view.run.headline.metric, view.run.tool.tool) == ("latency", tool)
    printed = view.run.tool.summaries[0]
    assert printed.mean_ms == pytest.approx(run.headline.values_ms.mean())
    assert printed.median_ms == pytest.approx(np.median(run.headline.values_ms))
    assert view.run.notices == ()
    assert run.id in files[0].read_text()


def test_gpu_times_and_the_device_come_back_from_nvbench(store) -> None:
    device = Device(name="NVIDIA H200", compute_capability="9.0", sm_count=132, has_ecc=True)
    environment = Environment(host=Host(cpu_model="Xeon", cores_usable=2), devices=(device,))
    samples = (Samples(metric="gpu_compute", values_ms=frozen([1.0, 1.5, 1.25])),)
    store.save(process(1.0, samples=samples, environment=environment))
    files = exported(store, "latest", "nvbench")
    assert files[1] == store.path / "out.json-bin" / "0.bin"
    (view,) = back(files[0]).values()
    assert view.run.headline.metric == "gpu_compute"
    assert view.run.environment.devices == (device,)
    (state,) = json.loads(files[0].read_text())["benchmarks"][0]["states"]
    assert "nv/cold/time/gpu/mean" in {one["tag"] for one in state["summaries"]}


@pytest.mark.parametrize("tool", TOOLS)
def test_each_side_of_a_comparison_is_one_benchmark(store, tool) -> None:
    tag = f"cmp-{COMPARISON}"
    for run in (run for side in in_turn(1.05) for run in side):
        store.save(run, tags=[tag])
    path, *_ = exported(store, tag, tool)
    a, b = back(path).items()
    assert a[0].endswith(" · A")
    assert b[0].endswith(" · B")
    ratio = np.mean(b[1].run.headline.values_ms) / np.mean(a[1].run.headline.values_ms)
    assert ratio == pytest.approx(1.05, rel=0.01)
    count = 12 if tool == "google-benchmark" else 12 * 200
    assert len(a[1].run.headline) == count  # its sample is a repetition: a process
    if tool == "google-benchmark":  # what its readers need
        document = json.loads(path.read_text())
        assert "cpu_time repeats real_time" in document["context"]["enginescope"]["cpu_time"]
        needed = {"name", "run_name", "run_type", "real_time", "cpu_time", "time_unit"}
        assert all(needed <= set(entry) for entry in document["benchmarks"])
        assert {entry["time_unit"] for entry in document["benchmarks"]} == {"ns"}
        assert [one["iterations"] for one in document["benchmarks"][:12]] == [200] * 12


def test_hyperfines_json_lacks_unknown_figures_and_zip_is_usual(store, tmp_path, capsys) -> None:
    store.save(process(2.0))
    path, *_ = exported(store, "latest", "hyperfine")
    (one,) = json.loads(path.read_text())["results"]
    assert not {"user", "system", "exit_codes"} & set(one)
    assert one["times"][0] == pytest.approx(0.002, rel=0.01)
    assert one["parameters"] == {"backend": "ort-cpu", "batch": "1"}
    at = ["--store", str(store.path), "--json"]
    assert main(["runs", "export", "latest", str(tmp_path / "run.zip"), *at]) == 0
    assert json.loads(capsys.readouterr().out) == str(tmp_path / "run.zip")
    assert (tmp_path / "run.zip").is_file()


def test_runs_without_samples_are_skipped_or_refused(store, tmp_path, capsys) -> None:
    store.save(process(2.0), tags=["t"])
    store.save(crashed(process(2.0)), tags=["t"])
    path, at = tmp_path / "out.json", ["--store", str(store.path)]
    assert main(["runs", "export", "t", str(path), "--format", "hyperfine", *at]) == 0
    shown = capsys.readouterr()
    assert shown.out.strip() == str(path)
    assert "skipped: 1 of 2 runs have no samples" in shown.err
    bad = store.rows(outcome="crashed")[0].id
    for tool, why in (("hyperfine", "no samples"), ("gnuplot", "no format is called 'gnuplot'")):
        with pytest.raises(UsageError, match=why):
            exported(store, bad, tool)


def test_files_of_other_tools_are_compared_like_runs(data, tmp_path, capsys) -> None:
    whole = json.loads((data / "benchmarks" / "hyperfine.json").read_text())
    for name, one in zip("ab", whole["results"], strict=True):
        (tmp_path / f"{name}.json").write_text(json.dumps({"results": [one]}))
    files = [str(tmp_path / f"{name}.json") for name in "ab"]
    assert main(["compare", *files, "--store", str(tmp_path / "store"), "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["measured"]
    assert measured["evidence"] == "samples of one process"
    assert measured["pairs"][0]["verdicts"][0]["estimate"]["ratio"] > 1.5


def test_a_password_of_a_script_s_command_line_is_not_recorded(monkeypatch) -> None:
    url = "postgresql://engineer:s3cr3t-word@db.example/engines"
    monkeypatch.setattr(sys, "orig_argv", ["python", "nightly.py", url])
    assert own_command() == "python nightly.py postgresql://engineer:***@db.example/engines"
