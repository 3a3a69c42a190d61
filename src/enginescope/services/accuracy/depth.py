"""``depth``: depth-estimation models compared by speed, GPU, agreement, and ground truth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.analysis.tasks.depth_agreement import DepthBenchmark
from enginescope.core.errors import UsageError, os_errors_as
from enginescope.render.depth.depth_answer import depth_figures, depth_json
from enginescope.services.accuracy.depth_run import DepthRun
from enginescope.services.accuracy.output_files import output_folder
from enginescope.services.accuracy.request import DepthObserver, DepthRequest
from enginescope.services.declared import File, documented
from enginescope.services.output_files import write_each
from enginescope.services.store_access import own_command, writable_store

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from enginescope.services.keywords import DepthKeywords


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
        if path is not None and not Path(path).is_file():
            raise UsageError(f"`{name}` {path}", why="no such file")


@contextmanager
def _folder(request: DepthRequest) -> Iterator[Path]:
    """Create the folder for files, and remove it again where nothing is written.

    Nothing is written beside what is read.
    """
    places = (request.image, request.gt, request.metric_images_dir, request.metric_gt_dir)
    read = [Path(place) for place in places if place is not None]
    folder = output_folder(Path(request.output_dir), request.models, read, None)
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


@documented(DepthRequest)
def depth(*models: File, **options: Unpack[DepthKeywords]) -> DepthBenchmark:
    """Compare depth-estimation models: latency, GPU, agreement with the first, ground truth.

    Without `store`, the timed runs are in the store of the command line.

    Returns:
        ``found.sides[0].view.latency``, ``found.agreement``, ``found.quality``, ``found.files``.

    Raises:
        UsageError: A file does not exist, a model does not take pictures, or its output is not a
            map.
        BackendError: A model cannot be loaded or run.
    """
    request = DepthRequest(models=tuple(map(Path, models)), command=own_command(), **options)
    return depth_models(request, DepthObserver())
