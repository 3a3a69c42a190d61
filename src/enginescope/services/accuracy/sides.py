"""The reference and the sides of a comparison of outputs; the reference rounded to each type.

Kernels differ in how they round, so that one rounded copy is too little: there is one for each of
`ORDERS`.
"""

import shutil
from collections.abc import Callable, Iterable, Sequence
from os import fspath
from pathlib import Path

from enginescope.analysis.errors.output_tolerance import TOLERANCES, widest
from enginescope.backends.base import Rounding
from enginescope.backends.registry import backend_of, parse_backend
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import Record, replace
from enginescope.formats.onnx import onnx_rounding
from enginescope.formats.onnx.onnx_precision import onnx_precision
from enginescope.formats.tensors.tensor_files import answer_file, has_expected, read_answers
from enginescope.judge.notice import Notice
from enginescope.judge.units import format_significant
from enginescope.records.run.job import CPU_BACKEND, Job
from enginescope.records.run.run import TensorValues
from enginescope.records.run.sample_set import Sample
from enginescope.runner.inputs.sample_feeds import check_shared_names
from enginescope.runner.jobs import make_jobs, usual_backend
from enginescope.runner.model_inputs import with_profile
from enginescope.services.accuracy.request import SIDE_LIMITS, ValidateRequest
from enginescope.services.store_access import store_at

#: Threads of the reference unless it is named with others: sums depend on how they are divided.
REFERENCE = f"{CPU_BACKEND}?intra_op_num_threads=1&inter_op_num_threads=1"
EXPECTED = "expected outputs of the data set"


class Side(Record, frozen=True, kw_only=True):
    """A model on a backend (`job`), or stored outputs: in a folder, or beside the samples' data."""

    label: str
    job: Job | None = None
    folder: str | None = None


class Sides(Record, frozen=True, kw_only=True):
    """The reference, the sides to compare with it, and a remark on the reference."""

    reference: Side
    others: tuple[Side, ...]
    note: str | None = None

    @property
    def every(self) -> tuple[Side, ...]:
        """The reference, then the others."""
        return (self.reference, *self.others)


def sides_of(request: ValidateRequest, samples: Sequence[Sample]) -> Sides:
    """Return reference and sides; the request's workload has the shapes of the models.

    Without a reference it is the expected outputs of the data sets, where they have some; else
    the first model on ONNX Runtime's CPU provider; else the first engine.
    """
    others, reference, note = _jobs(request), reference_side(request, samples), None
    if reference.job is not None:
        job = _reference_job(request)
        others = tuple(one for one in others if _key(one) != _key(job))
        if others:
            note = "; ".join(filter(None, (_note(job), _unused(request, samples))))
        elif request.targets is None:
            why = f"{job.subject.name} on {job.backend.name} is the reference and the only side"
            hint = "`on` trt, a second model, a test_data_set_* with outputs, `task` with `targets`"
            raise UsageError("nothing to compare", why=why, hint=hint)
    sides = [Side(label=side_label(job), job=_spanning(job, samples)) for job in others]
    found = _with_labels(reference, sides, note)
    check_shared_names([side.job for side in found.every if side.job is not None], samples)
    return found


def reference_side(request: ValidateRequest, samples: Sequence[Sample]) -> Side:
    """Return the reference of a request, whoever is compared with it."""
    named = request.reference
    if named is None and samples and all(has_expected(sample) for sample in samples):
        return Side(label=EXPECTED)
    if named is not None and Path(named).is_dir():
        return Side(label=f"outputs in {named}", folder=str(Path(named).resolve()))
    job = _reference_job(request)
    return Side(label=side_label(job), job=_spanning(job, samples))


def spanning_jobs(request: ValidateRequest, samples: Sequence[Sample]) -> tuple[Job, ...]:
    """Return the jobs of the sides of a request; engines take the shapes of all samples."""
    return tuple(_spanning(job, samples) for job in _jobs(request))


def _with_labels(reference: Side, others: Sequence[Side], note: str | None) -> Sides:
    every = [reference, *others]
    labels = [one.label for one in every]
    depth = 2
    while len(set(labels)) < len(labels):
        labels = [
            _longer(one, depth) if labels.count(label) > 1 else label
            for one, label in zip(every, labels, strict=True)
        ]
        depth += 1
    first, *rest = (replace(one, label=label) for one, label in zip(every, labels, strict=True))
    return Sides(reference=first, others=tuple(rest), note=note)


def _longer(side: Side, depth: int) -> str:
    """Return a side's label with so many parts of its file's path; then with all options."""
    job = side.job
    if job is None or job.subject.path is None:
        return side.label
    parts = Path(job.subject.path).resolve().parts
    if depth > len(parts):
        return f"{job.subject.path} · {job.backend}"
    return side_label(replace(job, subject=replace(job.subject, name="/".join(parts[-depth:]))))


