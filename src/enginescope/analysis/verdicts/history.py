"""Figures of one job over time: levels, where they change, and what changed there.

What of a run's surroundings can change its figures, and what differs between two runs.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from enginescope.analysis.runs.run_view import Runs, RunView
from enginescope.analysis.verdicts import job_identity
from enginescope.analysis.verdicts.comparability import CONDITIONS
from enginescope.analysis.verdicts.compared_figures import HEADLINE, figure_of, metric_unit
from enginescope.analysis.verdicts.evidence_levels import is_printed_only
from enginescope.core.record import Record, replace
from enginescope.judge.comparison.change_points import change_points, newest_against_level
from enginescope.judge.comparison.ratio import decide
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Interval
from enginescope.judge.stats.autocorrelation import quantile_interval
from enginescope.judge.stats.describe import median
from enginescope.judge.verdict import EvidenceLevel, VerdictKind
from enginescope.records.run.run import HEADLINES, Run
from enginescope.records.verdict import history

#: What a change of is the likelier cause, first; what is not here has the place of ``""``.
_ORDER = ("model", "engine", "TensorRT", "ONNX Runtime", "driver", "clocks", "governor", "")
_RANK = {fact: rank for rank, fact in enumerate((*_ORDER, "enginescope", "host", "commit"))}
_TENSORRT = ("tensorrt", "tensorrt-cu12", "tensorrt-cu13", "tensorrt-lean")
_DIGEST = 12
#: Fields of a run that a history needs, beside its environment.
_KEPT = ("id", "created", "origin", "job", "outcome", "command", "inputs", "tool", "build", "turn")
_SWITCH: dict[bool | None, str] = {True: "on", False: "off"}


def facts_of(run: Run) -> dict[str, str]:
    """Return the facts that are known of a run."""
    job, where, build = run.job, run.environment, run.build
    digest = job.subject.sha256
    found: dict[str, str | None] = {
        "model": digest[:_DIGEST] if digest else None,
        "engine": build.engine_sha256[:_DIGEST] if build and build.engine_sha256 else None,
        "TensorRT": _tensorrt(run),
        "governor": where.host.governor,
        "boost": _SWITCH.get(where.host.boost),
        "SMT": _SWITCH.get(where.host.smt),
        "system": where.host.os,
        "container": where.host.container,
        "cores": str(where.host.cores_usable) if where.host.cores_usable else None,
        "host": where.host.name,
        "commit": where.commit.short if where.commit else None,
        "driver": CONDITIONS["driver"].of(run),
    }
    for name, version in where.versions.items():
        if name not in _TENSORRT:
            is_ort = name in ("onnxruntime", "onnxruntime-gpu")
            found.setdefault("ONNX Runtime" if is_ort else name, version)
    found |= where.variables
    return {name: value for name, value in found.items() if value}


def fact_changes(before: Run, after: Run) -> tuple[history.FactChange, ...]:
    """Return the facts in which two runs differ, the likeliest cause first.

    One that a run knows and the other does not counts only where it says that something is set: an
    environment variable, a container.
    """
    old, new = facts_of(before), facts_of(after)
    settable = {*before.environment.variables, *after.environment.variables, "container"}
    names = [
        name
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name) and (name in settable or (name in old and name in new))
    ]
    return tuple(
        history.FactChange(fact=name, before=old.get(name), after=new.get(name))
        for name in sorted(names, key=lambda name: _RANK.get(name, _RANK[""]))
    )


def changes_at(runs: Runs, at: range, quiet: Iterable[int]) -> tuple[history.FactChange, ...]:
    """Return what changed in runs since the one before them; first what changed nowhere else.

    Args:
        runs: The oldest first.
        at: Places of the runs.
        quiet: Places at which the level did not change.
    """
    elsewhere = Counter(
        change.fact for place in quiet for change in fact_changes(runs[place - 1], runs[place])
    )
    found = [
        replace(change, elsewhere=elsewhere[change.fact])
        for change in fact_changes(runs[at[0] - 1], runs[at[-1]])
    ]
    return tuple(sorted(found, key=lambda one: one.elsewhere > 0))  # stable


def _tensorrt(run: Run) -> str | None:
    if run.build is not None and run.build.tensorrt:
        return run.build.tensorrt
    versions = run.environment.versions
    named = next((versions[name] for name in _TENSORRT if name in versions), None)
    return named or (run.tool.tool_version if run.tool else None)


#: The newest runs whose warnings a series tells, and the series that tell any: a run takes 50 ms.
_WARNED_RUNS, _WARNED_JOBS = 5, 4
#: Smaller changes do not matter, unless something else is asked for.
THRESHOLD_PCT = 2.0


class RunFigure(Record, frozen=True, kw_only=True, eq=False):
    """What a history needs of one run: a figure of one metric, and what may have changed it.

    Attributes:
        run: Without samples, plan, layer times, telemetry, build log and the load of its machine.
        value: Above 0; ``None`` where the run does not have the metric.
        interval: Of the median of a sampled series.
        is_printed: Whether a tool printed its figures, and it has no samples.
    """

    run: Run
    value: float | None
    interval: Interval | None = None
    is_printed: bool = False


def needed_series(metric: str) -> tuple[str, ...] | None:
    """Return the series that a run's figure of a metric comes from; ``None``: from all of it."""
    if figure_of(metric) is not None:
        return None
    return HEADLINES if metric == HEADLINE else (metric,)


