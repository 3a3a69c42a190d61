"""``enginescope bench … --compare``: jobs measured in turn, and what that decides."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from enginescope.cli.compare_options import terms_of
from enginescope.cli.noise_floors import known_floors
from enginescope.cli.rounds_progress import RoundsProgress
from enginescope.cli.termination import ending_in_order, saying_what_stands
from enginescope.core.errors import UsageError
from enginescope.model.run import Run
from enginescope.render.side_names import comparison_tag, side_names
from enginescope.runner.interleaved import (
    PROCESS_STOP,
    Pacing,
    Sides,
    is_given_up,
    looks_up_to,
    run_interleaved,
)
from enginescope.stats.deciding import LOOKS

if TYPE_CHECKING:
    from enginescope.analysis.measured_sides import MeasuredComparison, MeasuredSide
    from enginescope.analysis.terms import Terms
    from enginescope.model.job import Job, Workload
    from enginescope.model.noise_floor import NoiseFloor
    from enginescope.store.archive import Store
    from enginescope.store.location import StorePlace

EXIT_RUN_FAILED = 3
_STOP_OPTIONS = ("iterations", "duration", "precision", "max_time", "min_samples")


def paced(workload: Workload) -> Workload:
    """Return the workload with the time of a process in a comparison, unless one was asked for."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    if any(context.get_parameter_source(one) is not default for one in _STOP_OPTIONS):
        return workload
    return replace(workload, stop=PROCESS_STOP)


def compare_jobs(jobs: tuple[Job, ...], store: Store, options: dict[str, Any], command: str) -> int:
    """Measure `jobs` in turn until it is decided which is faster; print it, return the exit code.

    Raises
    ------
    UsageError
        There is only one job.
    """
    if len(jobs) < 2:
        raise UsageError(
            "--compare: there is 1 job, and nothing to compare it with",
            hint="a second model, or --on twice",
        )
    terms = terms_of(options["threshold_pct"], options["across"])
    looks = looks_up_to(options["rounds"] or LOOKS[-1])
    measuring = Comparing(jobs, store, terms)
    sides = measuring.run(
        looks,
        tags=options["tags"],
        command=command,
        quiet=options["as_json"],
        commit=options["commit"],
    )
    if any(not side.measured for side in measuring.sides(sides)):
        present_failures(
            measuring.sides(sides), as_json=options["as_json"], store=options["store_folder"]
        )
        return EXIT_RUN_FAILED
    _present(measuring.found(sides), options)
    return EXIT_RUN_FAILED if is_given_up(sides) else 0


class Comparing:
    """Jobs that are measured in turn, and what they come to so far."""

    def __init__(self, jobs: tuple[Job, ...], store: Store, terms: Terms) -> None:
        self._jobs = jobs
        self._store = store
        self._terms = terms
        self._names = side_names(jobs)
        self._floors: Sequence[NoiseFloor] = known_floors(store.path)

    def run(
        self,
        looks: tuple[int, ...],
        *,
        tags: Sequence[str],
        command: str,
        quiet: bool,
        commit: str | None = None,
    ) -> Sides:
        """Measure until it is decided, or until the last look; every run is stored."""
        kept: list[Run] = []
        with ending_in_order(), RoundsProgress(self._jobs, looks[-1], quiet=quiet) as progress:

            def keep(run: Run) -> None:
                assert run.turn is not None
                kept_tags = (*tags, comparison_tag(run.turn.comparison))
                self._store.save(run.of_commit(commit), tags=kept_tags)
                kept.append(run)
                progress.ended(run)

            def decided(sides: Sides) -> bool:
                found = self.found(sides)
                progress.looked(found, _complete(found))
                return found.is_decided

            pacing = Pacing(
                decided=decided,
                is_vain=lambda sides: self.found(sides).is_vain,
                looks=looks,
                seed=self._jobs[0].workload.seed,
            )
            progress.begin()
            with saying_what_stands(lambda: _standing(kept)):
                return run_interleaved(
                    self._jobs, keep, pacing, command=command, watcher=progress.turns
                )

    def sides(self, sides: Sides) -> tuple[MeasuredSide, ...]:
        """Return the runs of each side under its letter and name."""
        from enginescope.analysis.measured_sides import MeasuredSide

        return tuple(
            MeasuredSide(label=label, name=name, runs=runs)
            for label, name, runs in zip(ascii_uppercase, self._names, sides, strict=False)
        )

    def found(self, sides: Sides) -> MeasuredComparison:
        """Return what the sides come to."""
        from enginescope.analysis.measured_sides import compare_sides

        return compare_sides(self.sides(sides), self._terms, self._floors)


def _complete(found: MeasuredComparison) -> int:
    """Return how many rounds all sides have."""
    rounds = [{run.turn.round for run in side.measured if run.turn} for side in found.sides]
    return len(set.intersection(*rounds))


def _standing(kept: Sequence[Run]) -> str:
    again = ""
    if kept and kept[-1].turn is not None:
        again = f"; enginescope compare {comparison_tag(kept[-1].turn.comparison)}"
    count = "1 run is" if len(kept) == 1 else f"{len(kept)} runs are"
    return f"{count} stored{again}"


def _present(found: MeasuredComparison, options: dict[str, Any]) -> None:
    if options["as_json"]:
        from enginescope.render.compare_data import compare_json
        from enginescope.render.compare_tables import Chosen

        sys.stdout.buffer.write(compare_json(None, Chosen(), measured=found))
        sys.stdout.flush()
        return
    from enginescope.render.text import show
    from enginescope.render.verdict_text import next_steps, verdict_text

    width = shutil.get_terminal_size().columns
    show(verdict_text(found, width=width))
    tag = comparison_tag(found.comparison or "")
    store = options["store_folder"]
    show(next_steps(tag, width=width, store=str(store) if store else None))


def present_failures(
    sides: Sequence[MeasuredSide], *, as_json: bool, store: StorePlace | None
) -> None:
    """Print how the sides failed of which no process went well."""
    from enginescope.cli.run_output import present

    failed = [side.runs[-1] for side in sides if not side.measured]
    present(failed, as_json=as_json, store=store)
