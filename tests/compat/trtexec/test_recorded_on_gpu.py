"""What ``enginescope process`` left on an H200 with TensorRT 8.6, read back without a GPU."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.trex.trex_metadata import parse_trex_metadata
from enginescope.records.run.run import Run
from tests.compat.trtexec.log.test_exports import TRTEXECS
from tests.conftest import DATA

STEM = "small_convnet.onnx.engine"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    for file in (DATA / "trt86-h200-process").iterdir():
        content = file.read_bytes()
        packed = file.suffix == ".gz"
        target = folder / (file.stem if packed else file.name)
        target.write_bytes(gzip.decompress(content) if packed else content)
    return folder


@pytest.fixture(scope="module")
def times(folder: Path) -> list[dict[str, float]]:
    return json.loads((folder / f"{STEM}.timing.json").read_text())


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    found = import_artifacts([folder])
    assert not found.skipped
    (run,) = found.runs
    return run


def test_the_files_become_one_run_with_the_printed_figures(run) -> None:
    assert run.tool.passed
    assert run.tool.tool_version == "8.6.0"
    view = RunView(run)
    assert "W-SUMMARY-MISMATCH" not in {one.code for one in view.notices}
    for printed in run.tool.summaries:
        ours = view.summary(printed.metric)
        if ours is None:  # copies of no length
            assert printed.max_ms == 0
            continue
        for name in ("min_ms", "max_ms", "median_ms"):
            assert getattr(ours, name) == pytest.approx(getattr(printed, name), rel=2e-6)
        # recorded when the mean was still added up in 32-bit floats, as trtexec does
        assert ours.mean_ms == pytest.approx(printed.mean_ms, rel=1e-5)
        for p, value in printed.percentiles:
            assert ours.percentile(p).value_ms == pytest.approx(value, rel=2e-6)


def test_throughput_follows_from_the_times_alone(run, times) -> None:
    span_ms = times[-1]["endD2hMs"] - times[0]["startH2dMs"]
    assert 1e3 * len(times) / span_ms == pytest.approx(run.tool.throughput_per_s, rel=1e-5)


def test_times_hold_what_trtexec_writes_and_more(times) -> None:
    assert len(times) > 10_000
    for key in TRTEXECS:
        assert all(isinstance(row[key], float) for row in times), key
    column = {key: np.array([row[key] for row in times]) for key in times[0]}
    for length, part in (("enqueueMs", "EnqMs"), ("computeMs", "ComputeMs")):
        span = column[f"end{part}"] - column[f"start{part}"]
        np.testing.assert_allclose(column[length], span, atol=1e-8)
    # one query is enqueued while the one before it computes
    assert (column["startEnqMs"][1:] < column["endComputeMs"][:-1] + 0.02).mean() > 0.99
    assert (np.diff(column["startComputeMs"]) > 0).all()
    assert column["startComputeMs"][0] >= 200  # the warm-up lies before


def test_layers_of_the_profile_are_those_of_the_plan(run) -> None:
    assert {one.name for one in run.profile.layers} <= {one.name for one in run.plan.layers}
    found = RunView(run).layer_sum
    assert found.ratio == pytest.approx(1)  # without what the profiler added to each layer
    assert 1 < found.raw_ms / found.whole_ms < 4
    assert 0 < found.profiler_ms < found.raw_ms / len(run.profile.layers)


@pytest.mark.parametrize("step", ["build", "profile"])
def test_metadata_is_in_the_form_of_trex(folder, step) -> None:
    path = folder / f"{STEM}.{step}.metadata.json"
    report, notices = parse_trex_metadata(path.read_bytes(), path.name)
    assert notices == ()
    assert report.device.name == "NVIDIA H200"
    if step == "profile":
        assert {one.metric for one in report.summaries} >= {"trtexec_latency", "gpu_compute"}
        assert report.throughput_per_s is not None
    else:
        assert report.options["Build Options"]["Precision"] == "FP32+FP16"
