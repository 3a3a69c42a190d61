"""Builds and their processes into a report: components, costs, outputs, tactics."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from enginescope.analysis.plan_comparison.comparison import compare_layers
from enginescope.analysis.plan_comparison.layer_changes import LayersSide, Relation
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.upgrade.rows import output_gap
from enginescope.analysis.verdicts.build_spread import build_options_of, precision_of
from enginescope.analysis.verdicts.measured_notices import carried_notices
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredSide
from enginescope.core.record import Record
from enginescope.judge.comparison.ratio import middle_of
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array
from enginescope.judge.stats import nested_variance
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.plan.plan import Plan, Profile
from enginescope.records.progress import side_label
from enginescope.records.run.run import Run, TensorValues
from enginescope.records.verdict.lottery import (
    BuildSpread,
    DrawnBuild,
    DrawnTactic,
    LayerDraw,
    LotteryReport,
)

#: With fewer builds, the interval of their variation spans more than a factor of four.
FEW_BUILDS = 6


class TimedRun(Record, frozen=True, kw_only=True, eq=False):
    """A run and the wall time of its process, in seconds."""

    run: Run
    seconds: float


class OutputTally:
    """Takes the outputs of processes in any order of builds; holds one of each kind."""

    def __init__(self) -> None:
        self._kinds: dict[str, Sequence[TensorValues]] = {}
        self._digests: dict[int, list[str]] = {}

    def add(self, build: int, outputs: Sequence[TensorValues]) -> None:
        """Take the outputs of a process of a build; a process without outputs counts for none."""
        if outputs:
            digest = _digest(outputs)
            self._kinds.setdefault(digest, outputs)
            self._digests.setdefault(build, []).append(digest)

    def of(self, build: int) -> dict[str, Any]:
        """Return what a build's outputs are, as fields of `DrawnBuild`; none without outputs."""
        digests = self._digests.get(build)
        if digests is None:
            return {}
        firsts = list(dict.fromkeys(one[0] for _, one in sorted(self._digests.items())))
        base = self._kinds[firsts[0]]
        return {
            "outputs": side_label(firsts.index(digests[0])),
            "output_gap": max(output_gap(base, self._kinds[digest]) for digest in set(digests)),
            "is_repeatable": len(set(digests)) == 1,
        }


def _digest(outputs: Sequence[TensorValues]) -> str:
    digest = hashlib.sha256()
    for tensor in sorted(outputs, key=lambda one: one.name):
        digest.update(f"{tensor.name} {tensor.dtype} {tensor.shape}".encode())
        digest.update(tensor.data.tobytes())
    return digest.hexdigest()


class Draw(Record, frozen=True, kw_only=True, eq=False):
    """One build and the processes that ran it.

    Attributes:
        number: From 1.
        outputs: As `OutputTally.of` returns them.
    """

    number: int
    build_s: float
    build_peak_bytes: int | None = None
    processes: tuple[TimedRun, ...]
    outputs: Mapping[str, Any] = {}


def lottery_report(
    draws: Sequence[Draw], *, backend: str, duration_s: float, notices: Sequence[Notice] = ()
) -> LotteryReport:
    """Return what the builds come to.

    Args:
        draws: Two or more, each with the same number of processes, two or more.
        backend: As it is typed.
        duration_s: Of all builds and processes.
        notices: What became of other builds.

    Raises:
        UsageError: Too few builds, processes or iterations.
    """
    figures = [
        [nested_variance.process_figure(_times_ms(process.run)) for process in draw.processes]
        for draw in draws
    ]
    components = nested_variance.variance_components(figures)
    iterations = int(np.median([figure.iterations for row in figures for figure in row]))
    costs = _costs(draws)
    first = draws[0].processes[0].run
    assert first.turn is not None
    assert first.headline is not None
    plans = _plans(draws)
    changed = plans.changed if plans else [None] * len(draws)
    builds = tuple(_drawn_build(*pair) for pair in zip(draws, changed, strict=True))
    return LotteryReport(
        model=first.job.subject.name,
        backend=backend,
        made="engine" if first.build is not None else "optimized graph",
        evidence=EvidenceLevel.BUILDS if first.build is not None else EvidenceLevel.INTERLEAVED,
        metric=first.headline.metric,
        comparison=first.turn.comparison,
        processes=len(draws[0].processes),
        iterations=iterations,
        median_ms=middle_of([build.median_ms for build in builds]),
        builds=builds,
        components=components,
        costs=costs,
        duration_s=duration_s,
        best=nested_variance.best_allocation(components, iterations, costs, duration_s),
        spread=_spread(first, len(draws), components[0]),
        layers=plans.layers if plans else (),
        regrouped_layers=plans.regrouped if plans else 0,
        notices=(*notices, *_notices(draws, builds, components[1])),
        created=first.created,
        command=first.command,
    )


