"""Requests of ``depth``, and what it reports while it runs.

Inputs of the timed models: which one takes the picture, on which GPU, and the stored file.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from enginescope.backends.registry import CPU_BACKEND
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import Record, replace
from enginescope.records.run.job import BackendSpec, DimSize, Job, Limits, TelemetryRule, Watcher
from enginescope.records.run.run import Run
from enginescope.records.run.sample_set import NORMALIZATIONS, AnswerRequest, Preprocessing
from enginescope.records.tensor import Tensor
from enginescope.runner.inputs.collect_outputs import answered
from enginescope.services.accuracy.request import SIDE_LIMITS, ValidationObserver
from enginescope.store.location import StorePlace

#: Most depth-estimation models were trained behind OpenCV's filter and ImageNet's mean.
PREPROCESSING = Preprocessing(
    filter="opencv-bicubic", mean=NORMALIZATIONS["imagenet"][0], std=NORMALIZATIONS["imagenet"][1]
)


class DepthRequest(Record, frozen=True, kw_only=True):
    """A benchmark of depth-estimation models. The fields are the parameters of `depth`.

    Attributes:
        models: ONNX models or engines. The other sides are compared with the first.
        dims: Sizes of named dynamic dimensions.
        command: The command line to record.
    """

    models: tuple[Path, ...]
    image: Path
    on: tuple[str, ...] = ()
    gt: Path | None = None
    metric_images_dir: Path | None = None
    metric_gt_dir: Path | None = None
    input_size: int | None = None
    dims: tuple[DimSize, ...] = ()
    warmup: int = 50
    iterations: int = 1000
    telemetry: TelemetryRule = TelemetryRule(depth="full")
    gpu_id: int = 0
    output_dir: Path = Path("benchmark_results")
    gt_scale: float = 1.0
    min_depth: float = 1e-3
    max_depth: float | None = None
    align: str = "median"
    disparity: bool = False
    preprocessing: Preprocessing = PREPROCESSING
    output_name: str | None = None
    fail_fast: bool = False
    limits: Limits = SIDE_LIMITS
    tags: tuple[str, ...] = ()
    store: StorePlace | None = None
    command: str | None = None


class DepthObserver(ValidationObserver):
    """Receives the progress of outputs and comparisons, then that of the timed runs."""

    def timing_started(self, _jobs: Sequence[Job]) -> Watcher | None:
        """Report the jobs that are measured; return what receives their progress."""
        return None

    def run_ended(self, run: Run, stored: int) -> None:
        """Report a run, and how many runs are stored by now."""


def check_depth_request(request: DepthRequest) -> None:
    """Raise `UsageError` where a request contradicts itself, or a file does not exist."""
    if not request.models:
        raise UsageError("no model", hint='es.depth("model.onnx", image="view.png")')
    if bool(request.metric_images_dir) != bool(request.metric_gt_dir):
        why = "each is of no use without the other"
        raise UsageError("`metric_images_dir` and `metric_gt_dir`", why=why)
    low, high = request.min_depth, request.max_depth
    if high is not None and high <= low:
        raise UsageError(f"`max_depth` {high:g}", why=f"`min_depth` is {low:g}")
    for name, value in (("warmup", request.warmup), ("iterations", request.iterations - 1)):
        if value < 0:
            raise UsageError(f"`{name}`", why="it is too small")
    for name, path in (("image", request.image), ("gt", request.gt)):
        if path is not None and not path.is_file():
            raise UsageError(f"`{name}` {path}", why="no such file")


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


def on_gpu(backend: str, number: int) -> str:
    """Return a backend with the number of its GPU, unless it is the first or is named already."""
    key = _GPU_OPTIONS.get(backend.partition("?")[0].partition(":")[0])
    if not number or key is None or f"{key}=" in backend:
        return backend
    return f"{backend}{'&' if '?' in backend else '?'}{key}={number}"


class SavedInputs:
    """A folder with the input of each side.

    Args:
        folder: Made when the first comes.
    """

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