def run_figure(run: Run, metric: str = HEADLINE) -> RunFigure:
    """Return a run's figure of a metric; no statistics of any other metric are computed."""
    figure, interval = figure_of(metric), None
    if figure is not None:
        value = figure.of(RunView(run))
    else:
        series = run.headline if metric == HEADLINE else run.series(metric)
        value = median(series.values_ms) if series is not None and len(series) else None
        if series is not None and value is not None and value > 0:
            interval = quantile_interval(series.values_ms, 0.5)
    where = run.environment
    return RunFigure(
        run=Run(
            environment=replace(where, host=replace(where.host, load_1min=None)),
            tags=run.tags,
            **{name: getattr(run, name) for name in _KEPT},
        ),
        value=value if value is not None and value > 0 else None,
        interval=interval,
        is_printed=is_printed_only((run,)),
    )


def histories(
    runs: Iterable[Run],
    metric: str = HEADLINE,
    *,
    threshold_pct: float = THRESHOLD_PCT,
    sitting_s: float = job_identity.SESSION_S,
) -> tuple[history.JobHistory, ...]:
    """Return the series of every job in `runs`: plain measurements first, then by sessions.

    Runs on another kind of processor or GPU are a series of their own; another driver, version or
    model file of the same name is not, since that is what changes are looked for in.

    Args:
        metric: As a gate's ``--metric``.
        threshold_pct: Smaller changes do not matter.
        sitting_s: Runs of one state of things that follow each other by no more than this are one
            point, since what they share of the day is no news of the job; 0: each is its own.
    """
    return histories_of(
        [run_figure(run, metric) for run in runs],
        metric,
        threshold_pct=threshold_pct,
        sitting_s=sitting_s,
    )


def histories_of(
    figures: Sequence[RunFigure],
    metric: str = HEADLINE,
    *,
    threshold_pct: float = THRESHOLD_PCT,
    sitting_s: float = job_identity.SESSION_S,
) -> tuple[history.JobHistory, ...]:
    """Return the series of every job, as `histories` does, of figures computed before.

    Args:
        figures: Of `metric`.
    """
    figure_of_run = {id(one.run): one for one in figures}
    good = [one.run for one in figures if one.run.is_ok]
    bad = [one.run for one in figures if not one.run.is_ok]
    series = [
        (job.identity, place, tuple(group))
        for job in job_identity.jobs_of(good)
        for place, group in _by_machine(job).items()
    ]
    labels = _labels([(identity, place) for identity, place, _ in series])
    made = (
        _history(
            (label, identity),
            [
                [figure_of_run[id(run)] for run in sitting]
                for sitting in _sittings(group, sitting_s)
            ],
            metric,
            threshold_pct,
            failed=sum(
                one.job.subject.name == group[0].job.subject.name
                and one.job.backend == group[0].job.backend
                for one in bad
            ),
        )
        for label, (identity, _, group) in zip(labels, series, strict=True)
    )
    pairs = zip(made, series, strict=True)
    known = [(is_of_one_question(group[-1]), one) for one, (_, _, group) in pairs if one]
    known.sort(key=lambda pair: (pair[0], -len(pair[1].points)))
    return tuple(one for _, one in known)


def with_warnings(
    found: Sequence[history.JobHistory],
    warnings_of: Callable[[Sequence[str]], dict[str, tuple[Notice, ...]]],
) -> tuple[history.JobHistory, ...]:
    """Return the series, the first `_WARNED_JOBS` with the warnings about their newest runs.

    Args:
        warnings_of: Returns by their ids the warnings about runs.
    """
    warned, rest = found[:_WARNED_JOBS], found[_WARNED_JOBS:]
    runs = ([run for point in job.points for run in point.runs] for job in warned)
    told = (warnings_of(every[-_WARNED_RUNS:]) for every in runs)
    return (*(replace(job, warnings=said) for job, said in zip(warned, told, strict=True)), *rest)


def is_of_one_question(run: Run) -> bool:
    """Whether a run is of a ladder, a lottery, a load test or the like, and no plain measurement.

    Its own rule tells, or its turn: rounds without a plan are not a comparison of jobs.
    """
    job, turn = run.job, run.turn
    has_rule = (job.load or job.shapes or job.contention) is not None
    return has_rule or (turn is not None and turn.plan is None)