def _times_ms(run: Run) -> Array:
    assert run.headline is not None
    return run.headline.values_ms


def _costs(draws: Sequence[Draw]) -> nested_variance.LevelCosts:
    processes = [process for draw in draws for process in draw.processes]
    plain = [process for process in processes if not process.run.job.layer_profile] or processes
    loops = [(process, process.run.stop) for process in plain if process.run.stop is not None]
    seconds = (
        [draw.build_s for draw in draws],
        [process.seconds - stop.duration_ms / 1e3 for process, stop in loops],
        [stop.duration_ms / 1e3 / stop.iterations for _, stop in loops],
    )
    # a clock's step at the least, for what costs nothing
    build_s, process_s, iteration_s = (max(float(np.median(values)), 1e-9) for values in seconds)
    return nested_variance.LevelCosts(build_s=build_s, process_s=process_s, iteration_s=iteration_s)


def _plans(draws: Sequence[Draw]) -> TacticDraws | None:
    plans = []
    for draw in draws:  # the process whose layers were timed, else the first
        chosen = max((one.run for one in draw.processes), key=lambda run: run.profile is not None)
        run = RunView(chosen).run
        plans += [(draw.number, run.plan, run.profile)] if run.plan else []
    return tactic_draws(plans) if len(plans) == len(draws) else None


def _drawn_build(draw: Draw, changed: int | None) -> DrawnBuild:
    runs = [one.run for one in draw.processes]
    medians = tuple(float(np.median(_times_ms(run))) for run in runs)
    built = runs[0].build
    memory = [run.device_memory.process_bytes for run in runs if run.device_memory]
    host_memory = [run.peak_memory_bytes for run in runs if run.peak_memory_bytes is not None]
    return DrawnBuild(
        number=draw.number,
        runs=tuple(run.id for run in runs),
        medians_ms=medians,
        median_ms=middle_of(medians),
        build_s=draw.build_s,
        build_peak_bytes=draw.build_peak_bytes,
        engine_bytes=built.engine_bytes if built else None,
        engine_sha256=built.engine_sha256 if built else None,
        device_bytes=max((nbytes for nbytes in memory if nbytes is not None), default=None),
        host_bytes=max(host_memory, default=None),
        changed_layers=changed,
        **draw.outputs,
    )


def _spread(run: Run, builds: int, component: nested_variance.VarianceComponent) -> BuildSpread:
    built, headline = run.build, run.headline
    return BuildSpread(
        environment=run.environment.comparable_key(),
        backend=run.job.backend.name,
        precision=precision_of(run),
        options=build_options_of(run),
        model=run.job.subject.name,
        model_sha256=run.job.subject.sha256,
        metric=headline.metric if headline is not None else "latency",
        created=run.created,
        builds=builds,
        sd=math.sqrt(component.variance) if component.low_pct > 0 else 0.0,
        timing_cache_sha256=built.timing_cache_sha256 if built is not None else None,
    )


