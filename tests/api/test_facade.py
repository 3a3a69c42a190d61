import json
from pathlib import Path

import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.records.run.job import StopRule, WarmUp, Workload
from enginescope.store.archive import Store
from tests.conftest import DATA
from tests.fakes.loading import loaded
from tests.notebook.html.pages import checked

QUICK = Workload(warmup=WarmUp(time_ms=1, iterations=1, limit_ms=20), stop=StopRule(iterations=50))


def test_a_measured_run_has_a_latency_frames_and_a_view(convnet, tmp_path) -> None:
    run = es.bench(convnet, workload=QUICK, store=tmp_path)
    assert run.latency.n == 50
    assert run.run.command
    assert 0 < run.latency.min_ms <= run.latency.median_ms <= run.latency.max_ms
    frame = run.to_pandas()
    assert set(frame["metric"]) == {"latency"}
    assert (frame["phase"] == "steady_state").sum() == 50
    assert run.layer_sum_ms is not None
    text = checked(run._repr_html_()).text
    assert "95 % CI" in text or "no interval" in text  # a busy machine
    assert "throughput" in text
    assert es.open_run(Store(tmp_path).folder_of(run.id)).latency == run.latency


def test_failures_are_raised_with_their_cause(tmp_path) -> None:
    with pytest.raises(es.EnginescopeError, match=r"crashed: died of SIGSEGV"):
        es.bench(__file__, on="fake?fault=segfault", workload=QUICK)
    with pytest.raises(UnsupportedError, match="asked to be unsupported"):
        es.bench(__file__, on="fake?fault=unsupported", workload=QUICK)
    with pytest.raises(es.EnginescopeError, match="no such file"):
        es.bench("absent.onnx")


@pytest.mark.usefixtures("in_process")
@pytest.mark.slow
def test_an_engine_is_built_once_and_measured(convnet, tmp_path) -> None:
    with loaded():
        report = es.build(convnet, tmp_path / "net.plan", on="trt:fp16", store=tmp_path)
        assert Path(report.engine) == tmp_path / "net.plan"
        assert (tmp_path / "net.plan.build.log").is_file()
        assert report.precision == "fp16"
        quick = Workload(stop=StopRule(iterations=20))
        view = es.bench(tmp_path / "net.plan", on="trt", workload=quick, store=tmp_path)
        assert view.latency.n == 20
        assert view.run.device_memory is not None
        with pytest.raises(es.EnginescopeError, match="is an engine already"):
            es.build(tmp_path / "net.plan", store=tmp_path)
        with pytest.raises(es.EnginescopeError, match="it is a folder"):
            es.build(convnet, tmp_path, store=tmp_path)


RECORDED = {
    "resnet18/resnet18.graph.json": "trt86-h200/resnet18.graph.json",
    "resnet18/resnet18.profile.json": "trt86-h200/resnet18.profile.json",
    "resnet18/cuda_graph.profile.json": "trt86-h200-cudagraph/resnet18.profile.json",
    "resnet18/cuda_graph.profile.log": "trt86-h200-cudagraph/resnet18.profile.log",
    "small_convnet/small_convnet.onnx.engine.graph.json": (
        "trt86-h200-process/small_convnet.onnx.engine.graph.json"
    ),
}


def test_recordings_are_those_of_the_tests(tmp_path) -> None:
    folder = es.samples(tmp_path / "samples")
    for name, recorded in RECORDED.items():
        assert (folder / name).read_bytes() == (DATA / recorded).read_bytes(), name
    assert es.open_plan(folder / "resnet18" / "resnet18.graph.json").total_ms is not None
    assert (folder / "small_convnet.onnx").is_file()


def test_what_is_there_is_kept_and_the_verb_names_all(tmp_path, capsys) -> None:
    folder = tmp_path / "samples"
    own = folder / "resnet18" / "resnet18.profile.json"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    assert main(["models", "samples", "--to", str(folder), "--json"]) == 0
    named = json.loads(capsys.readouterr().out)
    assert own.read_text() == "mine"
    assert {str(folder / name) for name in RECORDED} <= set(named)
    assert main(["models", "samples", "--to", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == named


def test_samples_are_in_the_store_or_the_folder_is_named(tmp_path) -> None:
    assert es.samples(store=tmp_path / "store") == tmp_path / "store" / "samples"
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        es.samples(tmp_path / "file" / "samples")
