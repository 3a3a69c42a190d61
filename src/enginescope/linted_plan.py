"""Lint from Python."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from enginescope.analysis import frames
from enginescope.analysis.gpu_limits import GpuLimits, limits_of
from enginescope.analysis.plan_view import PlanView
from enginescope.core.jsonio import read_bytes
from enginescope.model.environment import Device
from enginescope.model.run import Run
from enginescope.rules.base import LintInput
from enginescope.rules.config import LintConfig, checked
from enginescope.rules.engine import LintReport
from enginescope.rules.engine import lint as findings_of

if TYPE_CHECKING:
    from enginescope.analysis.run_view import RunView


class ShownFindings(LintReport, frozen=True, kw_only=True):
    """What the rules found in a plan; in notebooks a table, plain HTML."""

    @classmethod
    def of(cls, found: LintReport) -> ShownFindings:
        """Return `found` with its display."""
        return cls(**msgspec.structs.asdict(found))

    def columns(self) -> dict[str, list[Any]]:
        """Return the findings as columns, one row each."""
        found = self.findings
        names = ("code", "rule", "subject", "message", "advice", "stake_ms", "share_pct")
        columns: dict[str, list[Any]] = {
            name: [getattr(one, name) for one in found] for name in names
        }
        columns["severity"] = [one.severity.value for one in found]
        columns["layers"] = [list(one.layers) for one in found]
        return columns

    def to_pandas(self) -> Any:
        """Return `columns` as a ``pandas.DataFrame``.

        Raises
        ------
        MissingDependencyError
            pandas is not installed; says how to get it. The same for the other frames.
        """
        return frames.to_pandas(self.columns())

    def to_polars(self) -> Any:
        """Return `columns` as a ``polars.DataFrame``."""
        return frames.to_polars(self.columns())

    def to_arrow(self) -> Any:
        """Return `columns` as a ``pyarrow.Table``."""
        return frames.to_arrow(self.columns())

    def _repr_html_(self) -> str:
        from enginescope.render.notebook.findings import findings_html

        return findings_html(self)


def lint(
    what: str | PathLike[str] | RunView | PlanView,
    *,
    profile: str | PathLike[str] | None = None,
    gpu: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    store: str | PathLike[str] | None = None,
) -> ShownFindings:
    """Look for what may cost time in a plan; see ``docs/rules.md``.

    Parameters
    ----------
    what : path, name, RunView or PlanView
        What ``enginescope explore`` takes: a plan's JSON, with the files beside it that are named
        like it; an engine, where TensorRT is installed; a folder or an archive of one engine's
        files; a stored run: its folder, the beginning of its id, a tag, ``latest``.
    profile : path, optional
        Layer times, where they are not beside the plan.
    gpu : str, optional
        The GPU that the times are of; by default the run's or the view's.
    select, ignore : sequence of str
        Rules by code (``"PLAN104"``), by the beginning of one, or by name.
    store : path or database URL, optional
        Where runs are looked for by name; by default where the command line does.

    Returns
    -------
    ShownFindings
        ``found.findings``, most time at stake first; ``found.to_pandas()``.

    Raises
    ------
    UsageError
        There is no plan, or no such rule or GPU.
    FormatError, StoreError
        A file cannot be used, or there is no such run.
    MissingDependencyError, BackendError
        An engine cannot be asked here.

    Examples
    --------
    >>> es.lint("net.graph.json", ignore=["TIME2"]).findings[0]   # doctest: +SKIP
    """
    from enginescope.formats.exported_profile import parse_profile
    from enginescope.planned_run import planned_run

    run = planned_run(what, store=store)
    times = run.profile
    if profile is not None:
        times, _ = parse_profile(read_bytes(Path(profile)), str(profile))
    assert run.plan is not None
    given = LintInput(
        plan=run.plan,
        profile=times,
        device=_device(gpu, what, run),
        fed=run.inputs,
        profile_index=run.job.backend.profile_index,
    )
    config = LintConfig(select=tuple(checked(select)), ignore=tuple(checked(ignore)))
    return ShownFindings.of(findings_of(given, config))


def _device(gpu: str | None, what: object, run: Run) -> Device | None:
    """The GPU that was named, else that of the view, else that of the run."""
    limits: GpuLimits | None = what.gpu if isinstance(what, PlanView) else None
    if gpu is not None:
        limits = limits_of(gpu)
    if limits is not None:
        return Device(name=limits.name)
    return next(iter(run.environment.devices), None)
