"""The backend on the stand-in, in this process."""

from contextlib import closing
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from enginescope.backends.base import Measured
from enginescope.backends.registry import backend_of
from enginescope.backends.tensorrt.backend import TrtBackend
from enginescope.backends.tensorrt.libraries import load
from enginescope.backends.tensorrt.run.session import TrtSession
from enginescope.core.record import replace
from enginescope.records.plan.build import BuildReport
from enginescope.records.progress import Progress
from enginescope.records.run import job as records
from enginescope.records.run.job import InputShape, Job, Mode, Workload
from enginescope.runner.inputs.inputs import make_feeds

#: What is measured where nothing else is asked for: no warm-up, and little of it.
COUNT = 12
LATENCY = Mode(kind="latency")
THROUGHPUT = Mode(kind="throughput", in_flight=2, transfers=False)


def workload(count: int = COUNT, **more: Any) -> Workload:
    none, stop = records.WarmUp(time_ms=0, iterations=0), records.StopRule(iterations=count)
    return Workload(**{"warmup": none, "stop": stop, **more})


def shapes(**dims: tuple[int, ...]) -> tuple[InputShape, ...]:
    return tuple(InputShape(name=name, dims=one) for name, one in dims.items())


def job(path: Path, precision: str | None = None, /, **more: Any) -> Job:
    """Return a job; what is no field of `Job` is an option of the backend."""
    fields = {key: more.pop(key) for key in list(more) if key in Job.__struct_fields__}
    kind = "engine" if path.suffix in (".engine", ".plan") else "onnx"
    usual = {
        "subject": records.Subject(name=path.name, kind=kind, path=str(path)),
        "backend": records.BackendSpec(name="trt", precision=precision, options=more),
        "workload": workload(),
        "layer_profile": False,
        "keep_outputs": True,
    }
    return Job(**{**usual, **fields})


def build(one: Job, seen: list[Progress] | None = None) -> Measured:
    return TrtBackend().build(one, (seen if seen is not None else []).append)


def report(found: Measured) -> BuildReport:
    assert found.build is not None
    return found.build


def with_engine(one: Job, folder: Path) -> Job:
    """Return the job with its engine, built into a folder."""
    kept = replace(one, engine_cache=str(folder))
    return replace(kept, engine=report(build(kept)).engine)


def measure(one: Job) -> Measured:
    backend = backend_of(one.backend)
    backend.prepare()
    return backend.execute(one, lambda specs: make_feeds(specs, one.workload), lambda _: None)


def series(found: Measured, metric: str) -> np.ndarray:
    return next(one.values_ms for one in found.samples if one.metric == metric)


def metrics(found: Measured) -> set[str]:
    return {one.metric for one in found.samples}


def codes(found: Measured) -> set[str]:
    return {one.code for one in found.notices}


def expected(path: Path, one: Job) -> list[np.ndarray]:
    """Return what ONNX Runtime's CPU provider answers to the feeds that the engine got."""
    backend = TrtBackend()
    backend.prepare()
    with opened(one) as session:
        feeds = make_feeds(session.input_specs, one.workload)
    runtime = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64}
    fed = {one.name: feeds.arrays[one.name].astype(types[one.type]) for one in runtime.get_inputs()}
    return runtime.run(None, fed)


def opened(one: Job, mode: Mode | None = None) -> closing[TrtSession]:
    return closing(TrtSession(load(one.backend.options.get("runtime")), one, mode))


def listening(fake: Any, name: str) -> list[tuple]:
    """Return the arguments of each call of a function of CUDA from here on."""
    calls, real = [], getattr(fake.cuda, name)
    setattr(fake.cuda, name, lambda *arguments: (calls.append(arguments), real(*arguments))[1])
    return calls


def absent(name: str) -> str:
    """Look for the version of a distribution that is not installed."""
    raise PackageNotFoundError(name)
