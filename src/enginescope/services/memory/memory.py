"""Memory: what fills it and when, of a plan, of a stored run, or of a model measured for it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginescope.analysis.memory.fit import Fit, Probe, next_size
from enginescope.analysis.memory.memory_view import MemoryView, memory_of
from enginescope.core.errors import UsageError
from enginescope.core.jsonio import encode
from enginescope.core.record import Record, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.notice import Notice
from enginescope.records.run.job import CPU_BACKEND, StopRule, WarmUp, Workload
from enginescope.records.run.run import Run
from enginescope.render.memory.memory_data import memory_data
from enginescope.runner.inputs.sample_models import EMPTY_MODEL, sample_models
from enginescope.services.measurement.bench import measure_models
from enginescope.services.measurement.jobs import JobRequest, raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.observer import PlanObserver
from enginescope.services.plans.plan_input import PlanName
from enginescope.services.plans.resolve_plan import resolve_plan
from enginescope.services.shapes.shapes import Sweep, sweep_points
from enginescope.store.location import StorePlace

#: Enough for the one block that ONNX Runtime takes from the second inference on.
_STOP = StopRule(iterations=3)
_NO_WARM_UP = WarmUp(time_ms=0, iterations=0, limit_ms=0)
_MOST_PROBES = 30


class MemoryRequest(Record, frozen=True, kw_only=True):
    """Whose memory to explain, and a limit to fit into.

    `what` is an ONNX model, which is measured on a backend with the workload's inputs, or what
    `resolve_plan` takes. Find the largest size of `fits_dim` (``"batch"``, or the name of a dynamic
    dimension) whose process stays within `fits_bytes`.
    """

    what: PlanName
    on: str | None = None
    workload: Workload = Workload()
    fits_bytes: int | None = None
    fits_dim: str = "batch"
    store: StorePlace | None = None


@dataclass(kw_only=True, eq=False)
class MemoryReport:
    """The memory of an engine, or of a model on a backend, and what fits into a limit, if any."""

    name: str
    backend: str | None
    view: MemoryView
    fit: Fit | None = None
    notices: tuple[Notice, ...] = ()

    def to_json(self) -> bytes:
        """Return parts, peak, tensors, layers and arena as a JSON document."""
        return encode(memory_data(self.name, self.backend, self.view, self.fit, self.notices))


def explain_memory(request: MemoryRequest, observer: MeasurementObserver) -> MemoryReport:
    """Tell what fills the memory of a plan, a run or a model, which is measured for it.

    Raise `UsageError` if a plan does not tell its tensors, or if a limit is not of a model.
    """
    model = Path(request.what) if isinstance(request.what, str | Path) else Path()
    if model.suffix.lower() != ".onnx" or not model.is_file():
        if request.fits_bytes is not None:
            why = f"{request.what} is not an ONNX model"
            raise UsageError("`fits`", why=why, hint="give the .onnx file")
        source = resolve_plan(request.what, store=request.store, observer=PlanObserver())
        source.needed_plan()
        run = source.as_run()
        backend = str(run.job.backend) if source.kind == "run" else None
        view, notices = _view(run, None), source.own_notices
        return MemoryReport(name=source.name, backend=backend, view=view, notices=notices)
    run = _measured(request, model, observer, request.workload)
    with temporary_folder() as folder:
        (empty,) = sample_models(folder, EMPTY_MODEL)  # its process is the runtime alone
        runtime = _measured(request, empty, observer, Workload(), layer_profile=False)
    view = _view(run, runtime.peak_memory_bytes)
    fit = _fit(request, model, observer) if request.fits_bytes is not None else None
    return MemoryReport(
        name=run.job.subject.name, backend=str(run.job.backend), view=view, fit=fit,
        notices=run.notices,
    )  # fmt: skip


def _view(run: Run, runtime_bytes: int | None) -> MemoryView:
    view = None
    if run.plan is not None:
        view = memory_of(
            run.plan,
            run.arenas,
            process_bytes=run.peak_memory_bytes,
            runtime_bytes=runtime_bytes,
            device=run.device_memory,
        )
    if view is None:
        why = "its plan does not tell the tensors between the layers"
        hint = f"measure an ONNX model on {CPU_BACKEND}, or give a plan with detailed verbosity"
        raise UsageError(f"the memory of {run.job.subject.name}", why=why, hint=hint)
    return view


def _measured(
    request: MemoryRequest,
    model: Path,
    observer: MeasurementObserver,
    workload: Workload,
    **fields: Any,
) -> Run:
    with temporary_folder() as folder:
        jobs = JobRequest(
            models=(model,),
            on=request.on,
            workload=replace(
                workload, stop=_STOP, warmup=_NO_WARM_UP, mode=replace(workload.mode, loop="python")
            ),
            store=folder,
            **fields,
        )
        (run,) = measure_models(jobs, observer, is_stored=False).runs
    raise_unless_ok(run)
    return run


def _fit(request: MemoryRequest, model: Path, observer: MeasurementObserver) -> Fit:
    """Search for the largest size that fits; memory grows with it."""
    limit = request.fits_bytes or 0
    found: dict[int, int | None] = {}

    def fits(size: int) -> bool:
        (point,) = sweep_points(
            model, Sweep(name=request.fits_dim, sizes=(size,)), request.workload
        )
        run = _measured(request, model, observer, point.workload, layer_profile=False)
        found[size] = run.peak_memory_bytes
        observer.check_cancelled()
        return (found[size] or limit + 1) <= limit

    low, high = 0, None
    while len(found) < _MOST_PROBES and (high is None or high - low > 1):
        size = next_size(found, low, high, limit)
        if fits(size):
            low = size
        else:
            high = size
    dim = request.fits_dim
    probes = tuple(Probe(size=size, process_bytes=found[size]) for size in sorted(found))
    return Fit(dim=dim, limit_bytes=limit, size=low, process_bytes=found.get(low), probes=probes)
