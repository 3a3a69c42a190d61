"""``enginescope validate``: do models and engines still give the right answers?"""

from __future__ import annotations

import shutil
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from enginescope.cli.options import (
    DURATION_MS,
    INPUT,
    MOST_ITEMS,
    RANGE,
    SIZE,
    Finite,
    json_option,
    note,
    store_option,
)
from enginescope.cli.validate_bisect import bisect_options, check_options, looked_into
from enginescope.cli.validate_options import (
    PERCENTAGE,
    TOLERANCE,
    WIDE_SHAPE,
    image_options,
    preprocessing_of,
)
from enginescope.cli.validate_task import asked_task, task_options
from enginescope.core.errors import UsageError
from enginescope.model.job import Limits, Workload

if TYPE_CHECKING:
    from enginescope.analysis.validation import Validation
    from enginescope.validation_run import Plan, ValidationRun
    from enginescope.validation_samples import SampleChoice
    from enginescope.validation_task import AskedTask

EXIT_WRONG = 1
EXIT_RUN_FAILED = 3
#: More random ones than anybody waits for; a slip of the finger would fill the memory.
_MOST_SAMPLES = 1_000_000


@click.command("validate")
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--on",
    "backends",
    multiple=True,
    help="Backend of the sides; repeat for several.  [default: ort-cpu; trt for an engine]",
)
@click.option(
    "--reference",
    metavar="BACKEND|MODEL|ENGINE|DIR",
    help="What is right.  [default: a data set's outputs, else the first model on ort-cpu]",
)
@click.option(
    "--data",
    "data",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Samples: data sets, npy, npz, raw, pb, pictures, or folders of them.  "
    "[default: test_data_set_* beside the first model, else random]",
)
@click.option("--random", "is_random", is_flag=True, help="Random samples, whatever is there.")
@click.option(
    "--samples",
    "count",
    type=click.IntRange(1, _MOST_SAMPLES),
    help="So many random ones, or the first of the data.  [default: 8; all]",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--input-shape",
    "--shape",
    "shapes",
    multiple=True,
    type=WIDE_SHAPE,
    help="Shape of an input; an input named again makes a second set of samples.",
)
@click.option("--batch", type=click.IntRange(1, MOST_ITEMS), help="Of dynamic first dimensions.")
@click.option("--input", "files", multiple=True, type=INPUT, help="Values of an input, always.")
@click.option("--range", "ranges", multiple=True, type=RANGE, help="Bounds of random integers.")
@click.option("--tolerance", metavar="PRECISION", help="Limits of fp32, tf32, fp16, int8, …")
@click.option("--rtol", multiple=True, type=TOLERANCE, help="In place of those limits.")
@click.option("--atol", multiple=True, type=TOLERANCE, help="In place of those limits.")
@click.option(
    "--percent-mismatch",
    "mismatch",
    multiple=True,
    type=PERCENTAGE,
    help="Elements beyond atol + rtol × |reference| that may be.",
)
@click.option("--percent", type=Finite(0), help="Count relative errors beyond.  [1]")
@image_options
@click.option("--profile-index", type=click.IntRange(0), help="Optimisation profile of engines.")
@click.option("--rebuild", is_flag=True, help="Build engines anew, whatever the cache has.")
@click.option("--timeout", type=DURATION_MS, default="4h", help="Of one side.  [default: 4h]")
@click.option("--memory-limit", type=SIZE, help="Of one side.")
@click.option(
    "--output",
    "-o",
    "output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for output_diff.json, per_sample_diff.json, validate.html and samples/.",
)
@click.option("--skip-output-save", is_flag=True, help="No samples/ in it.")
@task_options
@bisect_options
@store_option
@json_option
def command(models: tuple[Path, ...], backends: tuple[str, ...], **options: Any) -> int:
    """Compare the answers of MODELS with a reference, given the same inputs.

    Every side answers in a fresh process. Exit code 1: an output is not within its limits, or a
    figure of the task is not.
    """
    from enginescope.cli.bench import command_line
    from enginescope.cli.termination import ending_in_order
    from enginescope.store.archive import Store
    from enginescope.validation_files import work_folder

    asked = asked_task(options)
    options["store"] = Store(options["store_folder"])
    typed, output = command_line(), _output_folder(options, models)
    keeps = not options["skip_output_save"]
    # told to end, the folder goes too
    with ending_in_order(), work_folder(output, keeps_samples=keeps) as folder:
        options["alone"] = asked is not None and asked.stands_alone
        plan = _plan(models, backends, options, folder, output)
        check_options(plan, options)
        found, doing = _validated(plan, options, asked)
        created = datetime.now(timezone.utc).isoformat(timespec="seconds")
        found = msgspec.structs.replace(found, command=typed, created=created)
        if output is not None:
            from enginescope.validation_files import write_files

            write_files(found, doing, output)
    _present(found, output, as_json=options["as_json"])
    if doing.failed:
        return EXIT_RUN_FAILED
    return 0 if found.passes else EXIT_WRONG


