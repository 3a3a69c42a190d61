"""Compare measured runs and plans: which side is faster, and what explains the difference."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Literal

from enginescope.analysis.build_log.build_log_summary import ChoicePair, compare_choices
from enginescope.analysis.plan_comparison.comparison import Comparison
from enginescope.analysis.plan_comparison.comparison import compare as compare_runs
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.measured_sides import (
    MeasuredComparison,
    MeasuredSide,
    compare_sides,
    recorded_plan,
)
from enginescope.core.errors import UsageError
from enginescope.core.packed_files import plain_bytes
from enginescope.core.record import Record
from enginescope.formats.build_log.build_log import build_story_of
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.formats.importing.importer import import_artifacts
from enginescope.judge.comparison.looks import THRESHOLD_PCT
from enginescope.records.run.run import Run
from enginescope.records.verdict.named import NamedComparison, NamedVerdict
from enginescope.render.verdicts.verdict_phrases import same_work_text, side_labels
from enginescope.services.observer import PlanObserver
from enginescope.services.plans.plan_input import input_of_run
from enginescope.services.store_access import place_of
from enginescope.services.verdicts.compare_inputs import (
    ComparedSide,
    check_names,
    holds_times,
    measured_sides,
    plan_names,
    repeated_sides,
    resolve_sides,
)
from enginescope.services.verdicts.run_selection import Named, RunsInput, input_of
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace
from enginescope.store.machine_records import FLOORS, SPREADS


class CompareRequest(Record, frozen=True, kw_only=True, eq=False):
    """What to compare; see `compare` and `compare_plans`.

    Attributes:
        parts: ``"all"``: verdicts if all sides have samples, and plans if all sides have one. The
            others are an error if a side lacks that part.
        build_logs: Verbose logs of the two builds, or none.
        threshold_pct: ``None``: as the sides were compared when they were measured, else
            `THRESHOLD_PCT`.
        across: Empty: as for the threshold.
    """

    sides: tuple[RunsInput, ...]
    names: tuple[str, ...] | None = None
    parts: Literal["all", "measured", "plans"] = "all"
    threshold_pct: float | None = None
    across: tuple[str, ...] = ()
    plan_profile: int = 0
    build_logs: tuple[Path, ...] = ()
    store: StorePlace | None = None


class CompareResult(Record, frozen=True, kw_only=True, eq=False):
    """What was compared: verdicts of sides with samples or printed figures, and plans of sides.

    `choices` are those of the builds of two logs, `unmeasured` the sides that keep the others from
    a verdict. With `by_name`, of two files of many benchmarks, nothing else is compared.
    """

    measured: MeasuredComparison | None = None
    plans: Comparison | None = None
    choices: tuple[ChoicePair, ...] | None = None
    unmeasured: tuple[str, ...] = ()
    by_name: NamedComparison | None = None


def compare_inputs(request: CompareRequest, observer: PlanObserver) -> CompareResult:
    """Compare measured runs, plans and build logs, whichever the sides have."""
    if len(request.build_logs) not in (0, 2):
        hint = "give --build-log twice: A's, then B's"
        raise UsageError(f"{len(request.build_logs)} build logs", hint=hint)
    choices = _choices(request.build_logs, observer) if request.build_logs else None
    if not request.sides:
        if choices is None:
            raise nothing_to_compare()
        return CompareResult(choices=choices)
    benchmarks = named_sides(request.sides) if request.parts == "all" else None
    if benchmarks is not None:
        by_name = compared_by_name(*benchmarks, threshold_pct=request.threshold_pct)
        return CompareResult(by_name=by_name, choices=choices)
    store = Store(request.store)
    sides = resolve_sides(request.sides, store, observer)
    if request.names is not None:
        check_names(request.names, len(sides))
    unmeasured = [side for side in sides if not side.is_measured]
    for side in unmeasured:
        _check_usable(side, request.parts)
    repeated = repeated_sides(request.sides)
    if repeated is not None:
        observer.progress(repeated)
    measured = None
    if request.parts != "plans" and not unmeasured:
        measured = _measured(sides, request, store, observer)
    plans = None
    has_plans = all(side.source.plan is not None for side in sides)
    if request.parts != "measured" and (measured is None or has_plans):
        runs, names = [side.source.as_run() for side in sides], request.names or plan_names(sides)
        plans = compare_runs(runs, names=names, plan_profile=request.plan_profile)
    is_engine = any(side.source.kind == "engine" for side in unmeasured)
    is_told = len(unmeasured) < len(sides) or is_engine
    return CompareResult(
        measured=measured,
        plans=plans,
        choices=choices,
        unmeasured=tuple(side.what for side in unmeasured) if is_told else (),
    )


def nothing_to_compare() -> UsageError:
    hint = "enginescope compare A.graph.json B.graph.json, or two runs"
    return UsageError("no plans or runs to compare", hint=hint)


def compare(
    *sides: Named,
    names: Sequence[str] | None = None,
    threshold_pct: float | None = None,
    across: Sequence[str] = (),
    store: str | PathLike[str] | None = None,
) -> MeasuredComparison:
    """Compare measured runs: which side is faster, and how sure that is.

    Args:
        *sides: Each is a run, the processes of one job, a folder or zip file of runs, another
            tool's file, a tag, or the beginning of an id. One alone is an interleaved comparison:
            its id, its tag, or any of its runs. The first is the base.
        names: Names of the sides, in their order.
        threshold_pct: Smaller differences do not matter; by default that of a recorded comparison,
            else 1.
        across: Conditions whose difference is intended: ``("gpu", "driver")``; by default those of
            a recorded comparison.
        store: Path or URL where tags, ids and noise floors are looked up.

    Returns:
        ``result.verdict`` is the verdict on the second side, ``result.pairs`` has every side and
        metric, ``result.notices`` the caveats. Printed, it is a sentence.

    Raises:
        UsageError: There is nothing to compare, or a side has no run that succeeded.
        FormatError, StoreError: A file cannot be used, or a run does not exist.
    """
    request = CompareRequest(
        sides=tuple(map(input_of, sides)),
        names=None if names is None else tuple(names),
        parts="measured",
        threshold_pct=threshold_pct,
        across=tuple(across),
        store=place_of(store),
    )
    result = compare_inputs(request, PlanObserver())
    assert result.measured is not None
    return result.measured


def compare_plans(
    *plans: str | PathLike[str] | RunView | PlanView,
    names: Sequence[str] | None = None,
    plan_profile: int = 0,
    store: str | PathLike[str] | None = None,
) -> Comparison:
    """Compare plans; compare two of them layer by layer, and explain the difference.

    Args:
        *plans: What ``enginescope explore`` takes: a plan's JSON, with the files beside it that
            have its name; an engine, where TensorRT is installed; a folder or an archive of one
            engine's files; a stored run: its folder, the beginning of its id, a tag, ``latest``.
            The first is the base.
        names: Names of the plans, in their order.
        plan_profile: Index of the optimization profile of plans that have several.
        store: Path or URL where runs are looked up by name; by default the store of the command
            line.

    Returns:
        ``result.overview`` has each plan. Of two, ``result.layers`` has every layer with its
        counterpart and ``result.layers.explanations`` the reasons for the difference in ms;
        ``result.to_pandas()`` is a row per pair.

    Raises:
        UsageError: There are fewer than two plans, or a side has no plan.
        FormatError: A file cannot be used.
    """
    request = CompareRequest(
        sides=tuple(
            (run_of_engine(EngineFacts(name=plan.plan.name, plan=plan.plan, profile=plan.profile)),)
            if isinstance(plan, PlanView)
            else input_of(plan)
            for plan in plans
        ),
        names=None if names is None else tuple(names),
        parts="plans",
        plan_profile=plan_profile,
        store=place_of(store),
    )
    result = compare_inputs(request, PlanObserver())
    assert result.plans is not None
    return result.plans


def _check_usable(side: ComparedSide, parts: str) -> None:
    run = side.runs[-1]
    why = run.outcome.message
    if side.source.plan is None:
        has, hint = _alone(run)
        what = f"{side.what} has neither samples nor printed figures nor a plan"
        raise UsageError(what, why=why or has, hint=None if why else hint)
    if parts == "measured":
        raise UsageError(
            f"{side.what} is not measured",
            why=why or "it has a plan, no samples and no printed figures",
            hint="es.compare_plans compares plans; es.bench measures",
        )


def _alone(run: Run) -> tuple[str | None, str]:
    if (profile := run.profile) and (profile.part != "layer" or profile.source == "onnxruntime"):
        return "it has times of operators or kernels", "enginescope report shows them"
    if run.profile is not None:
        return "it has layer times", "import them together with the plan, then compare the runs"
    if run.tool is not None and run.tool.build_s is not None:
        hint = "enginescope compare --build-log A --build-log B compares what two builds chose"
        return "it is the log of a build", hint
    return None, "enginescope bench measures it"


def _measured(
    sides: Sequence[ComparedSide], request: CompareRequest, store: Store, observer: PlanObserver
) -> MeasuredComparison:
    floors = FLOORS.usable(store.path, observer.warn)
    measured = measured_sides(sides, request.names)
    plan, given = recorded_plan(measured), request.threshold_pct
    recorded = THRESHOLD_PCT if plan is None else plan.threshold_pct
    terms = CompareConfig(
        threshold_pct=recorded if given is None else given,
        across=request.across or (plan.across if plan else ()),
        spreads=SPREADS.usable(store.path, observer.warn),
    )
    places = {
        (run.environment.comparable_key(), tuple(sorted(run.environment.versions.items())))
        for side in sides
        for run in side.runs
    }
    same = same_work_text([side.runs[0].job for side in sides], side_labels(len(sides)))
    if same is not None and len(places) == 1 and repeated_sides(request.sides) is None:
        observer.progress(same)
    return compare_sides(measured, terms, floors)


def _choices(build_logs: Sequence[Path], observer: PlanObserver) -> tuple[ChoicePair, ...]:
    stories = []
    for label, path in zip("AB", build_logs, strict=True):
        story, notices = build_story_of(plain_bytes(path), path.name)
        stories.append(story)
        for notice in notices:
            observer.warn(f"{label}: {notice.message} ({notice.code})")
    return compare_choices(*stories)


_SIDES = 2


def named_sides(inputs: Sequence[RunsInput]) -> tuple[dict[str, Run], dict[str, Run]] | None:
    """Return the benchmarks of two files by name; ``None`` if these are not two such files.

    Names that a file has twice do not tell benchmarks apart.
    """
    if len(inputs) != _SIDES:
        return None
    sides = []
    for given in inputs:
        name = given[0] if len(given) == 1 else None
        if not isinstance(name, str) or not Path(name).is_file() or not holds_times(Path(name)):
            return None
        runs = import_artifacts([Path(name)]).runs
        named = {run.job.subject.name: run for run in runs}
        if len(named) < len(runs):
            return None
        sides.append(named)
    a, b = sides
    return (a, b) if max(len(a), len(b)) > 1 else None


def compared_by_name(
    a: dict[str, Run], b: dict[str, Run], *, threshold_pct: float | None
) -> NamedComparison:
    names = [name for name in a if name in b]
    if not names:
        why = f"A has {next(iter(a))} …, B has {next(iter(b))} …"
        hint = "compare files of the same benchmarks"
        raise UsageError("the files have no benchmark in common", why=why, hint=hint)
    config = CompareConfig(threshold_pct=THRESHOLD_PCT if threshold_pct is None else threshold_pct)
    rows, without = [], []
    for name in names:
        pair = [
            ComparedSide(what=label, source=input_of_run(run), runs=(run,))
            for label, run in (("A", a[name]), ("B", b[name]))
        ]
        if not all(side.is_measured for side in pair):
            without.append(name)
            continue
        sides = tuple(
            MeasuredSide(label=side.what, name=side.what, runs=side.runs) for side in pair
        )
        rows.append(NamedVerdict(name=name, verdict=compare_sides(sides, config).pairs[0].headline))
    return NamedComparison(
        rows=tuple(rows),
        only_a=tuple(name for name in a if name not in b),
        only_b=tuple(name for name in b if name not in a),
        without_figures=tuple(without),
    )