def _notices(
    draws: Sequence[Draw], builds: Sequence[DrawnBuild], process: nested_variance.VarianceComponent
) -> Iterator[Notice]:
    if len(builds) < FEW_BUILDS:
        yield Notice(
            "I-FEW-BUILDS",
            f"{len(builds)} builds: the interval between builds is wide; ten halve it",
            {"builds": len(builds)},
        )
    other = [build for build in builds if build.output_gap]
    if other:
        numbers = ", ".join(str(build.number) for build in other)
        most = max(build.output_gap or 0.0 for build in other)
        by = f"up to {most:.2g}" if math.isfinite(most) else "names, shapes or NaNs"
        yield Notice(
            "W-BUILD-OUTPUTS",
            f"{len(other)} of {len(builds)} builds give other outputs than the first "
            f"({numbers}), by {by}; validate each build that you ship",
            {"builds": [build.number for build in other]},
        )
    runs = tuple(process.run for draw in draws for process in draw.processes)
    side = MeasuredSide(label=runs[0].job.subject.name, name="", runs=runs)
    yield from carried_notices(MeasuredComparison(sides=(side,), pairs=(), threshold_pct=0.0))
    if process.high_pct == 0 and process.variance < 0:
        yield Notice(
            "W-SHARED-DRIFT",
            "processes differ less than their iterations suggest: latency changes in "
            "the same way within every process; measure longer, so that the warm-up has ended",
            {"variance": process.variance},
        )


class TacticDraws(Record, frozen=True, kw_only=True):
    """Where the plans of several builds differ.

    Attributes:
        changed: For each build, how many of its layers are not those of the first.
        layers: Layers with more than one tactic, the costliest first.
        regrouped: Layers of the first build that some build fuses otherwise.
    """

    changed: tuple[int, ...]
    layers: tuple[LayerDraw, ...]
    regrouped: int


class _Choice(NamedTuple):
    build: int
    tactic: str
    mean_ms: float | None


def tactic_draws(plans: Sequence[tuple[int, Plan, Profile | None]]) -> TacticDraws:
    """Compare the plan of each build with the first build's, layer by layer.

    Args:
        plans: Number of the build, its plan and the times of its layers; two or more.
    """
    (first, plan, profile), *others = plans
    choices: dict[tuple[int, ...], list[_Choice]] = {}
    sides: dict[tuple[int, ...], LayersSide] = {}  # names may repeat, places do not
    regrouped: set[str] = set()
    changed = [0]
    for number, other, times in others:
        rows = compare_layers((plan, profile), (other, times)).layers
        changed.append(sum(row.is_changed for row in rows))
        for row in rows:
            if row.relation is not Relation.PAIR:
                regrouped.update(row.a.names if row.a else ())
                continue
            assert row.a is not None
            assert row.b is not None
            sides[row.a.layers] = row.a
            tactic = row.a.tactic or "none named"
            known = choices.setdefault(row.a.layers, [_Choice(first, tactic, row.a.time_ms)])
            if row.change("tactic"):
                tactic = row.b.tactic or "none named"
            known.append(_Choice(number, tactic, row.b.time_ms))
    draws = (_draw(sides[place], layer) for place, layer in choices.items())
    several = [draw for draw in draws if len(draw.tactics) > 1]
    return TacticDraws(
        changed=tuple(changed),
        layers=tuple(sorted(several, key=lambda draw: -(draw.cost_ms or 0.0))),
        regrouped=len(regrouped),
    )


def _draw(side: LayersSide, choices: Sequence[_Choice]) -> LayerDraw:
    tactics = []
    for tactic in dict.fromkeys(choice.tactic for choice in choices):
        same = [choice for choice in choices if choice.tactic == tactic]
        known = [choice.mean_ms for choice in same if choice.mean_ms is not None]
        mean_ms = float(np.mean(known)) if known else None
        builds = tuple(choice.build for choice in same)
        tactics.append(DrawnTactic(tactic=tactic, builds=builds, mean_ms=mean_ms))
    times = [tactic.mean_ms for tactic in tactics if tactic.mean_ms is not None]
    return LayerDraw(
        layer=side.name,
        type=side.type,
        tactics=tuple(sorted(tactics, key=lambda tactic: (tactic.mean_ms is None, tactic.mean_ms))),
        cost_ms=max(times) - min(times) if len(times) == len(tactics) else None,
    )