def _plan(
    models: tuple[Path, ...],
    backends: tuple[str, ...],
    options: dict[str, Any],
    folder: Path,
    output: Path | None,
) -> Plan:
    from enginescope.analysis.output_tolerance import ToleranceRequest, tolerance_named
    from enginescope.validation_pictures import with_picture_shapes
    from enginescope.validation_request import ValidationRequest
    from enginescope.validation_run import Plan
    from enginescope.validation_sides import sides_of

    preprocessing = preprocessing_of(options)
    chosen = _samples(models[0], options)
    samples = with_picture_shapes(chosen.samples, models, preprocessing)
    workload = Workload(
        batch=options["batch"],
        seed=options["seed"],
        shapes=chosen.shapes,
        files=options["files"],
        ranges=options["ranges"],
    )
    asked = ToleranceRequest(
        rtol=options["rtol"],
        atol=options["atol"],
        mismatch_pct=options["mismatch"],
        percent=options["percent"],
    )
    named = options["tolerance"]
    request = ValidationRequest(
        models=tuple(map(str, models)),
        backends=backends,
        reference=options["reference"],
        workload=workload,
        limits=Limits(timeout_s=options["timeout"] / 1e3, memory_bytes=options["memory_limit"]),
        engine_cache=str(options["store"].path / "engines"),
        profile_index=options["profile_index"],
        rebuild=options["rebuild"],
        alone=options["alone"],
    )
    return Plan(
        sides=sides_of(request, samples),
        samples=samples,
        preprocessing=preprocessing,
        folder=str(folder),
        keeps_inputs=output is not None and not options["skip_output_save"],
        tolerance=tolerance_named(named).name if named else None,
        asked=asked,
    )


def _samples(model: Path, options: dict[str, Any]) -> SampleChoice:
    from enginescope.validation_samples import SampleRequest, choose_samples

    found = choose_samples(
        model,
        SampleRequest(
            data=tuple(map(str, options["data"])),
            images=tuple(map(str, options["images"])),
            is_random=options["is_random"],
            count=options["count"],
            seed=options["seed"],
            shapes=options["shapes"],
            has_files=bool(options["files"]),
            image_input=options["image_input"],
        ),
    )
    if found.skipped:
        shown = ", ".join(found.skipped[:3]) + (" …" if len(found.skipped) > 3 else "")
        count = len(found.skipped)
        what = "1 file is no sample" if count == 1 else f"{count:,} files are no samples"
        note(f"{what}: {shown}")
    return found


def _validated(
    plan: Plan, options: dict[str, Any], asked: AskedTask | None
) -> tuple[Validation, ValidationRun]:
    from enginescope.cli.validation_progress import ValidationProgress
    from enginescope.validation_run import ValidationRun

    with ValidationProgress(len(plan.samples), quiet=options["as_json"]) as progress:
        doing = ValidationRun(plan, progress.watch)
        doing.bindings()
        doing.answers()
        found = doing.compared(progress.comparing)
        if asked is not None:
            from enginescope.validation_task import with_task

            found = with_task(found, doing, asked, progress.comparing)
        return looked_into(found, plan, progress, options), doing


def _present(found: Validation, output: Path | None, *, as_json: bool) -> None:
    if as_json:
        from enginescope.render.validate_data import output_diff_json

        sys.stdout.buffer.write(output_diff_json(found))
        sys.stdout.flush()
        return
    from enginescope.render.text import show
    from enginescope.render.validate_text import validate_text

    width = shutil.get_terminal_size().columns
    show(validate_text(found, width=width, files=str(output) if output else None))


def _output_folder(options: dict[str, Any], models: tuple[Path, ...]) -> Path | None:
    from enginescope.validation_files import output_folder

    if options["output"] is not None:
        targets = [options["targets"]] if options["targets"] else []
        data = [*options["data"], *options["images"], *targets]
        return output_folder(options["output"], models, data, options["reference"])
    if options["skip_output_save"]:
        raise UsageError("--skip-output-save", why="without --output nothing is kept")
    return None
