"""The steps of ``depth``: bindings, maps, figures, then times and the GPU, each side by itself."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.tasks.box_outputs import first_maps
from enginescope.analysis.tasks.depth import DepthTask
from enginescope.analysis.tasks.depth_agreement import DepthBenchmark, DepthSide
from enginescope.analysis.tasks.task_scoring import TaskReport, TaskScoring, base_name
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.optional import require
from enginescope.core.process_control import deferred_signals
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.tensors.tensor_files import answer_file, read_answers, read_skipped
from enginescope.records.run.job import CPU_BACKEND, BackendSpec, InputFile, InputShape, Job
from enginescope.records.run.run import Run
from enginescope.records.run.sample_set import AnswerRequest, Preprocessing, Sample
from enginescope.records.tensor import Tensor
from enginescope.runner.inputs.collect_outputs import answered
from enginescope.runner.inputs.images import (
    height_width,
    picture_samples,
    picture_shape,
    rgb_pixels,
)
from enginescope.runner.session import run_jobs
from enginescope.services.accuracy.request import DepthObserver, DepthRequest
from enginescope.services.accuracy.validation_run import collect_outputs
from enginescope.services.measurement.jobs import jobs_of
from enginescope.store.archive import RunKeeper, Store

#: Height and width of an input that leaves them open, as Depth Anything was trained.
_USUAL_SIZE = 518


@dataclass(frozen=True, slots=True)
class _Side:
    """A model on a backend, and where its outputs lie."""

    label: str
    job: Job
    preprocessing: Preprocessing
    folder: Path


class _KnownDepth:
    """The one target of the one picture; `Targets`."""

    in_order = False

    def __init__(self, key: str, values: Any) -> None:
        self._key, self._values = key, values

    def base_names(self) -> tuple[str, ...]:
        return (self._key,)

    def read(self, key: str) -> Any:
        del key
        return self._values


class DepthRun:
    """Executes a request; `folder` gets the inputs that are timed."""

    def __init__(
        self, request: DepthRequest, observer: DepthObserver, folder: Path, store: Store
    ) -> None:
        require("PIL.Image", purpose="reading images", install="enginescope[images]")
        require("vl_convert", purpose="drawing plots", install="enginescope[plots]")
        self._request, self._observer = request, observer
        self._store, self.keeper = store, RunKeeper(store)
        self._saved = SavedInputs(folder / "inputs")
        self._task = DepthTask(_task_options(request))
        self._picture = picture_samples([Path(request.image)])[0][0]
        self._image = rgb_pixels(Path(request.image))

    def benchmark(self) -> DepthBenchmark:
        """Return what the steps come to."""
        with temporary_folder() as work:
            return self._benchmark(work)

    def _benchmark(self, work: Path) -> DepthBenchmark:
        request = self._request
        target = self._task.load(Path(request.gt)) if request.gt else None
        images = request.metric_images_dir
        several = picture_samples([Path(images)])[0] if images else ()
        jobs = jobs_of(request.job_request(), self._store)
        jobs = tuple(on_gpu(job, request.gpu_id) for job in jobs)
        sides = tuple(self._opened(work / str(number), job) for number, job in enumerate(jobs))
        for side in sides:
            self._answer(side, (self._picture,), "picture", keeps_inputs=True)
            if several:
                self._answer(side, several, "set")
        answers = [read_answers(answer_file(side.folder / "picture", 0)) for side in sides]
        depths = [
            first_maps(own, request.output_name, side.label)[0]
            for own, side in zip(answers, sides, strict=True)
        ]
        first, *others = [side.label for side in sides]
        agreement = None
        if others:
            scoring = self._scoring(sides, "picture", (self._picture,))
            agreement = scoring.against_reference(first, others)
        quality = self._quality(sides, several, target)
        runs = self._timed(sides)
        return DepthBenchmark(
            image_name=self._picture.name,
            image=self._image,
            sides=tuple(
                DepthSide(label=side.label, view=RunView(run), depth=depth)
                for side, run, depth in zip(sides, runs, depths, strict=True)
            ),
            agreement=agreement,
            quality=quality,
            target=target,
        )

    def _opened(self, folder: Path, job: Job) -> _Side:
        """Ask a model for its bindings; an input that is dynamic gets its size here."""
        picture = picture_input(job, folder)
        given, preprocessing = self._request.input_size, self._request.preprocessing
        asked = {one.name: one.dims for one in job.workload.shapes}
        known = asked.get(picture.name, picture.shape or ())
        shape = picture_shape(known, (given or _USUAL_SIZE,) * 2)
        size = height_width(shape)
        if given is not None and size != (given, given):
            dims = "×".join(map(str, picture.shape or ()))
            why = f"input {picture.name} of {job.subject.name} is {dims}"
            raise UsageError(f"`input_size` {given}", why=why)
        if shape != picture.shape:
            preprocessing = replace(preprocessing, size=size)
            others = tuple(one for one in job.workload.shapes if one.name != picture.name)
            fixed = (*others, InputShape(name=picture.name, dims=shape))
            job = replace(job, workload=replace(job.workload, shapes=fixed))
        label = f"{job.subject.name} · {job.backend}"
        return _Side(label=label, job=job, preprocessing=preprocessing, folder=folder)

    def _answer(
        self, side: _Side, samples: Sequence[Sample], what: str, *, keeps_inputs: bool = False
    ) -> None:
        request = AnswerRequest(
            samples=tuple(samples),
            folder=str(side.folder / what),
            inputs_folder=str(side.folder / "inputs") if keeps_inputs else None,
            preprocessing=side.preprocessing,
            skips_unreadable=not self._request.fail_fast,
        )
        self._observer.comparison_started(len(samples))
        collect_outputs(side.job, request, self._observer.side_progressed)

    def _scoring(self, sides: Sequence[_Side], what: str, samples: Sequence[Sample]) -> TaskScoring:
        folders = {side.label: side.folder / what for side in reversed(sides)}
        skipped = (one for side in sides for one in read_skipped(side.folder / what))
        return TaskScoring(
            self._task,
            self._task.name,
            lambda label, number: read_answers(answer_file(folders[label], number)),
            [sample.name for sample in samples],
            skipped={sample.sample: sample.why for sample in skipped},
            fail_fast=self._request.fail_fast,
        )

    def _quality(
        self, sides: Sequence[_Side], several: Sequence[Sample], target: Any | None
    ) -> TaskReport | None:
        labels = [side.label for side in sides]
        folder = self._request.metric_gt_dir
        if several and folder is not None:
            scoring = self._scoring(sides, "set", several)
            return scoring.against_targets(labels, self._task.targets(Path(folder)), str(folder))
        if target is None:
            return None
        scoring = self._scoring(sides, "picture", (self._picture,))
        known = _KnownDepth(base_name(self._picture.name), target)
        return scoring.against_targets(labels, known, str(self._request.gt))

    def _timed(self, sides: Sequence[_Side]) -> tuple[Run, ...]:
        runs: list[Run] = []

        @deferred_signals()
        def keep(run: Run) -> None:
            self.keeper.keep(run, self._request.tags)
            runs.append(run)
            self._observer.run_ended(run, is_stored=run not in self.keeper.lost)

        try:
            self._observer.jobs_started(tuple(side.job for side in sides))
            jobs = tuple(self._fed(number, side) for number, side in enumerate(sides))
            run_jobs(jobs, keep, command=self._request.command, watcher=self._observer.watcher)
        except BaseException:  # also on Ctrl-C: keep no input of a run that is not stored
            self._saved.drop_but(len(runs))
            raise
        return tuple(self.keeper.stored(run) for run in runs)

    def _fed(self, number: int, side: _Side) -> Job:
        saved = self._saved.keep(number + 1, answer_file(side.folder / "inputs", 0))
        names = (answer.name for answer in read_answers(saved))
        files = tuple(InputFile(name=name, path=str(saved)) for name in names)
        return replace(side.job, workload=replace(side.job.workload, files=files))


def _task_options(request: DepthRequest) -> dict[str, str]:
    values = {
        "output": request.output_name,
        "holds": "disparity" if request.disparity else "depth",
        "align": request.align,
        "scale": request.gt_scale,
        "min_depth": request.min_depth,
        "max_depth": request.max_depth,
    }
    return {key: str(value) for key, value in values.items() if value is not None}


#: Says what a model takes without building anything.
_PLAIN = BackendSpec(name=CPU_BACKEND)
#: How backends are told which GPU.
_GPU_OPTIONS = {"trt": "device", "ort-cuda": "device_id", "ort-trt": "device_id"}


def picture_input(job: Job, folder: Path) -> Tensor:
    """Return the input of four dimensions.

    A model is asked on ONNX Runtime: TensorRT would have to build it first, for a size that
    is yet to be found out.
    """
    asked = replace(job, answering=AnswerRequest(folder=str(folder)))
    if job.subject.kind == "onnx" and job.backend.name != _PLAIN.name:
        try:
            run = answered(replace(asked, backend=_PLAIN))
        except BackendError:  # operators of plug-ins
            run = answered(asked)
    else:
        run = answered(asked)
    found = next((one for one in run.inputs if len(one.shape or ()) == 4), None)
    if found is None:
        shapes = ", ".join(f"{one.name} {one.shape}" for one in run.inputs)
        raise UsageError(f"{job.subject.name} has no image input", why=shapes)
    return found


def on_gpu(job: Job, number: int) -> Job:
    """Return a job on the GPU of this number, unless it is the first or is named already."""
    spec = job.backend
    key = _GPU_OPTIONS.get(spec.name)
    if not number or key is None or key in spec.options:
        return job
    return replace(job, backend=replace(spec, options={**spec.options, key: str(number)}))


class SavedInputs:
    """A folder, made when the first comes, with the input of each side."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._new: list[Path] = []

    def keep(self, number: int, source: Path) -> Path:
        """Return where a copy of `source` stays."""
        self._folder.mkdir(exist_ok=True)
        kept = self._folder / f"{number}.npz"
        if not kept.exists():  # one of an earlier call stays, whatever becomes of this one
            self._new.append(kept)
        shutil.copyfile(source, kept)
        return kept

    def drop_but(self, number: int) -> None:
        """Take away what came anew, but for the first `number`: those that stored runs name."""
        of_runs = {self._folder / f"{one}.npz" for one in range(1, number + 1)}
        for one in self._new:
            if one not in of_runs:
                one.unlink(missing_ok=True)
        with suppress(OSError):  # something lies in it, or it was never made
            self._folder.rmdir()
