import hashlib
from collections.abc import Iterable

import numpy as np

from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Environment, Host
from enginescope.records.run.job import BackendSpec, Job, Mode, Subject, Workload
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.records.tensor import DataType, Tensor

HOST = Environment(host=Host(name="bench-1", cpu_model="Xeon", cores_usable=2))
CRASH = Outcome(kind=OutcomeKind.CRASHED, message="segmentation fault", signal=11)


def job(model: str = "net.onnx", spec: str = "ort-cpu", *, sha: str | None = None, **mode) -> Job:
    named, _, environment = spec.partition("@")
    name, _, precision = named.partition(":")
    return Job(
        subject=Subject(name=model, kind="onnx", path=f"/models/{model}", sha256=sha),
        backend=BackendSpec(
            name=name, precision=precision or None, environment=environment or None
        ),
        workload=Workload(batch=1, mode=Mode(**mode)),
    )


def process(
    median_ms: float, number: int = 0, *, of: Job | None = None, n: int = 300, **more
) -> Run:
    """A run whose samples scatter by 0.2 % about a median; the same each time."""
    of = of or job()
    text = f"{of.subject.name}/{of.backend}/{median_ms}/{number}/{sorted(more)}"
    digest = hashlib.sha256(text.encode())
    draw = np.random.default_rng(int.from_bytes(digest.digest()[:8], "big"))
    values = median_ms * (1 + 0.002 * draw.standard_normal(n))
    fields = {
        "id": digest.hexdigest()[:12],
        "created": f"2026-01-01T{number // 60 % 24:02}:{number % 60:02}:00.000000+00:00",
        "origin": "measured",
        "job": of,
        "environment": HOST,
        "inputs": (Tensor(name="x", dtype=DataType.FP32, shape=(1, 3, 8, 8)),),
        "samples": (Samples(metric="latency", values_ms=frozen(values)),),
    }
    return Run(**(fields | more))


def with_device_latency(run: Run, ratio: float) -> Run:
    """The run with a second series: what its requests take without copies, of what they do."""
    device = Samples(metric="device_latency", values_ms=frozen(ratio * run.samples[0].values_ms))
    return replace(run, samples=(*run.samples, device))


def crashed(number: int = 0, *, of: Job | None = None) -> Run:
    """A run whose process died before the model was loaded: no shapes, no samples."""
    return process(1.0, number, of=of, outcome=CRASH, samples=(), inputs=())


def processes(
    median_ms: float,
    count: int = 5,
    *,
    of: Job | None = None,
    first: int = 0,
    apart: Iterable[float] = (0.0, 0.001, -0.001, 0.002, -0.002),
    **more,
) -> list[Run]:
    """Several runs of one job whose medians lie a little apart."""
    steps = [*apart] * count
    return [process(median_ms * (1 + steps[at]), first + at, of=of, **more) for at in range(count)]
