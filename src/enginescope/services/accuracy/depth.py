"""``depth``: depth-estimation models compared by speed, GPU, agreement, and ground truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from enginescope.analysis.tasks.depth_agreement import DepthBenchmark
from enginescope.core.errors import UsageError, os_errors_as
from enginescope.records.run.job import Limits
from enginescope.records.run.sample_set import Preprocessing
from enginescope.render.depth.depth_answer import depth_figures, depth_json
from enginescope.services.accuracy.depth_run import DepthRun
from enginescope.services.accuracy.output_files import output_folder
from enginescope.services.accuracy.request import (
    DEPTH_PREPROCESSING,
    SIDE_LIMITS,
    DepthObserver,
    DepthRequest,
    depth_workload,
)
from enginescope.services.output_files import write_each
from enginescope.services.store_access import stored_fields, writable_store

_Path: TypeAlias = str | PathLike[str]


def depth_models(request: DepthRequest, observer: DepthObserver) -> DepthBenchmark:
    """Compare depth-estimation models, measure them, and write figures into a folder."""
    _check(request)
    store = writable_store(request.store)
    with _folder(request) as folder:
        run = DepthRun(request, observer, folder, store)
        result = run.benchmark()
    files = {"depth.json": depth_json(result), **depth_figures(result)}
    lost, why = write_each(folder, files)
    for message in filter(None, (run.keeper.message, why)):
        observer.warn(message)
    written = tuple(folder / name for name in files if name not in lost)
    return replace(result, files=written, is_stored=not (lost or run.keeper.lost))


def _check(request: DepthRequest) -> None:
    """Raise `UsageError` where a request contradicts itself, or a file does not exist."""
    if not request.models:
        raise UsageError("no model", hint='es.depth("model.onnx", image="view.png")')
    if bool(request.metric_images_dir) != bool(request.metric_gt_dir):
        why = "each is of no use without the other"
        raise UsageError("`metric_images_dir` and `metric_gt_dir`", why=why)
    low, high = request.min_depth, request.max_depth
    if high is not None and high <= low:
        raise UsageError(f"`max_depth` {high:g}", why=f"`min_depth` is {low:g}")
    for name in ("image", "gt"):
        path = getattr(request, name)
        if path is not None and not path.is_file():
            raise UsageError(f"`{name}` {path}", why="no such file")


@contextmanager
def _folder(request: DepthRequest) -> Iterator[Path]:
    """Create the folder for files, and remove it again where nothing is written.

    Nothing is written beside what is read.
    """
    places = (request.gt, request.metric_images_dir, request.metric_gt_dir)
    read = [request.image, *filter(None, places)]
    folder = output_folder(request.output_dir, request.models, read, None)
    is_new = not folder.exists()
    with os_errors_as(UsageError, f"`output_dir` {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    except BaseException:  # also on Ctrl-C: leave no empty folder behind
        if is_new:
            with suppress(OSError):  # something lies in it
                folder.rmdir()
        raise


def depth(
    *models: _Path,
    image: _Path,
    on: str | Sequence[str] = (),
    gt: _Path | None = None,
    metric_images_dir: _Path | None = None,
    metric_gt_dir: _Path | None = None,
    input_size: int | None = None,
    warmup: int = 50,
    iterations: int = 1000,
    min_depth: float = 1e-3,
    max_depth: float | None = None,
    align: str = "median",
    disparity: bool = False,
    preprocessing: Preprocessing | None = None,
    output_dir: _Path = "benchmark_results",
    fail_fast: bool = False,
    limits: Limits | None = None,
    store: _Path | None = None,
) -> DepthBenchmark:
    """Compare depth-estimation models: latency, GPU, agreement with the first, ground truth.

    Args:
        *models: ONNX models or engines. The other sides are compared with the first.
        image: Picture that is timed and drawn.
        on: Backends; by default ``"ort-cpu"`` for a model, ``"trt"`` for an engine.
        gt: Ground truth of the picture.
        metric_images_dir, metric_gt_dir: Pictures that figures are averaged over, in place of
            `image`, and their ground truth by base name.
        input_size: Height and width of the input; by default the model's own, and 518 where it is
            dynamic.
        warmup, iterations: Inferences that are not measured, and those that are.
        min_depth, max_depth: Ground truth beyond is not compared.
        align: How a map is aligned with ground truth, picture by picture.
        disparity: The models give larger values for what is nearer.
        preprocessing: By default OpenCV's bicubic filter, and ImageNet's mean and deviation.
        output_dir: Folder for ``depth.json`` and figures.
        fail_fast: End with the first picture or depth file that cannot be read, instead of skipping
            it.
        limits: Of each side's process; by default 4 h.
        store: Store that gets the timed runs; by default the one the command line uses.

    Returns:
        ``found.sides[0].view.latency``, ``found.agreement``, ``found.quality``, ``found.files``.

    Raises:
        UsageError: A file does not exist, a model does not take pictures, or its output is not a
            map.
        BackendError: A model cannot be loaded or run.
    """
    return depth_models(
        DepthRequest(
            models=tuple(map(Path, models)),
            image=Path(image),
            backends=(on,) if isinstance(on, str) else tuple(on),
            gt=_path(gt),
            metric_images_dir=_path(metric_images_dir),
            metric_gt_dir=_path(metric_gt_dir),
            input_size=input_size,
            workload=depth_workload(warmup, iterations),
            min_depth=min_depth,
            max_depth=max_depth,
            align=align,
            disparity=disparity,
            preprocessing=preprocessing or DEPTH_PREPROCESSING,
            output_dir=Path(output_dir),
            fail_fast=fail_fast,
            limits=limits or SIDE_LIMITS,
            **stored_fields((), store),
        ),
        DepthObserver(),
    )


def _path(path: _Path | None) -> Path | None:
    return None if path is None else Path(path)
