"""The steps of ``depth``: bindings, maps, figures, then times and the GPU, each side by itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.tasks.box_outputs import first_maps
from enginescope.analysis.tasks.depth import DepthTask
from enginescope.analysis.tasks.depth_agreement import DepthBenchmark, DepthSide
from enginescope.analysis.tasks.pairing import base_name
from enginescope.analysis.tasks.task_scoring import TaskReport, TaskScoring
from enginescope.core.errors import UsageError
from enginescope.core.optional import require
from enginescope.core.record import replace
from enginescope.core.signals import deferred_signals
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.tensors.answer_files import answer_file, read_answers, read_skipped
from enginescope.records.run.job import InputFile, InputShape, Job, StopRule, WarmUp, Workload
from enginescope.records.run.run import Run, TensorValues
from enginescope.records.run.sample_set import AnswerRequest, Preprocessing, Sample
from enginescope.runner.inputs.images import IMAGE_SUFFIXES, height_width, picture_shape, rgb_pixels
from enginescope.runner.inputs.sample_feeds import samples_in
from enginescope.runner.jobs import make_jobs, usual_backend, watched
from enginescope.runner.session import run_jobs
from enginescope.services.accuracy.depth_request import (
    DepthObserver,
    DepthRequest,
    SavedInputs,
    on_gpu,
    picture_input,
)
from enginescope.services.accuracy.validation_run import collect_outputs
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
        self._key = key
        self._values = values

    def base_names(self) -> tuple[str, ...]:
        return (self._key,)

    def read(self, key: str) -> Any:
        del key
        return self._values


class DepthRun:
    """Executes a request.

    Args:
        folder: Gets the inputs that are timed.
    """

    def __init__(
        self, request: DepthRequest, observer: DepthObserver, folder: Path, keeper: RunKeeper
    ) -> None:
        require("PIL.Image", purpose="reading images", install="enginescope[images]")
        require("vl_convert", purpose="drawing plots", install="enginescope[plots]")
        self._request, self._observer, self._keeper = request, observer, keeper
        self._folder = ExitStack()
        self._saved = SavedInputs(folder / "inputs")
        self._task = DepthTask(_task_options(request))
        self._picture = samples_in([request.image]).samples[0]
        self._image = rgb_pixels(request.image)

    def __enter__(self) -> DepthRun:
        self._work = self._folder.enter_context(temporary_folder())
        return self

    def __exit__(self, *_error: object) -> None:
        self._folder.close()

    def benchmark(self) -> DepthBenchmark:
        """Return what it came to."""
        target = self._target()
        several = self._metric_samples()
        jobs = self._jobs()
        sides = tuple(self._opened(number, job) for number, job in enumerate(jobs))
        for side in sides:
            self._answer(side, (self._picture,), "picture", keeps_inputs=True)
            if several:
                self._answer(side, several, "set")
        depths = [self._map(side) for side in sides]
        agreement = self._agreement(sides)
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

    def _jobs(self) -> tuple[Job, ...]:
        request = self._request
        workload = Workload(
            warmup=WarmUp(time_ms=0.0, iterations=request.warmup),
            stop=StopRule(iterations=request.iterations),
            dims=request.dims,
        )
        jobs: tuple[Job, ...] = ()
        for model in request.models:
            on = request.on or (usual_backend(model),)
            jobs += make_jobs(
                [model],
                [on_gpu(backend, request.gpu_id) for backend in on],
                workload,
                limits=request.limits,
                layer_profile=False,
                data="none",
                engine_cache=Store(request.store).path / "engines",
            )
        return jobs

    def _opened(self, number: int, job: Job) -> _Side:
        """Ask a model for its bindings; an input that is dynamic gets its size here."""
        folder = self._work / str(number)
        picture = picture_input(job, folder)
        given, preprocessing = self._request.input_size, self._request.preprocessing
        asked = {one.name: one.dims for one in job.workload.shapes}
        known = asked.get(picture.name, picture.shape or ())
        shape = picture_shape(known, (given or _USUAL_SIZE,) * 2)
        size = height_width(shape)
        if given is not None and size != (given, given):
            dims = "×".join(map(str, picture.shape or ()))
            raise UsageError(
                f"`input_size` {given}", why=f"input {picture.name} of {job.subject.name} is {dims}"
            )
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

    def _answers_of(
        self, sides: Sequence[_Side], what: str, label: str, number: int
    ) -> tuple[TensorValues, ...]:
        side = next(one for one in sides if one.label == label)
        return read_answers(answer_file(side.folder / what, number))

    def _map(self, side: _Side) -> Any:
        answers = self._answers_of((side,), "picture", side.label, 0)
        return first_maps(answers, self._request.output_name, side.label)[0]

    def _scoring(self, sides: Sequence[_Side], what: str, samples: Sequence[Sample]) -> TaskScoring:
        names = [sample.name for sample in samples]
        answers_of = partial(self._answers_of, sides, what)
        skipped = {
            one.sample: one.why for side in sides for one in read_skipped(side.folder / what)
        }
        fail_fast = self._request.fail_fast
        return TaskScoring(
            self._task, self._task.name, answers_of, names, skipped=skipped, fail_fast=fail_fast
        )

    def _agreement(self, sides: Sequence[_Side]) -> TaskReport | None:
        if len(sides) < 2:
            return None
        first, *others = (side.label for side in sides)
        return self._scoring(sides, "picture", (self._picture,)).against_reference(first, others)

    def _quality(
        self, sides: Sequence[_Side], several: Sequence[Sample], target: Any | None
    ) -> TaskReport | None:
        labels = [side.label for side in sides]
        folder = self._request.metric_gt_dir
        if several and folder is not None:
            scoring = self._scoring(sides, "set", several)
            return scoring.against_targets(labels, self._task.targets(folder), str(folder))
        if target is None:
            return None
        scoring = self._scoring(sides, "picture", (self._picture,))
        known = _KnownDepth(base_name(self._picture.name), target)
        return scoring.against_targets(labels, known, str(self._request.gt))

    def _target(self) -> Any | None:
        path = self._request.gt
        return self._task.load(path) if path else None

    def _metric_samples(self) -> tuple[Sample, ...]:
        folder = self._request.metric_images_dir
        if folder is None:
            return ()
        if not folder.is_dir():
            raise UsageError(f"`metric_images_dir` {folder}", why="no such folder")
        pictures = sorted(one for one in folder.rglob("*") if one.suffix.lower() in IMAGE_SUFFIXES)
        if not pictures:
            raise UsageError(f"`metric_images_dir` {folder}", why="it has no image")
        found = samples_in(pictures).samples
        return tuple(
            replace(sample, name=path.relative_to(folder).as_posix())
            for sample, path in zip(found, pictures, strict=True)
        )

    def _timed(self, sides: Sequence[_Side]) -> tuple[Run, ...]:
        """Measure every side on its own input, then sample its GPU."""
        runs: list[Run] = []

        @deferred_signals()
        def keep(run: Run) -> None:
            self._keeper.keep(run, self._request.tags)
            runs.append(run)
            self._observer.run_ended(run, len(runs) - len(self._keeper.lost))

        try:
            watcher = self._observer.timing_started([side.job for side in sides])
            jobs = tuple(self._fed(number, side) for number, side in enumerate(sides))
            jobs = watched(jobs, self._request.telemetry, is_bounded=False)
            run_jobs(jobs, keep, command=self._request.command, watcher=watcher)
        except BaseException:  # also on Ctrl-C: keep no input of a run that is not stored
            self._saved.drop_but(len(runs))
            raise
        return tuple(self._keeper.stored(run) for run in runs)

    def _fed(self, number: int, side: _Side) -> Job:
        """Return the job with the picture as its input, from a file that stays."""
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
