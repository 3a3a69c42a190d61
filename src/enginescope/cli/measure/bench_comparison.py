"""``enginescope bench … --compare``: present an interleaved comparison."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.compare_options import terms_of
from enginescope.cli.exit_codes import EXIT_RUN_FAILED
from enginescope.cli.measure.rounds_progress import RoundsProgress
from enginescope.cli.run_output import present
from enginescope.cli.termination import ending_in_order, saying_what_stands
from enginescope.render.verdicts.side_names import comparison_tag
from enginescope.services.measurement.interleaved import (
    InterleavedRequest,
    compare_interleaved,
    with_process_stop,
)

if TYPE_CHECKING:
    from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
    from enginescope.records.run.job import Workload

_STOP_OPTIONS = ("iterations", "duration", "precision", "max_time", "min_samples")


def paced(workload: Workload) -> Workload:
    """Return the workload with the time of a process in a comparison, unless options set it."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    if any(context.get_parameter_source(name) is not default for name in _STOP_OPTIONS):
        return workload
    return with_process_stop(workload)


def compare(fields: dict[str, Any], options: dict[str, Any]) -> int:
    """Compare the jobs, print the verdicts, and return the exit code."""
    request = InterleavedRequest(
        rounds=options["rounds"],
        terms=terms_of(options["threshold_pct"], options["across"]),
        **fields,
    )
    progress = RoundsProgress(quiet=options["as_json"])
    with ending_in_order(), progress, saying_what_stands(progress.standing):
        result = compare_interleaved(request, progress)
    if result.comparison is None:
        present(result.failed, as_json=options["as_json"], store=options["store_folder"])
    else:
        _present(result.comparison, options)
    if result.not_stored is not None:
        progress.warn(result.not_stored)
    return 0 if result.is_ok else EXIT_RUN_FAILED


def _present(found: MeasuredComparison, options: dict[str, Any]) -> None:
    if options["as_json"]:
        from enginescope.render.compare.compare_data import compare_json
        from enginescope.render.plan_comparison.compare_tables import Chosen

        sys.stdout.buffer.write(compare_json(None, Chosen(), measured=found))
        sys.stdout.flush()
        return
    from enginescope.render.base.text import show
    from enginescope.render.verdicts.verdict_text import next_steps, verdict_text

    width = shutil.get_terminal_size().columns
    show(verdict_text(found, width=width))
    tag = comparison_tag(found.comparison or "")
    store = options["store_folder"]
    show(next_steps(tag, width=width, store=str(store) if store else None))
