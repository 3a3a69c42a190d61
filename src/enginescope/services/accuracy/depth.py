"""``depth``: depth-estimation models compared by speed, GPU, agreement, and ground truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

from enginescope.analysis.tasks.depth_agreement import DepthBenchmark
from enginescope.core.errors import UsageError, os_errors_as, reason_of
from enginescope.core.jsonio import write_atomic
from enginescope.records.run.job import Limits
from enginescope.records.run.sample_set import Preprocessing
from enginescope.render.depth.depth_figures import depth_figures
from enginescope.render.depth.depth_writers import depth_json
from enginescope.services.accuracy.depth_request import (
    PREPROCESSING,
    DepthObserver,
    DepthRequest,
    check_depth_request,
)
from enginescope.services.accuracy.depth_run import DepthRun
from enginescope.services.accuracy.request import SIDE_LIMITS
from enginescope.services.own_command import own_command
from enginescope.services.store_access import writable_store
from enginescope.store.archive import RunKeeper
from enginescope.store.location import parse_place

_Path: TypeAlias = str | PathLike[str]


def depth_models(request: DepthRequest, observer: DepthObserver) -> DepthBenchmark:
    """Compare depth-estimation models, measure them, and write figures into a folder."""
    check_depth_request(request)
    store = writable_store(request.store)
    keeper = RunKeeper(store)
    with _folder(request) as folder, DepthRun(request, observer, folder, keeper) as run:
        result = run.benchmark()
    files, lost = _write(result, folder)
    for message in filter(None, (keeper.message, lost)):
        observer.warn(message)
    return replace(result, files=files, is_stored=not (lost or keeper.lost))


@contextmanager
def _folder(request: DepthRequest) -> Iterator[Path]:
    """Create the folder for files, and remove it again where nothing is written.

    Nothing is written beside what is read.
    """
    folder = request.output_dir
    read = [path.resolve().parent for path in (*request.models, request.image)]
    read += [request.gt.resolve().parent] if request.gt else []
    for images in (request.metric_images_dir, request.metric_gt_dir):
        read += [images.resolve()] if images else []
    if folder.resolve() in read:
        raise UsageError(
            f"`output_dir` {folder}", why="it contains models or images", hint="a new folder"
        )
    is_new = not folder.exists()
    with os_errors_as(UsageError, f"`output_dir` {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder.resolve()
    except BaseException:  # also on Ctrl-C: leave no empty folder behind
        if is_new:
            with suppress(OSError):  # something lies in it
                folder.rmdir()
        raise


def _write(result: DepthBenchmark, folder: Path) -> tuple[tuple[Path, ...], str | None]:
    """Return the files that were written, and a message on those that could not be."""
    written, lost, why = [], [], ""
    for name, data in {"depth.json": depth_json(result), **depth_figures(result)}.items():
        try:
            write_atomic(folder / name, data)
            written.append(folder / name)
        except OSError as error:
            lost.append(name)
            why = reason_of(error)
    if not lost:
        return tuple(written), None
    message = f"{', '.join(lost)} could not be stored in {folder}: {why}; the figures are above"
    return tuple(written), f"{message}; make space, or name another folder, and run it again"


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
            on=(on,) if isinstance(on, str) else tuple(on),
            gt=_path(gt),
            metric_images_dir=_path(metric_images_dir),
            metric_gt_dir=_path(metric_gt_dir),
            input_size=input_size,
            warmup=warmup,
            iterations=iterations,
            min_depth=min_depth,
            max_depth=max_depth,
            align=align,
            disparity=disparity,
            preprocessing=preprocessing or PREPROCESSING,
            output_dir=Path(output_dir),
            fail_fast=fail_fast,
            limits=limits or SIDE_LIMITS,
            store=None if store is None else parse_place(fspath(store)),
            command=own_command(),
        ),
        DepthObserver(),
    )


def _path(path: _Path | None) -> Path | None:
    return None if path is None else Path(path)
