"""A suite whose cells are not done by this process: fleets, containers, jobs of Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enginescope.cli.options import note
from enginescope.cli.suite_fleet import fleet_of
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.model.suite import Suite, SuitePlan
    from enginescope.runner.suite_resume import Standing
    from enginescope.store.archive import Store
    from enginescope.store.suite_folder import SuiteFolder


def standing_elsewhere(
    plan: SuitePlan, folder: SuiteFolder, store: Store, options: dict[str, Any]
) -> Standing:
    """Take in what jobs have left, and return what is done and what is to be done.

    Machines of a fleet are not this one, so that any row counts, whatever it was made on.
    """
    from enginescope.cli.suite_collect import collect
    from enginescope.runner.suite_resume import standing_of

    count = collect(plan, folder, store)
    if count or options["collect"]:
        note(f"{count:,} cells came back")
    return standing_of(plan.cells, folder.rows(), None, retry_failed=options["retry_failed"])


def run_elsewhere(
    plan: SuitePlan,
    standing: Standing,
    folder: SuiteFolder,
    store: Store,
    options: dict[str, Any],
) -> None:
    """Do what is to be done where the options say, or write what does it."""
    if options["collect"]:
        return
    fleet = fleet_of(options, folder.path)
    if fleet is None:
        from enginescope.cli.suite_collect import emit_jobs

        emit_jobs(plan, standing.todo, folder, options)
        return
    from enginescope.cli.suite_fleet_sitting import FleetSitting

    FleetSitting(plan, folder, store).run(standing.todo, fleet, quiet=options["as_json"])


def check_elsewhere(suite: Suite) -> None:
    """Raise for what cannot be done elsewhere.

    Raises
    ------
    UsageError
        A cell is for another Python of this machine.
    """
    from enginescope.backends.registry import read_spec

    named = [text for one in suite.models for text in one.backends if read_spec(text).environment]
    if named:
        raise UsageError(
            f"backend {named[0]}",
            why="environments are of this machine, and cells are to be done elsewhere",
            hint="a fleet's machines or an image have the versions that they have: leave out the @",
        )
