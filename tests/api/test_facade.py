from pathlib import Path

import pytest

import enginescope as es
from enginescope.records.run.job import Limits, StopRule, WarmUp, Workload
from enginescope.store.archive import Store
from tests.fakes.loading import loaded

QUICK = Workload(warmup=WarmUp(time_ms=1, iterations=1, limit_ms=20), stop=StopRule(iterations=50))


def test_everything_promised_is_there() -> None:
    for name in es.__all__:
        assert getattr(es, name) is not None
    assert sorted(es.__all__) == dir(es)
    with pytest.raises(AttributeError, match="no attribute 'bensh'"):
        es.bensh  # noqa: B018


def test_bench(convnet, tmp_path) -> None:
    run = es.bench(convnet, workload=QUICK, store=tmp_path)
    assert run.latency.n == 50
    assert run.run.command
    assert 0 < run.latency.min_ms <= run.latency.median_ms <= run.latency.max_ms
    frame = run.to_pandas()
    assert set(frame["metric"]) == {"latency"}
    assert (frame["phase"] == "steady_state").sum() == 50
    assert run.layer_sum_ms is not None
    assert es.open_run(Store(tmp_path).folder_of(run.id)).latency == run.latency


def test_failures_are_raised_with_their_cause(tmp_path) -> None:
    with pytest.raises(es.EnginescopeError, match=r"crashed: died of SIGSEGV"):
        es.bench(__file__, on="fake?fault=segfault", workload=QUICK)
    from enginescope.core.errors import UnsupportedError

    with pytest.raises(UnsupportedError, match="asked to be unsupported"):
        es.bench(__file__, on="fake?fault=unsupported", workload=QUICK)
    with pytest.raises(es.EnginescopeError, match="timed_out: did not end within 2 s"):
        es.bench(__file__, on="fake?fault=hang", workload=QUICK, limits=Limits(timeout_s=2))
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
