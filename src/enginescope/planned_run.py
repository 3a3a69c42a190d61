"""The run of one engine whose plan is to be looked into, from whatever stands for it in Python."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.analysis.plan_view import PlanView
from enginescope.analysis.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.model.run import Run
from enginescope.plan_source import NOTHING_BESIDE, Beside

if TYPE_CHECKING:
    Planned = str | PathLike[str] | RunView | PlanView


def planned_run(
    what: Planned,
    *,
    profile: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
) -> Run:
    """Return the run of one engine: a stored one, or made of what was given.

    Parameters
    ----------
    what : path, name, RunView or PlanView
        What ``enginescope explore`` takes, or a view.
    profile : path, optional
        Layer times, where they are not beside the plan's or the engine's file.
    store : path or database URL, optional
        Where runs are looked for by name; by default where the command line does.

    Raises
    ------
    UsageError
        It has no plan; there are several; or there is nothing of that name.
    FormatError, StoreError
        A file cannot be used, or there is no such run.
    MissingDependencyError, BackendError
        An engine cannot be asked here.
    """
    said: list[str] = []
    if isinstance(what, (RunView, PlanView)):
        if profile is not None:
            raise UsageError("a profile can only be named with a plan file", hint="name the plan's")
        run = what.run if isinstance(what, RunView) else _of_view(what)
    else:
        run = _of_source(str(what), profile, store, said)
    if run.plan is None:
        raise UsageError(
            f"{run.job.subject.name} has no plan",
            why="; ".join(said) or None,
            hint="trtexec writes one with --exportLayerInfo",
        )
    return run


def _of_view(view: PlanView) -> Run:
    from enginescope.formats.engine_run import EngineFacts, run_of_engine

    return run_of_engine(EngineFacts(name=view.plan.name, plan=view.plan, profile=view.profile))


def _of_source(
    what: str,
    profile: str | PathLike[str] | None,
    store: str | PathLike[str] | None,
    said: list[str],
) -> Run:
    from enginescope.plan_sources import plan_source
    from enginescope.store.location import parse_place

    beside = Beside(profile=Path(profile)) if profile is not None else NOTHING_BESIDE
    place = parse_place(str(store)) if store is not None else None
    return plan_source(what, beside, store_folder=place, say=said.append).as_run()