def _unused(request: ValidateRequest, samples: Sequence[Sample]) -> str | None:
    """Return a remark on expected outputs that some samples have, and that are no reference."""
    having = sum(has_expected(sample) for sample in samples)
    if request.reference is not None or not having:
        return None
    return f"{having:,} of {len(samples):,} data sets have expected outputs: they are not used"


def _jobs(request: ValidateRequest) -> tuple[Job, ...]:
    jobs: tuple[Job, ...] = ()
    for model in request.models:
        on = request.backends or (usual_backend(model),)
        jobs += _made(model, with_profile(on, request.profile_index), request)
    return tuple({(job.subject.path, str(job.backend)): job for job in jobs}.values())


def _made(model: Path, on: Sequence[str], request: ValidateRequest) -> tuple[Job, ...]:
    return make_jobs(
        [model],
        on,
        request.workload,
        limits=request.limits or SIDE_LIMITS,
        layer_profile=False,
        data="none",
        engine_cache=store_at(request.store).path / "engines",
        rebuild=request.rebuild,
        is_elsewhere=request.is_elsewhere,
        has_its_inputs=False,
    )


def _reference_job(request: ValidateRequest) -> Job:
    first = request.models[0]
    if request.reference is None:
        return _made(first, _on_its_own(first, request), request)[0]
    given = fspath(request.reference)
    path = Path(given)
    if path.is_file():
        return _made(path, _on_its_own(path, request), request)[0]
    if path.suffix.lower() in {".onnx", ".engine", ".plan", ".trt"} or "/" in given.split("?")[0]:
        raise UsageError(f"reference {given}", why="no such file or folder")
    return _made(first, (REFERENCE if given == CPU_BACKEND else given,), request)[0]


def _on_its_own(model: Path, request: ValidateRequest) -> Sequence[str]:
    """Return the backend of a reference that is named by its file."""
    if usual_backend(model) == CPU_BACKEND:
        return (REFERENCE,)
    return with_profile((usual_backend(model),), request.profile_index)


def _note(job: Job) -> str:
    if job.backend.is_cpu:
        held = onnx_precision(Path(job.subject.path or ""))
        threads = job.backend.options.get("intra_op_num_threads")
        fixed = f", {threads} thread{'s' if threads != '1' else ''}" if threads else ""
        if held == "fp32":
            return f"computed in fp32 on the CPU{fixed}; TF32, FP16 and INT8 are expected to differ"
        return f"computed on the CPU{fixed}; the model itself holds {held}"
    return f"computed by {job.backend}, which rounds too"


def tolerance_name(side: Side, reference: Side) -> tuple[str, str]:
    """Return the row of tolerances for a side, and why that one."""
    found = [_precision(one.job) for one in (side, reference) if one.job is not None]
    name = widest(name for name, _ in found)
    return name, next(why for each, why in found if each == name)


def _precision(job: Job) -> tuple[str, str]:
    backend = job.backend
    if job.subject.kind == "engine":
        return "fp16", f"the precision of {job.subject.name} is not known"
    held = onnx_precision(Path(job.subject.path or ""))
    if backend.precision is not None:
        allowed = backend.precision.lower()
        name = allowed if allowed in TOLERANCES else "int8" if allowed == "best" else "fp16"
        if name != "fp32":
            found = widest((name, held))
            held_why = f"{job.subject.name} holds {held}"
            asked = f"{backend.name}:{backend.precision}"  # shapes and the like allow nothing
            return found, f"{asked} may compute in {allowed}" if found == name else held_why
    runtime = backend_of(backend)
    if held == "fp32" and isinstance(runtime, Rounding):
        smaller = runtime.unasked_precision(backend)
        if smaller is not None:
            why = f"{backend.name} may use {smaller.upper()} for FP32 values of the model"
            return smaller, why
    return held, f"{job.subject.name} holds {held}"


def _spanning(job: Job, samples: Sequence[Sample]) -> Job:
    """Return the job with an optimization profile over the shapes of all samples.

    Only for an engine that is yet to be built, and whose profiles nobody chose.
    """
    own = job.backend.options
    chosen = any(f"{bound}_shapes" in own for bound in ("min", "opt", "max"))
    shapes: dict[str, list[tuple[int, ...]]] = {}
    for sample in samples:
        for shape in sample.shapes:
            shapes.setdefault(shape.input, []).append(shape.dims)
    if job.backend.name != "trt" or job.subject.kind != "onnx" or chosen or not shapes:
        return job
    for fixed in job.workload.shapes:
        shapes.setdefault(fixed.name, []).append(fixed.dims)
    low = _bound(shapes, min)
    high = _bound(shapes, max)
    options = {**own, "min_shapes": low, "opt_shapes": high, "max_shapes": high}
    return replace(job, backend=replace(job.backend, options=options))


