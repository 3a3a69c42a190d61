"""Jobs on trtexec, measured in this process."""

from pathlib import Path
from typing import Any

from enginescope.backends.base import Measured
from enginescope.backends.trtexec.backend import TrtexecBackend
from enginescope.records.progress import Progress
from enginescope.records.run.job import BackendSpec, Job, StopRule, Subject, WarmUp, Workload
from enginescope.runner.inputs.inputs import make_feeds

QUICK = StopRule(duration_ms=20.0)
WARM = WarmUp(time_ms=100.0)


def workload(**changes: Any) -> Workload:
    return Workload(**{"stop": QUICK, "warmup": WARM, **changes})


def job(path: Path, *, precision: str | None = None, options: Any = None, **changes: Any) -> Job:
    kind = "engine" if path.suffix == ".engine" else "onnx"
    return Job(
        subject=Subject(name=path.name, kind=kind, path=str(path)),
        backend=BackendSpec(name="trtexec", precision=precision, options=options or {}),
        **{"workload": workload(), **changes},
    )


def measured(one: Job, seen: list[Progress] | None = None) -> Measured:
    found: list[Progress] = [] if seen is None else seen
    return TrtexecBackend().execute(one, lambda spec: make_feeds(spec, one.workload), found.append)


def codes(result: Measured) -> set[str]:
    return {one.code for one in result.notices}
