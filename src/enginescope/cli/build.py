"""``enginescope build``: an ONNX model into a TensorRT engine, with all that explains it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.build_options import build_options, options_of
from enginescope.cli.options import DURATION_MS, SHAPE, SIZE, json_option, note, store_option
from enginescope.cli.outputs import check_outputs
from enginescope.core.errors import UsageError
from enginescope.model.job import BackendSpec, Workload

if TYPE_CHECKING:
    from enginescope.model.job import Job
    from enginescope.model.run import Run

EXIT_RUN_FAILED = 3


@click.command("build")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="The engine's file."
)
@click.option("--on", "backend", default="trt", show_default=True, help="trt, trt:fp16, …")
@click.option("--shape", "shapes", multiple=True, type=SHAPE, help="The only shape of an input.")
@click.option("--batch", type=click.IntRange(1), help="Size of dynamic first dimensions.")
@build_options
@click.option("--rebuild", is_flag=True, help="Build anew, whatever the cache has.")
@click.option("--timeout", type=DURATION_MS, help="Of the build.  [default: 2h]")
@click.option("--memory-limit", type=SIZE, help="Of the build.  [default: 90 % of free memory]")
@store_option
@json_option
def command(model: Path, output: Path | None, backend: str, **options: Any) -> int:
    """Build MODEL into an engine, and write its plan, metadata and log beside it.

    Engines are cached by model, options, TensorRT, GPU and driver: the second call takes the kept
    one.
    """
    from enginescope.cli.bench import command_line
    from enginescope.cli.progress import JobProgress
    from enginescope.cli.termination import ending_in_order
    from enginescope.formats.engine_file import ENGINE_SUFFIXES
    from enginescope.runner.session import build_engines

    if model.suffix.lower() in ENGINE_SUFFIXES:
        raise UsageError(f"{model} is an engine already", hint=f"enginescope bench {model}")
    target = _target(output or model.with_suffix(".engine"))
    check_outputs([target], [model])
    jobs = _jobs(model, backend, options)
    written: list[Path] = []
    with ending_in_order(), JobProgress(jobs, quiet=options["as_json"]) as progress:

        def keep(run: Run) -> None:
            if run.outcome.kind.value == "ok":
                written.extend(_write(run, target))

        (run,) = build_engines(jobs, keep, command=command_line(), watcher=progress.watcher)
    _present(run, written, as_json=options["as_json"])
    return 0 if run.outcome.kind.value == "ok" else EXIT_RUN_FAILED


def _jobs(model: Path, backend: str, options: dict[str, Any]) -> tuple[Job, ...]:
    from enginescope.cli.bench import writable
    from enginescope.runner.jobs import limits_for, make_jobs
    from enginescope.store.archive import Store

    store = writable(Store(options["store_folder"]))
    workload = Workload(batch=options["batch"], shapes=options["shapes"])
    timeout = options["timeout"] and options["timeout"] / 1e3
    return make_jobs(
        [model],
        [str(_spec(backend, options_of(options)))],
        workload,
        limits=limits_for(workload, timeout_s=timeout, memory_bytes=options["memory_limit"]),
        data="none",
        engine_cache=store.path / "engines",
        rebuild=options["rebuild"],
    )


def _spec(text: str, options: dict[str, str]) -> BackendSpec:
    """Return the backend with the options of the command line added to its own.

    Raises
    ------
    UsageError
        It builds no engines, or an option is given both ways.
    """
    from enginescope.backends.base import Builder
    from enginescope.backends.registry import load_backend, parse_backend

    spec = parse_backend(text)
    backend = load_backend(spec.name)
    if not isinstance(backend, Builder):
        raise UsageError(f"{spec.name} builds no engines", hint="--on trt")
    twice = sorted(options.keys() & spec.options.keys())
    if twice:
        raise UsageError(f"{twice[0]}", why="it is given both in --on and as an option")
    return BackendSpec(
        name=spec.name, precision=spec.precision, options={**spec.options, **options}
    )


def _target(path: Path) -> Path:
    if not path.resolve().parent.is_dir():
        raise UsageError(f"engine {path}", why=f"there is no folder {path.parent}")
    return path


def _write(run: Run, target: Path) -> list[Path]:
    """Copy the engine and what lies beside it in the cache to where they are wanted."""
    if run.build is None:
        return []
    shutil.copyfile(run.build.engine, target)
    found = [target]
    source = Path(run.build.engine)
    for file in sorted(source.parent.iterdir()):
        if not file.name.startswith(f"{source.name}."):
            continue
        beside = target.with_name(target.name + file.name[len(source.name) :])
        shutil.copyfile(file, beside)
        found.append(beside)
    return found


def _present(run: Run, written: list[Path], *, as_json: bool) -> None:
    from enginescope.core.jsonio import encode
    from enginescope.render.build_text import build_text
    from enginescope.render.text import show

    if as_json:
        told = {"outcome": run.outcome, "build": run.build, "notices": run.notices}
        sys.stdout.buffer.write(encode({"files": [str(one) for one in written], **told}))
        return
    show(build_text(run))
    for one in written:
        note(f"wrote {one}")
