"""The suite that needs a GPU and TensorRT: ``make test-gpu``. It prints what it ran on.

``ENGINESCOPE_GPU_MODELS``: a folder of further ONNX models. ``ENGINESCOPE_GPU_OPTIONS``: options of
the backend that this TensorRT needs, such as ``tactic_sources=-CUDNN,-CUBLAS``.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from enginescope.backends.registry import load_backend
from enginescope.core.errors import EnginescopeError
from enginescope.core.record import replace
from enginescope.records.run.job import BackendSpec, Mode, StopRule, WarmUp, Workload
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.runner.inputs.sample_models import sample_models
from enginescope.runner.jobs import make_jobs
from enginescope.runner.session import run_jobs

MODELS = os.environ.get("ENGINESCOPE_GPU_MODELS")
OPTIONS = os.environ.get("ENGINESCOPE_GPU_OPTIONS", "")
SHORT = Workload(warmup=WarmUp(time_ms=100), stop=StopRule(duration_ms=500))


def missing() -> str | None:
    """Say why the suite cannot run here; ``None`` if it can."""
    try:
        load_backend("trt").require(BackendSpec(name="trt"))  # type: ignore[attr-defined]
    except EnginescopeError as error:
        return str(error)
    return None


def pytest_report_header() -> str:
    return f"GPU suite on: {load_backend('trt').availability().detail}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = f"{Path(__file__).parent}{os.sep}"
    ours = [item for item in items if str(item.path).startswith(here)]
    need_tensorrt = [item for item in ours if item.path.stem != "test_ort_providers"]
    why = missing() if need_tensorrt else None
    for item in ours:
        item.add_marker(pytest.mark.gpu)
        if why is not None and item in need_tensorrt:
            item.add_marker(pytest.mark.skip(reason=why))


def spec(precision: str | None = None, **options: str) -> str:
    """Return a backend specification with what this TensorRT needs."""
    pairs = [*([OPTIONS] if OPTIONS else []), *(f"{key}={one}" for key, one in options.items())]
    name = f"trt:{precision}" if precision else "trt"
    return f"{name}?{'&'.join(pairs)}" if pairs else name


def model_files() -> list[Path]:
    return sorted(Path(MODELS).glob("*.onnx")) if MODELS else []


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("ENGINESCOPE_GPU_CACHE")
    return Path(kept) if kept else tmp_path_factory.mktemp("engines")


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    return sample_models(tmp_path_factory.mktemp("models"))


@dataclass(frozen=True)
class Measuring:
    engines: Path

    def __call__(self, model: Path, backend: str, workload: Workload = SHORT, **mode) -> Run:
        asked = replace(workload, mode=Mode(**mode))
        jobs = make_jobs([model], [backend], asked, data="none", engine_cache=self.engines)
        (run,) = run_jobs([replace(job, keep_outputs=True) for job in jobs], lambda _: None)
        return run


@pytest.fixture
def measure(engines: Path) -> Measuring:
    return Measuring(engines)


def ok(run: Run) -> Run:
    assert run.outcome.kind is OutcomeKind.OK, run.outcome
    return run