def _bound(shapes: dict[str, list[tuple[int, ...]]], which: Callable[..., int]) -> str:
    return ",".join(
        f"{name}:{'x'.join(str(which(sizes)) for sizes in zip(*dims, strict=True))}"
        for name, dims in shapes.items()
    )


def side_label(job: Job) -> str:
    """Return what a side is called; the usual reference without its options, which a note says."""
    backend = job.backend
    shown = replace(backend, options={}) if str(backend) == REFERENCE else backend
    return f"{job.subject.name} · {shown}"


def _key(job: Job) -> tuple[str | None, str]:
    """What makes two jobs one; threads that nobody chose are no difference."""
    spec = str(job.backend)
    return job.subject.path, CPU_BACKEND if spec == REFERENCE else spec


#: Beyond this, FP16 has infinities.
_LARGEST_FP16 = 65504.0
#: Rows whose type has no emulation, although it rounds.
_WITHOUT = frozenset({"fp4"})
_UNOPTIMIZED = "&graph_optimization_level=disable"


class RoundedReference:
    """Runs rounded copies of the reference, some for each row, and reads their outputs.

    Of `rows` in play, those that do not round, such as ``fp32``, need no copy.
    """

    def __init__(self, reference: Side, rows: Iterable[str], folder: Path) -> None:
        self._reference = reference
        self._rows = sorted({*rows} & (onnx_rounding.ROUNDED_ROWS | _WITHOUT))
        self._folder = folder / "rounded"
        self._copies: dict[str, list[onnx_rounding.RoundedCopy]] = {}
        self._largest: dict[str, float] = {}
        self.notices: list[Notice] = []

    def run(self, answer: Callable[[Job, Path], object]) -> None:
        """Let each copy `answer`; one that cannot leaves the row's own limits, and a notice."""
        for row in self._rows:
            why = self._obstacle(row)
            if why is None:
                why = self._ran(row, answer)
            if why is not None:
                notice = Notice(
                    code="I-NO-EXPECTED-NOISE",
                    message=f"the noise that {row} causes in this model is unknown: {why}; only "
                    "the limits of the row apply",
                    evidence={"row": row, "why": why},
                )
                self.notices.append(notice)

    def _ran(self, row: str, answer: Callable[[Job, Path], object]) -> str | None:
        job, copies = self._reference.job, []
        if job is None:
            return None
        for number, order in enumerate(onnx_rounding.ORDERS.get(row, ("nearest",))):
            home = self._folder / row / str(number)
            try:
                path = Path(job.subject.path or "")
                copies.append(onnx_rounding.rounded_onnx(path, row, home / "model", order))
                copy = str(copies[-1].path)
                subject = replace(job.subject, path=copy, sha256=None)
                backend = parse_backend(REFERENCE + _UNOPTIMIZED)  # optimizers drop rounding
                answer(replace(job, subject=subject, backend=backend), home)
            except (EnginescopeError, ValueError) as error:
                return str(error)
            finally:
                shutil.rmtree(home / "model", ignore_errors=True)
        self._copies[row] = copies
        return None

    def outputs(self, row: str, number: int) -> list[tuple[TensorValues, ...]]:
        """Return what each copy for a row gave for a sample; nothing without copies."""
        orders = []
        for order, copy in enumerate(self._copies.get(row, ())):
            tensors = read_answers(answer_file(self._folder / row / str(order), number))
            for tensor in tensors:
                if tensor.name == onnx_rounding.LARGEST:
                    for name, size in zip(copy.activations, tensor.data, strict=True):
                        self._largest[name] = max(self._largest.get(name, 0.0), float(size))
            orders.append(
                tuple(tensor for tensor in tensors if tensor.name != onnx_rounding.LARGEST)
            )
        return orders

    def close(self) -> None:
        """Remove what was written; add what was noticed."""
        shutil.rmtree(self._folder, ignore_errors=True)
        beyond = {name: size for name, size in self._largest.items() if size > _LARGEST_FP16}
        if beyond:
            name = max(beyond, key=lambda one: beyond[one])
            count = f"{len(beyond)} tensor{'s' * (len(beyond) > 1)}"
            self.notices.append(
                Notice(
                    code="W-FP16-RANGE",
                    message=f"{count} of the reference exceed FP16's largest value of 65,504: "
                    f"{name} reaches {format_significant(beyond[name], 3)}; the expected noise "
                    "has 65,504 there, and an engine in FP16 may give infinities",
                    evidence={"tensors": beyond},
                )
            )

    def _obstacle(self, row: str) -> str | None:
        """Return why the reference has no rounded copy."""
        job = self._reference.job
        if row in _WITHOUT:
            return f"enginescope cannot emulate {row}"
        if job is None:
            return "the reference is stored outputs, not a model"
        if job.subject.kind != "onnx":
            return "the reference is an engine, not an ONNX model"
        if not job.backend.is_cpu or job.backend.precision is not None:
            return f"the reference runs on {job.backend}, not in FP32 on the CPU"
        return None
