"""Jobs in processes of their own: builds, kept engines, deaths."""

from pathlib import Path

import numpy as np
import pytest

from enginescope.core.record import replace
from enginescope.records.run.job import InputShape, Mode
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.runner.jobs import make_jobs
from enginescope.runner.session import build_engines, run_jobs
from tests.backends.tensorrt.driving import LATENCY, THROUGHPUT, workload
from tests.fakes import loading, models


def jobs(path: Path, engines: Path, *backends: str, mode: Mode = LATENCY, **more):
    load = workload(20, mode=mode, shapes=(InputShape(name="x", dims=(3, 4)),))
    made = make_jobs([path], backends or ("trt",), load, engine_cache=engines, **more)
    return tuple(replace(one, keep_outputs=True) for one in made)


class Kept:
    """A sink that reads what is only there during its call."""

    def __init__(self) -> None:
        self.texts: list[dict[str, str]] = []

    def __call__(self, run: Run) -> None:
        self.texts.append({one.kind: Path(one.path).read_text() for one in run.artifacts})


@pytest.mark.parametrize("version", loading.VERSIONS[1:])  # 8.6 below
def test_a_model_is_built_once_and_measured_each_time(use, perceptron, engines, version) -> None:
    use(version)
    kept = Kept()
    asked = jobs(perceptron, engines) + jobs(
        perceptron, engines, mode=THROUGHPUT, layer_profile=False
    )
    first, second = run_jobs(asked, kept)
    for run in (first, second):
        assert run.outcome.kind is OutcomeKind.OK, run.outcome
        assert len(run.headline or ()) == 20
        assert run.job.workload.batch == 3
        assert run.job.workload.mode.cuda_graph is True
        assert run.plan is not None
        assert run.environment.devices[0].name == "Fake H200"
        versions = run.environment.versions
        assert [one for name, one in versions.items() if name.startswith("tensorrt")] == [
            run.build.tensorrt
        ]
    np.testing.assert_array_equal(first.answers[0].data, second.answers[0].data)
    assert not first.build.from_cache
    names = [one.name for one in first.phases]
    assert names[:2] == ["parse", "build"]
    assert {"load", "first_inference", "steady_state", "layer_profile"} <= set(names)
    assert second.build.from_cache
    assert second.phase_ms("build") is None
    assert second.build.key == first.build.key
    assert {"plan", "build_log", "trex_metadata"} <= set(kept.texts[0])
    assert "[TRT]" in kept.texts[0]["build_log"]
    assert second.wall_ms is not None
    assert second.wall_ms > 20 * 0.2


def test_an_engine_is_built_anew_where_that_is_asked(use, perceptron, engines) -> None:
    use()
    (first,) = build_engines(jobs(perceptron, engines), lambda _: None)
    (again,) = build_engines(jobs(perceptron, engines, rebuild=True), lambda _: None)
    (kept,) = build_engines(jobs(perceptron, engines), lambda _: None)
    assert [one.build.from_cache for one in (first, again, kept)] == [False, False, True]
    assert first.samples == ()
    assert first.plan is not None
    assert kept.phases == ()
    assert kept.environment.host.name


def test_one_job_that_cannot_be_built_costs_no_other(use, perceptron, tmp_path, engines) -> None:
    use("8.6.0")
    strange = models.missing_operator(tmp_path / "strange.onnx")
    garbage = tmp_path / "garbage.onnx"
    garbage.write_bytes(b"garbage")
    kept, options = Kept(), {"engine_cache": engines, "layer_profile": False}
    asked = make_jobs([strange, garbage, perceptron], ["trt:int8"], workload(), **options)
    refused, damaged, *good = run_jobs((*asked, asked[-1]), kept)
    assert refused.outcome.kind is OutcomeKind.UNSUPPORTED
    assert "strange (fake.missing::Frobnicate)" in (refused.outcome.message or "")
    assert "While parsing node number 1" in kept.texts[0]["worker_log"]
    assert damaged.outcome.kind is OutcomeKind.FAILED
    assert "MODEL_DESERIALIZE_FAILED" in (damaged.outcome.message or "")
    for run in good:  # what the build says is said of each run of its engine
        assert run.outcome.kind is OutcomeKind.OK
        codes = [one.code for one in run.notices]
        assert codes.count("W-RANDOM-CALIBRATION") == 1
        assert codes.count("W-BUILD-SHAPE") == 1


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("crash_build", OutcomeKind.CRASHED, "SIGSEGV"),
        ("build_fails", OutcomeKind.FAILED, "Could not find any implementation"),
        ("crash_run", OutcomeKind.CRASHED, "SIGSEGV"),
        ("oom_context", OutcomeKind.OUT_OF_MEMORY, "OutOfMemory"),
        ("illegal_address", OutcomeKind.FAILED, "cudaErrorIllegalAddress"),
    ],
)
def test_a_death_is_an_outcome_with_its_log(use, perceptron, engines, fault, kind, words) -> None:
    use("10.16.1", fault)
    kept = Kept()
    (run,) = run_jobs(jobs(perceptron, engines), kept)
    assert run.outcome.kind is kind
    assert words in (run.outcome.message or "")
    assert run.samples == ()
    of_build = fault in ("crash_build", "build_fails")
    assert (run.build is None) == of_build
    assert "[TRT]" in kept.texts[0]["worker_log" if of_build else "build_log"]
