"""Verdicts on stored runs, from Python: comparing, gating, looking back."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from os import PathLike, fspath
from string import ascii_uppercase
from typing import TYPE_CHECKING

from enginescope.core.errors import UsageError
from enginescope.named_runs import distinct, readable_runs, runs_of, runs_since, sides_in_turn
from enginescope.shown_verdicts import ShownVerdicts

if TYPE_CHECKING:
    from enginescope.analysis.measured_sides import MeasuredSide
    from enginescope.analysis.run_view import RunView
    from enginescope.model.gate import GateReport, UndecidedPolicy
    from enginescope.model.history import JobHistory
    from enginescope.model.noise_floor import NoiseFloor
    from enginescope.model.run import Run
    from enginescope.model.suite import CellRow
    from enginescope.named_runs import Named
    from enginescope.store.archive import Store

_DEFAULT_PCT = 2.0


def compare(
    *sides: Named,
    names: Sequence[str] | None = None,
    threshold_pct: float = 1.0,
    across: Sequence[str] = (),
    store: str | PathLike[str] | None = None,
) -> ShownVerdicts:
    """Say of measured runs which side is faster, and how sure that is.

    Parameters
    ----------
    *sides : RunView, sequence of RunView, str or path
        Each a run, the processes of one job, a folder of runs, another tool's file, a tag, or the
        beginning of an id. One alone: a comparison that was measured in turn, by its tag. The
        first is the base.
    names : sequence of str, optional
        What to call them, in their order.
    threshold_pct : float
        Smaller differences do not matter.
    across : sequence of str
        Conditions whose difference is meant: ``("gpu", "driver")``.
    store : path or URL, optional
        Where tags, ids and noise floors are looked for.

    Returns
    -------
    ShownVerdicts
        ``found.verdict`` is that on the second side, ``found.pairs`` has every side and metric,
        ``found.notices`` what weakens them; printed, it is a sentence.

    Raises
    ------
    UsageError
        Nothing to compare, or a side without a run that went well.
    FormatError, StoreError
        A file cannot be used, or there is no such run.
    """
    from enginescope.analysis.measured_sides import compare_sides
    from enginescope.analysis.terms import Terms

    place = store_at(store)
    runs = [distinct(runs_of(one, place, say)) for one in sides]
    if len(runs) == 1:
        runs = [*_turns(runs[0])]
    if len(runs) < 2:
        raise UsageError("one side is nothing to compare", hint="es.compare(a, b)")
    terms = Terms(threshold_pct=threshold_pct, across=tuple(across))
    found = compare_sides(named_sides(runs, names), terms, floors_at(place))
    return ShownVerdicts.of(found)


def gate(
    current: Named | None = None,
    *,
    baseline: Named,
    max_regression_pct: float | Mapping[str, float] = _DEFAULT_PCT,
    undecided: UndecidedPolicy = "warn",
    across: Sequence[str] = (),
    confidence: float = 0.95,
    store: str | PathLike[str] | None = None,
) -> GateReport:
    """Hold runs against a baseline.

    Parameters
    ----------
    current, baseline : RunView, sequence of RunView, str or path
        As for `compare`, of any number of jobs. Without `current`: the runs of the store that are
        newer than the baseline's, or, where that was measured in turn, its other sides.
    max_regression_pct : float or mapping of str to float
        The most that latency may get worse, or by metric: ``{"latency": 2, "p99": 5}``.
    undecided : {"pass", "warn", "fail"}
        What it counts as where nothing can be said.
    across, store
        As for `compare`.
    confidence : float
        Of each interval, where a side has several processes.

    Returns
    -------
    GateReport
        ``report.is_passed``, and a row for each job and metric.

    Raises
    ------
    UsageError, FormatError, StoreError
        As `compare`.
    """
    from enginescope.analysis.gate import gate as hold
    from enginescope.analysis.gate_metrics import HEADLINE, check_metric
    from enginescope.analysis.suite_gate import with_cells
    from enginescope.model.gate import GateTerms, Limit

    given = max_regression_pct
    limits = given if isinstance(given, Mapping) else {HEADLINE: given}
    terms = GateTerms(
        limits=tuple(
            Limit(metric=check_metric(name), regression_pct=pct) for name, pct in limits.items()
        ),
        undecided=undecided,
        across=tuple(across),
        confidence=confidence,
    )
    place = store_at(store)
    base = distinct(runs_of(baseline, place, say))
    named: tuple[Run, ...] = ()
    if current is None:
        base, now = sides_in_turn(base) or (base, runs_since(base, place))
    else:
        ids = {one.id for one in base}
        named = distinct(runs_of(current, place, say))
        now = tuple(one for one in named if one.id not in ids)
    answers = [_suite_rows(one, place) for one in (baseline, current)]
    if not now and (named or not answers[1]):
        raise UsageError("no current runs", why="all of them are the baseline's")
    name = str(baseline) if isinstance(baseline, str | PathLike) else "baseline"
    return with_cells(hold(base, now, terms, name=name, floors=floors_at(place)), *answers)


def history(
    runs: str | Sequence[RunView],
    *,
    metric: str = "latency",
    on: str | None = None,
    tag: str | None = None,
    threshold_pct: float = 2.0,
    sitting_s: float = 3600.0,
    store: str | PathLike[str] | None = None,
) -> tuple[JobHistory, ...]:
    """Return a metric over stored runs, and where its level changed.

    Parameters
    ----------
    runs : str or sequence of RunView
        A model's name, for its runs in the store; or the runs themselves.
    metric : str
        As `gate` has them: ``"p99"``, ``"load"``, …
    on, tag : str, optional
        Of the store's runs only those on backends that begin so, or with this tag.
    threshold_pct : float
        Changes of level up to this do not count.
    sitting_s : float
        Runs that follow each other by no more, with nothing changed between them, are one point.

    Returns
    -------
    tuple of JobHistory
        One for each job and machine, the one of most runs first. A stored run that is damaged is
        left out, and warned of.

    Raises
    ------
    UsageError
        No such metric.
    """
    from enginescope.analysis.gate_metrics import check_metric
    from enginescope.analysis.history import histories

    if isinstance(runs, str):
        place = store_at(store)
        rows = place.rows(model=runs, backend=on, tag=tag)
        chosen = readable_runs([one.id for one in reversed(rows)], place, say)
    else:
        chosen = tuple(one.run for one in runs)
    return histories(chosen, check_metric(metric), threshold_pct=threshold_pct, sitting_s=sitting_s)


def _suite_rows(what: object, store: Store) -> tuple[CellRow, ...]:
    """Return the rows of a suite that is named; other sides have none."""
    from enginescope.suite_runs import rows_of_suites

    return rows_of_suites([str(what)], store) if isinstance(what, str | PathLike) else ()


def store_at(folder: str | PathLike[str] | None) -> Store:
    """Return the store in `folder`, by default the one that the command line uses."""
    from enginescope.store.archive import Store
    from enginescope.store.location import parse_place

    return Store(parse_place(fspath(folder)) if folder is not None else None)


def floors_at(store: Store) -> tuple[NoiseFloor, ...]:
    """Return the noise floors recorded in a store."""
    from enginescope.store.noise_floors import read_floors

    return read_floors(store.path)


def named_sides(
    runs: Sequence[Sequence[Run]], names: Sequence[str] | None = None
) -> tuple[MeasuredSide, ...]:
    """Return sides under letters and names that tell them apart.

    Raises
    ------
    UsageError
        A side without runs, more sides than letters, or not a name for each.
    """
    from enginescope.analysis.measured_sides import MeasuredSide
    from enginescope.render.side_names import side_names

    if not all(runs) or len(runs) > len(ascii_uppercase):
        empty = sum(not one for one in runs)
        raise UsageError(f"{len(runs)} sides, {empty} without runs", hint="2 to 26, each of runs")
    called = list(names) if names is not None else side_names([one[0].job for one in runs])
    if len(called) != len(runs):
        raise UsageError(f"{len(called)} names for {len(runs)} sides")
    return tuple(
        MeasuredSide(label=label, name=name, runs=tuple(some))
        for label, name, some in zip(ascii_uppercase, called, runs, strict=False)
    )


def say(text: str) -> None:
    """Warn of what was left out."""
    warnings.warn(text, stacklevel=4)


def _turns(runs: Sequence[Run]) -> Iterator[tuple[Run, ...]]:
    """Yield the sides of one comparison that was measured in turn, the first first."""
    in_turn = [one for one in runs if one.turn is not None]
    if len(in_turn) < len(runs) or len({one.turn.comparison for one in in_turn if one.turn}) != 1:
        return

    def side(run: Run) -> str:
        return run.turn.side if run.turn else ""

    ordered = sorted(in_turn, key=lambda one: (side(one), one.turn.round if one.turn else 0))
    for _, group in groupby(ordered, side):
        yield tuple(group)