def _by_machine(job: job_identity.JobRuns) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in job.runs:
        groups.setdefault(run.environment.place, []).append(run)
    return groups


def _labels(series: Sequence[tuple[job_identity.JobIdentity, str]]) -> list[str]:
    identities = [identity for identity, _ in series]
    unique = list(dict.fromkeys(identities))
    names = dict(zip(unique, job_identity.labels_of(unique), strict=True))
    return [
        names[identity] if identities.count(identity) == 1 else f"{names[identity]} · {place}"
        for identity, place in series
    ]


def _sittings(runs: Runs, sitting_s: float) -> list[list[Run]]:
    found: list[list[Run]] = []
    for run in runs:
        last = found[-1][-1] if found else None
        is_close = last is not None and sitting_s > 0 and job_identity.follows(last, run, sitting_s)
        if last is not None and is_close and facts_of(last) == facts_of(run):
            found[-1].append(run)
        else:
            found.append([run])
    return found


def _history(
    job: tuple[str, job_identity.JobIdentity],
    sittings: Sequence[Sequence[RunFigure]],
    metric: str,
    threshold_pct: float,
    failed: int,
) -> history.JobHistory | None:
    points_of = ((sitting[0].run, _point(sitting)) for sitting in sittings)
    pairs = [(run, point) for run, point in points_of if point is not None]
    if not pairs:
        return None
    known, points = [run for run, _ in pairs], tuple(point for _, point in pairs)
    values = [one.value for one in points]
    found = change_points(values, threshold_pct=threshold_pct)
    figure = figure_of(metric)
    higher_is_better = figure is not None and figure.higher_is_better
    # Until a change is sure, the session before it may be of either level.
    first = [one.at if one.is_sure else max(1, one.at - 1) for one in found]
    places = [range(start, one.at + 1) for start, one in zip(first, found, strict=True)]
    quiet = set(range(1, len(known))).difference(*places)
    changes = tuple(
        history.LevelChange(
            at=one.at,
            estimate=one.estimate,
            is_sure=one.is_sure,
            is_worse=(one.estimate.ratio > 1) is not higher_is_better,
            changed=changes_at(known, at, quiet),
        )
        for one, at in zip(found, places, strict=True)
    )
    label, identity = job
    ends = [0, *sorted(change.at for change in changes if change.is_sure), len(values)]
    levels = tuple(
        history.Level(first=first, last=end - 1, value=float(np.median(values[first:end])))
        for first, end in pairwise(ends)
    )
    return history.JobHistory(
        label=label,
        model=identity.model,
        backend=identity.spec,
        case=label.removeprefix(f"{identity.model} · {identity.spec}").removeprefix(" · "),
        inputs=identity.inputs,
        place=known[-1].environment.place,
        metric=metric,
        unit=metric_unit(metric),
        threshold_pct=threshold_pct,
        points=points,
        levels=levels,
        changes=changes,
        newest=newest_against_level(values, levels[-1].first),
        evidence=_evidence([one for sitting in sittings for one in sitting]),
        command=sittings[-1][-1].run.command,
        failed=failed,
    )


def standing_of(found: history.JobHistory, within: int) -> history.Standing:
    """Return how the newest sessions of a job compare with its level before.

    Args:
        within: A change of level counts that so many sessions, the newest, show.
    """
    if found.doubt is not None:
        return history.Standing(kind="perhaps", estimate=found.doubt.estimate, change=found.doubt)
    change = found.newest_change
    if change is not None and change.at >= len(found.points) - within:
        return history.Standing(
            kind="worse" if change.is_worse else "better", estimate=change.estimate, change=change
        )
    if found.newest is None:
        return history.Standing(kind="unknown")
    is_same = decide(found.newest, found.threshold_pct)[0] is VerdictKind.SAME
    return history.Standing(kind="same" if is_same else "unknown", estimate=found.newest)


def _evidence(figures: Sequence[RunFigure]) -> EvidenceLevel:
    """Return the level of a series: its sessions are of different times."""
    known = [one for one in figures if one.value is not None]
    if any(one.is_printed for one in known):
        return EvidenceLevel.PRINTED
    return EvidenceLevel.SAMPLES if len(known) == 1 else EvidenceLevel.PROCESSES


def _point(sitting: Sequence[RunFigure]) -> history.HistoryPoint | None:
    known = [one for one in sitting if one.value is not None]
    values = [one.value for one in known if one.value is not None]
    if not known:
        return None
    lowest, highest = min(values), max(values)
    first, interval = known[0].run, known[0].interval
    if len(known) == 1 and interval is not None:
        lowest, highest = interval.low, interval.high
    commit = first.environment.commit
    return history.HistoryPoint(
        runs=tuple(one.run.id for one in known),
        created=first.created,
        value=float(np.median(values)),
        lowest=lowest,
        highest=highest,
        commit=commit.short if commit else None,
        tags=tuple(dict.fromkeys(tag for one in known for tag in one.run.tags)),
    )
