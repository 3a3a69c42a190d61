"""Requests of ``depth``, and what it reports while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.records.run.job import DimSize, Job, Limits
from enginescope.records.run.run import Run
from enginescope.records.run.sample_set import NORMALIZATIONS, Preprocessing
from enginescope.records.run.telemetry_rule import TelemetryRule
from enginescope.records.run.watcher import Watcher
from enginescope.services.accuracy.observer import ValidationObserver
from enginescope.services.accuracy.request import SIDE_LIMITS
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
            raise UsageError(f"`{name}` {path}", why="there is no such file")
