"""The steps of ``depth``: bindings, maps, figures, then times and the GPU, each side by itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from enginescope.analysis.depth_benchmark import DepthBenchmark, DepthSide
from enginescope.analysis.run_view import RunView
from enginescope.analysis.task_report import TaskReport
from enginescope.analysis.task_scoring import TaskScoring
from enginescope.analysis.tasks.depth import DepthTask
from enginescope.analysis.tasks.map_outputs import first_maps
from enginescope.analysis.tasks.pairing import base_name
from enginescope.backends.base import Progress
from enginescope.cli.bench import usual_backend
from enginescope.cli.depth_inputs import on_gpu, picture_input
from enginescope.cli.kept_inputs import KeptInputs
from enginescope.cli.progress import JobProgress
from enginescope.cli.telemetry_options import with_telemetry
from enginescope.cli.termination import saying_what_stands
from enginescope.cli.validate_options import preprocessing_of
from enginescope.cli.validation_progress import ValidationProgress
from enginescope.core.errors import UsageError
from enginescope.core.optional import require
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.answer_files import answer_file, read_answers
from enginescope.model.job import (
    InputFile,
    InputShape,
    Job,
    Limits,
    StopRule,
    Workload,
)
from enginescope.model.run import Run
from enginescope.model.sample_set import AnswerRequest, Preprocessing, Sample
from enginescope.model.tensor_values import TensorValues
from enginescope.runner.answering import answered
from enginescope.runner.images import IMAGE_SUFFIXES, rgb_pixels
from enginescope.runner.jobs import make_jobs
from enginescope.runner.picture_shape import height_width, picture_shape
from enginescope.runner.sample_sources import samples_in
from enginescope.runner.session import run_jobs
from enginescope.store.archive import Store

#: Height and width of an input that leaves them open, as Depth Anything was trained.
_USUAL_SIZE = 518


@dataclass(frozen=True, slots=True)
class _Side:
    """A model on a backend, and where its answers lie."""

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
    """Does it.

    Parameters
    ----------
    options : dict
        Of the verb.
    store : Store
        Gets the timed runs.
    command : str
        As typed.
    folder : pathlib.Path
        Gets the inputs that were timed.
    """

    def __init__(self, options: dict[str, Any], store: Store, command: str, folder: Path) -> None:
        require("PIL.Image", purpose="reading pictures", install="enginescope[images]")
        require("vl_convert", purpose="drawing plots", install="enginescope[plots]")
        self._folder = ExitStack()
        self._options = options
        self._store = store
        self._command = command
        self._kept = KeptInputs(folder / "inputs")
        self._task = DepthTask(_task_options(options))
        self._picture = samples_in([options["image"]]).samples[0]
        self._image = rgb_pixels(options["image"])

    def __enter__(self) -> DepthRun:
        """Make the folder for answers."""
        self._work = self._folder.enter_context(temporary_folder())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take it away."""
        self._folder.close()

    def benchmark(self) -> DepthBenchmark:
        """Return what it came to.

        Raises
        ------
        UsageError
            A model does not take pictures, or gives no map.
        BackendError
            A model cannot be loaded or run.
        """
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
        made: tuple[Job, ...] = ()
        options = self._options
        for model in options["engines"]:
            on = options["backends"] or (usual_backend(model),)
            on = [on_gpu(one, options["gpu_id"]) for one in on]
            made += make_jobs(
                [model],
                on,
                self._workload(),
                limits=Limits(timeout_s=options["timeout"] / 1e3),
                layer_profile=False,
                data="none",
                engine_cache=self._store.path / "engines",
            )
        return made

    def _workload(self) -> Workload:
        from enginescope.cli.bench import warm_up_of

        iterations = self._options["iterations"]
        warmup = warm_up_of((self._options["warmup"],))
        return Workload(warmup=warmup, stop=StopRule(iterations=iterations))

    def _opened(self, number: int, job: Job) -> _Side:
        """Ask a model for its bindings; an input that is dynamic gets its size here."""
        folder = self._work / str(number)
        picture = picture_input(job, folder)
        given = self._options["input_size"]
        preprocessing = preprocessing_of(
            {
                **dict.fromkeys(("image_fit", "image_colours", "layout", "image_divisor")),
                **dict.fromkeys(("image_mean", "image_std", "image_size")),
                "normalise": self._options["normalise"],
                "image_filter": self._options["image_filter"],
            }
        )
        shape = picture_shape(picture.shape or (), (given or _USUAL_SIZE,) * 2)
        size = height_width(shape)
        if given is not None and size != (given, given):
            dims = "×".join(map(str, picture.shape or ()))
            raise UsageError(
                f"--input-size {given}", why=f"input {picture.name} of {job.subject.name} is {dims}"
            )
        if shape != picture.shape:
            preprocessing = replace(preprocessing, size=size)
            fixed = (InputShape(name=picture.name, dims=shape),)
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
        )
        job = replace(side.job, answering=request)
        with ValidationProgress(len(samples), quiet=self._options["as_json"]) as progress:
            progress.watch(job, None)
            answered(job, partial(_tell, progress, job))

    def _answers_of(
        self, sides: Sequence[_Side], what: str, label: str, number: int
    ) -> tuple[TensorValues, ...]:
        side = next(one for one in sides if one.label == label)
        return read_answers(answer_file(side.folder / what, number))

    def _map(self, side: _Side) -> Any:
        answers = self._answers_of((side,), "picture", side.label, 0)
        return first_maps(answers, self._options["output_name"], side.label)[0]

    def _scoring(self, sides: Sequence[_Side], what: str, samples: Sequence[Sample]) -> TaskScoring:
        names = [one.name for one in samples]
        answers_of = partial(self._answers_of, sides, what)
        return TaskScoring(self._task, self._task.name, answers_of, names)

    def _agreement(self, sides: Sequence[_Side]) -> TaskReport | None:
        if len(sides) < 2:
            return None
        first, *others = (one.label for one in sides)
        return self._scoring(sides, "picture", (self._picture,)).against_reference(first, others)

    def _quality(
        self, sides: Sequence[_Side], several: Sequence[Sample], target: Any | None
    ) -> TaskReport | None:
        labels = [one.label for one in sides]
        options = self._options
        if several:
            folder = options["metric_gt_dir"]
            scoring = self._scoring(sides, "set", several)
            return scoring.against_targets(labels, self._task.targets(folder), str(folder))
        if target is None:
            return None
        scoring = self._scoring(sides, "picture", (self._picture,))
        known = _KnownDepth(base_name(self._picture.name), target)
        return scoring.against_targets(labels, known, str(options["gt"]))

    def _target(self) -> Any | None:
        path = self._options["gt"]
        return self._task.load(path) if path else None

    def _metric_samples(self) -> tuple[Sample, ...]:
        folder = self._options["metric_images_dir"]
        if folder is None:
            return ()
        if not folder.is_dir():
            raise UsageError(f"--metric-images-dir {folder}", why="there is no such folder")
        pictures = sorted(one for one in folder.rglob("*") if one.suffix.lower() in IMAGE_SUFFIXES)
        if not pictures:
            raise UsageError(f"--metric-images-dir {folder}", why="there is no picture in it")
        found = samples_in(pictures).samples
        return tuple(
            replace(sample, name=path.relative_to(folder).as_posix())
            for sample, path in zip(found, pictures, strict=True)
        )

    def _timed(self, sides: Sequence[_Side]) -> tuple[Run, ...]:
        """Measure every side on its own input, then sample its GPU."""
        made: list[Run] = []
        try:
            with saying_what_stands(lambda: f"{len(made)} of {len(sides)} runs are stored"):
                self._measure(sides, made)
        except BaseException:  # also on Ctrl-C: keep no input of a run that is not stored
            self._kept.drop_but(len(made))
            raise
        return tuple(self._store.load(run.id) for run in made)

    def _measure(self, sides: Sequence[_Side], made: list[Run]) -> None:
        jobs = with_telemetry(
            tuple(self._fed(number, side) for number, side in enumerate(sides)),
            {
                "telemetry": True,
                "telemetry_time": self._options["telemetry_time"],
                "gpu_sample_interval": 1e3 * self._options["gpu_sample_interval"],
                "timeout": None,
            },
        )
        with JobProgress(jobs, quiet=self._options["as_json"]) as progress:

            def keep(run: Run) -> None:
                self._store.save(run, tags=self._options["tags"])
                made.append(run)
                progress.ended(run)

            run_jobs(jobs, keep, command=self._command, watcher=progress.watcher)

    def _fed(self, number: int, side: _Side) -> Job:
        """Return the job with the picture as its input, from a file that stays."""
        kept = self._kept.keep(number + 1, answer_file(side.folder / "inputs", 0))
        names = (one.name for one in read_answers(kept))
        files = tuple(InputFile(name=name, path=str(kept)) for name in names)
        return replace(side.job, workload=replace(side.job.workload, files=files))


def _tell(progress: ValidationProgress, job: Job, state: Progress) -> None:
    progress.watch(job, state)


def _task_options(options: dict[str, Any]) -> dict[str, str]:
    given = {
        "output": options["output_name"],
        "holds": "disparity" if options["disparity"] else "depth",
        "align": options["align"],
        "scale": options["gt_scale"],
        "min_depth": options["min_depth"],
        "max_depth": options["max_depth"],
    }
    return {key: str(value) for key, value in given.items() if value is not None}
