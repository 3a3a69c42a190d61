"""``enginescope noise``: a model against itself, and what differences that leaves to be seen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginescope.cli.compare_options import rounds_option
from enginescope.cli.options import (
    DURATION_MS,
    MOST_ITEMS,
    SHAPE,
    json_option,
    note,
    store_option,
    tags_option,
)
from enginescope.stats.deciding import FLOOR_ROUNDS

if TYPE_CHECKING:
    from enginescope.analysis.measured_sides import MeasuredComparison
    from enginescope.model.job import InputShape
    from enginescope.model.noise_floor import NoiseFloor
    from enginescope.store.archive import Store
    from enginescope.store.location import StorePlace

EXIT_RUN_FAILED = 3


@click.command("noise")
@click.argument("model", required=False, type=click.Path(path_type=Path))
@click.option("--on", "backend", help="Backend.  [default: ort-cpu; trt for an engine]")
@click.option("--shape", "shapes", multiple=True, type=SHAPE, help="Shape of an input.")
@click.option(
    "--batch", type=click.IntRange(1, MOST_ITEMS), help="Size of dynamic first dimensions."
)
@rounds_option(FLOOR_ROUNDS)
@click.option("--duration", type=DURATION_MS, help="Timing of a process.  [default: 1s]")
@tags_option
@store_option
@json_option
def command(
    model: Path | None,
    backend: str | None,
    shapes: tuple[InputShape, ...],
    batch: int | None,
    rounds: int | None,
    duration: float | None,
    tags: tuple[str, ...],
    store_folder: StorePlace | None,
    as_json: bool,
) -> int:
    """Measure MODEL against itself: the smallest difference that this machine can decide.

    Both sides are the same job, in turn, in fresh processes. The floor is recorded beside the
    runs, where `compare` and `bench --compare` find it. With no model, a small sample is measured.
    """
    from enginescope.analysis.noise_floor import noise_floor
    from enginescope.cli.bench import bundled_models, command_line, usual_backend, writable
    from enginescope.cli.bench_comparison import Comparing, present_failures
    from enginescope.cli.compare_options import terms_of
    from enginescope.model.job import StopRule, Workload
    from enginescope.runner.interleaved import PROCESS_STOP
    from enginescope.runner.jobs import make_jobs
    from enginescope.store.archive import Store

    typed, store = command_line(), writable(Store(store_folder))
    stop = PROCESS_STOP if duration is None else StopRule(duration_ms=duration, precision_pct=None)
    subject = model or bundled_models(store.path)[0]
    (job,) = make_jobs(
        [subject],
        [backend or usual_backend(subject)],
        Workload(batch=batch, shapes=shapes, stop=stop),
        layer_profile=False,
        engine_cache=store.path / "engines",
    )
    measuring = Comparing((job, job), store, terms_of(None, ()))
    looks = (rounds or FLOOR_ROUNDS,)
    sides = measuring.run(looks, tags=tags, command=typed, quiet=as_json)
    named = measuring.sides(sides)
    if any(not one.measured for one in named):
        present_failures(named, as_json=as_json, store=store_folder)
        return EXIT_RUN_FAILED
    _record(noise_floor(named), measuring.found(sides), store, as_json=as_json)
    return 0


def _record(floor: NoiseFloor, found: MeasuredComparison, store: Store, *, as_json: bool) -> None:
    from enginescope.store.noise_floors import record_floor

    file = record_floor(store.path, floor)
    if as_json:
        from enginescope.core.jsonio import encode
        from enginescope.render.verdict_data import measured_data

        sys.stdout.buffer.write(encode({"noise_floor": floor, "measured": measured_data(found)}))
        sys.stdout.flush()
        return
    from enginescope.render.noise_text import noise_text
    from enginescope.render.text import show

    show(noise_text(floor, found))
    note(f"recorded: {file}")
