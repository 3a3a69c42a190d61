"""Proposals of what to keep in FP32, each built, answered and measured."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec

from enginescope.analysis.error_growth import Bisected
from enginescope.analysis.output_comparison import SideComparison
from enginescope.analysis.output_diff import SideDiff
from enginescope.analysis.output_tolerance import tolerance_for
from enginescope.analysis.precision_proposals import Proposal, proposals_of
from enginescope.analysis.precision_trials import PrecisionTrial, PrecisionTrials, worst_error
from enginescope.analysis.run_view import RunView
from enginescope.bisect_run import BisectPlan, BisectRun
from enginescope.core.errors import EnginescopeError
from enginescope.formats.answer_files import answer_file, read_answers
from enginescope.model.job import InputFile, InputShape, Job, StopRule, WarmUp, Workload
from enginescope.model.run import OutcomeKind, Run
from enginescope.model.sample_set import Sample
from enginescope.precision_ways import KeepingWay, keeping_way
from enginescope.runner.session import run_jobs

#: Enough to tell ways apart that differ by a few percent.
_STOP = StopRule(precision_pct=0.5, max_time_ms=4_000.0, min_time_ms=300.0)
_AS_IT_IS = Proposal(kind="none", title="as it is", nodes=())
_ALL = Proposal(kind="all", title="everything", nodes=())


class PrecisionRun:
    """Tries what could be kept in FP32 of a side.

    Parameters
    ----------
    plan : BisectPlan
    run : BisectRun
        That has searched the side.
    samples : tuple of Sample
        That every proposal answers.
    """

    def __init__(self, plan: BisectPlan, run: BisectRun, samples: tuple[Sample, ...]) -> None:
        self._plan, self._run = plan, run
        self._samples = samples
        self._count = 0

    def tried(self, found: Bisected) -> PrecisionTrials:
        """Return what came of each proposal."""
        way, words = keeping_way(self._plan.job, self._plan.reference)
        if way is None:
            return PrecisionTrials(way="", why_none=words)
        flow = self._run.reference_flow if way.of_reference else self._run.flow
        proposals = proposals_of(found, flow, of_reference=way.of_reference)
        reference = self._answers(self._plan.reference)
        trials = tuple(self._trial(way, one, reference) for one in (_AS_IT_IS, *proposals, _ALL))
        return PrecisionTrials(way=words, trials=trials, samples=len(self._samples))

    def _trial(self, way: KeepingWay, proposal: Proposal, reference: Path) -> PrecisionTrial:
        whole = proposal.kind == "all"
        said = str(way.whole.backend) if whole else way.specification(proposal.nodes)
        trial = PrecisionTrial(proposal=proposal, specification=said)
        try:
            cache = Path(self._plan.job.engine_cache or self._run.answers.folder)
            job = way.whole if whole else way.keeping(proposal.nodes, cache)
            diff = self._compared(self._answers(job), reference)
        except EnginescopeError as error:
            return msgspec.structs.replace(trial, failure=str(error))
        figures = [one.figures for one in diff.outputs]
        odd = any(one.nan or one.infinite or one.finite_only_here for one in figures if one)
        errors = [one.error_to_spread if one else None for one in figures]
        trial = msgspec.structs.replace(
            trial, passes=diff.passes, error=None if odd else worst_error(errors)
        )
        return self._measured(trial, job)

    def _answers(self, job: Job) -> Path:
        self._count += 1
        folder = self._run.answers.folder / f"trial-{self._count}"
        self._run.answers.plain(job, folder, self._samples)
        return folder

    def _compared(self, answers: Path, reference: Path) -> SideDiff:
        plan = self._plan
        limits = partial(tolerance_for, base=plan.tolerance, asked=plan.asked)
        comparison = SideComparison(plan.label, limits)
        for number, sample in enumerate(self._samples):
            ours = read_answers(answer_file(reference, number))
            comparison.add(number, sample.name, ours, read_answers(answer_file(answers, number)))
        return comparison.result()

    def _measured(self, trial: PrecisionTrial, job: Job) -> PrecisionTrial:
        timed = msgspec.structs.replace(
            job,
            workload=_workload(job.workload, self._samples[0]),
            layer_profile=False,
        )
        (run,) = run_jobs([timed], _forget)
        if run.outcome.kind is not OutcomeKind.OK:
            return msgspec.structs.replace(trial, failure=run.outcome.message)
        latency = RunView(run).latency
        if latency is None:
            return trial
        return msgspec.structs.replace(
            trial, latency_ms=latency.median_ms, interval=latency.median_interval
        )


def _workload(asked: Workload, sample: Sample) -> Workload:
    """Return the workload that feeds one sample's inputs, shortly."""
    files = tuple(
        InputFile(name=one.input, path=one.path) for one in sample.files if one.input is not None
    )
    shapes = tuple(InputShape(name=one.input, dims=one.dims) for one in sample.shapes)
    named = {one.name for one in shapes}
    return msgspec.structs.replace(
        asked,
        seed=sample.seed,
        data_set=sample.data_set,
        files=(*asked.files, *files),
        shapes=(*(one for one in asked.shapes if one.name not in named), *shapes),
        warmup=WarmUp(time_ms=100.0, limit_ms=1_000.0),
        stop=_STOP,
    )


def _forget(run: Run) -> None:
    """Keep nothing: these are no runs of the user's."""
