"""``enginescope depth``: models of depth compared by speed, GPU, agreement and known depth."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.options import DURATION_MS, Finite, json_option, store_option, tags_option
from enginescope.cli.validate_options import FILTERS, MOST_PIXELS
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.analysis.depth_benchmark import DepthBenchmark

EXIT_RUN_FAILED = 3
_ABOVE_0 = Finite(0, min_open=True)


class DepthCommand(click.Command):
    """The verb; ``--engines`` takes all that follows it up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Say ``--engines`` again before each further one."""
        return super().parse_args(ctx, _repeated(args, ("--engines", "--on")))


def _repeated(args: list[str], names: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    open_name, has_value = None, False
    for one in args:
        if one in names:
            open_name, has_value = one, False
        elif one.startswith("-"):
            open_name = None
        elif open_name is not None:
            found += [open_name] if has_value else []
            has_value = True
        found.append(one)
    return found


@click.command("depth", cls=DepthCommand)
@click.option(
    "--engines",
    multiple=True,
    required=True,
    metavar="MODEL...",
    type=click.Path(path_type=Path),
    help="Engines or ONNX models; the first is the one that others are held against.",
)
@click.option(
    "--image",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Picture that is timed and drawn.",
)
@click.option("--gt", type=click.Path(dir_okay=False, path_type=Path), help="Its known depth.")
@click.option(
    "--metric-images-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Pictures that figures are averaged over, in place of --image alone.",
)
@click.option(
    "--metric-gt-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Their known depth, by base name: npy, npz, pfm, png.",
)
@click.option(
    "--input-size",
    type=click.IntRange(1, MOST_PIXELS),
    help="Height and width of the input.  [default: the model's own; 518 where it is dynamic]",
)
@click.option("--warmup", type=click.IntRange(0), default=50, show_default=True, help="At least.")
@click.option("--iterations", type=click.IntRange(1), default=1000, show_default=True)
@click.option(
    "--gpu-sample-interval",
    type=Finite(0.005),
    default=0.1,
    show_default=True,
    help="Seconds between two samples of the GPU, in a pass of its own.",
)
@click.option(
    "--telemetry-time", type=DURATION_MS, help="How long that pass repeats the loop.  [default: 5s]"
)
@click.option("--gpu-id", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("benchmark_results"),
    show_default=True,
)
@click.option(
    "--on",
    "backends",
    multiple=True,
    metavar="BACKEND...",
    help="[default: ort-cpu; trt for an engine]",
)
@click.option(
    "--gt-scale", type=_ABOVE_0, default=1.0, help="Times the values of depth files.  [1]"
)
@click.option("--min-depth", type=_ABOVE_0, default=1e-3, show_default=True)
@click.option("--max-depth", type=_ABOVE_0, help="Known depth beyond is left out.")
@click.option(
    "--align",
    type=click.Choice(["median", "scale-shift", "none"]),
    default="median",
    show_default=True,
    help="What is done to a map, picture by picture, before it is held against known depth.",
)
@click.option("--disparity", is_flag=True, help="The models give more for what is nearer.")
@click.option(
    "--normalise",
    type=click.Choice(["imagenet", "plain", "signed"]),
    default="imagenet",
    show_default=True,
    help="Of pictures: ImageNet's mean and deviation, 0…1, −1…1.",
)
@click.option(
    "--image-filter",
    type=click.Choice(FILTERS),
    default="opencv-bicubic",
    show_default=True,
    help="Of Pillow or of OpenCV, which is what models of depth were mostly trained behind.",
)
@click.option("--output-name", help="Output that is the map.  [default: the first that is one]")
@click.option("--timeout", type=DURATION_MS, default="4h", help="Of one side.  [default: 4h]")
@tags_option
@store_option
@json_option
def command(**options: Any) -> int:
    """Compare models of depth: latency, GPU, agreement with the first, and known depth.

    Writes depth_comparison.png, speed_benchmark.png, gpu_utilization.png and depth.json. Every
    model is timed in a fresh process; the runs are stored as those of bench are.
    """
    from enginescope.cli.bench import command_line, writable
    from enginescope.cli.depth_run import DepthRun
    from enginescope.cli.termination import ending_in_order
    from enginescope.store.archive import Store

    _check(options)
    store = writable(Store(options["store_folder"]))
    with (
        ending_in_order(),
        _folder(options) as folder,
        DepthRun(options, store, command_line(), folder) as doing,
    ):
        found = doing.benchmark()
    written = _write(found, folder)
    _present(found, written, options)
    failed = any(one.view.run.outcome.kind.value != "ok" for one in found.sides)
    return EXIT_RUN_FAILED if failed else 0


def _check(options: dict[str, Any]) -> None:
    if bool(options["metric_images_dir"]) != bool(options["metric_gt_dir"]):
        raise UsageError(
            "--metric-images-dir and --metric-gt-dir", why="each is of no use without the other"
        )
    low, high = options["min_depth"], options["max_depth"]
    if high is not None and high <= low:
        raise UsageError(f"--max-depth {high:g}", why=f"--min-depth is {low:g}")
    for name in ("image", "gt"):
        if options[name] is not None and not options[name].is_file():
            raise UsageError(f"--{name} {options[name]}", why="there is no such file")


@contextmanager
def _folder(options: dict[str, Any]) -> Iterator[Path]:
    """Make the folder for files, and take it away again where nothing came of it.

    Nothing goes beside what is read.
    """
    folder: Path = options["output_dir"]
    read = [one.resolve().parent for one in (*options["engines"], options["image"])]
    read += [options["gt"].resolve().parent] if options["gt"] else []
    for name in ("metric_images_dir", "metric_gt_dir"):
        read += [options[name].resolve()] if options[name] else []
    if folder.resolve() in read:
        raise UsageError(
            f"--output-dir {folder}", why="models or pictures lie in it", hint="a new folder"
        )
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--output-dir {folder}", why=error.strerror or str(error)) from error
    try:
        yield folder.resolve()
    except BaseException:  # also on Ctrl-C: leave no empty folder behind
        if is_new:
            with suppress(OSError):  # something lies in it
                folder.rmdir()
        raise


def _write(found: DepthBenchmark, folder: Path) -> tuple[Path, ...]:
    from enginescope.core.jsonio import write_atomic
    from enginescope.render.depth_data import depth_json
    from enginescope.render.depth_figures import depth_figures

    files = {"depth.json": depth_json(found), **depth_figures(found)}
    for name, data in files.items():
        write_atomic(folder / name, data)
    return tuple(folder / name for name in files)


def _present(found: DepthBenchmark, written: tuple[Path, ...], options: dict[str, Any]) -> None:
    if options["as_json"]:
        from enginescope.render.depth_data import depth_json

        sys.stdout.buffer.write(depth_json(found))
        sys.stdout.flush()
        return
    from enginescope.render.depth_text import depth_text
    from enginescope.render.text import show

    width = shutil.get_terminal_size().columns
    store = options["store_folder"]
    files = tuple(map(str, written))
    show(depth_text(found, files, width=width, store=str(store) if store else None))
