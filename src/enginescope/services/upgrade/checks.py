"""The steps of an upgrade: outputs of all models first, then figures, model by model."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.upgrade import rows as upgrade_rows
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.compared_figures import HEADLINE, process_value
from enginescope.analysis.verdicts.evidence_levels import evidence_level
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredSide
from enginescope.backends.base import Answering
from enginescope.backends.registry import load_backend, read_spec
from enginescope.core.record import Record, copied, replace
from enginescope.judge.comparison.looks import LOOKS
from enginescope.judge.experiment import Ended
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Job, StopRule, Workload
from enginescope.records.run.rounds import comparison_id
from enginescope.records.run.run import Run
from enginescope.records.verdict.gate import Limit
from enginescope.records.verdict.upgrade import (
    OUTPUTS,
    Stack,
    UpgradedModel,
    UpgradeKind,
    UpgradeReason,
    UpgradeRow,
)
from enginescope.render.verdicts.upgrade_answer import row_sentence
from enginescope.runner.inputs.sample_models import EMPTY_MODEL, sample_models
from enginescope.runner.jobs import subject_of, usual_backend
from enginescope.services.accuracy.request import ValidateRequest
from enginescope.services.measurement import rounds
from enginescope.services.measurement.jobs import JobRequest, jobs_of
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.upgrade.evidence import KeptOutputs
from enginescope.services.upgrade.remaining import TimeLeft
from enginescope.services.upgrade.request import UpgradeRequest, specs_of
from enginescope.services.upgrade.stacks import (
    NEW,
    OLD,
    ComparedOutputs,
    StackRunner,
    compare_outputs,
    is_own,
    no_outputs,
    on_stack,
)
from enginescope.store.archive import Store
from enginescope.store.machine_records import SPREADS


class Effort(Record, frozen=True, kw_only=True):
    """How many rounds a model may take, and how sure each look has to be; no looks: outputs alone.

    `has_layers` times the layers too, in the first round. `reduced` is a new folder for the part of
    a model that fails alone on the new stack.
    """

    looks: tuple[int, ...]
    confidence: float
    has_layers: bool = False
    reduced: Path | None = None


def effort_of(request: UpgradeRequest) -> Effort:
    looks = rounds.looks_up_to(request.builds or request.rounds or LOOKS[-1])
    return Effort(looks=looks, confidence=upgrade_rows.look_confidence(len(request.models)))


class Checks:
    """Compares the outputs of all models, then times those whose outputs pass.

    `notices` tell why the upgrade ended before all was known.
    """

    def __init__(
        self,
        request: UpgradeRequest,
        stacks: tuple[Stack, Stack],
        store: Store,
        observer: MeasurementObserver,
        kept: KeptOutputs | None,
        effort: Effort,
    ) -> None:
        self._request, self._stacks, self._effort = request, stacks, effort
        self._store, self._observer, self._kept = store, observer, kept
        self._runner = StackRunner(stacks, request.command)
        chosen = specs_of(request.backends, stacks)
        self._specs = [chosen or (usual_backend(one), usual_backend(one)) for one in request.models]
        self._limit_pct = upgrade_rows.latency_limit_pct(request.regressions)
        self.models = [
            self._of_outputs(number, upgrade_rows.stopped_row(OUTPUTS, "the outputs were compared"))
            for number in range(len(request.models))
        ]
        self.notices: tuple[Notice, ...] = ()
        self._left = TimeLeft(
            len(request.models),
            effort.looks or (0,),
            timed_s=(request.workload.stop.duration_ms or 0.0) / 1e3,
            processes=4 + 2 * request.repeats,
            max_time_s=request.max_time_s,
        )

    def run(self, tell: Callable[[], None]) -> None:
        """Do and tell all steps; after an interrupt or the maximum time, those before it stand."""
        kinds = (self._compare, self._time) if self._effort.looks else (self._compare,)
        steps = [(step, number) for step in kinds for number in range(len(self.models))]
        done = 0
        for step, number in steps:
            if self._left.limit_s == 0.0 or self._observer.interruption is not None:
                break
            try:
                self._observer.check_cancelled()
                step(number)
                tell()
                done += self._observer.interruption is None
            except (KeyboardInterrupt, SystemExit) as error:
                self._observer.interrupted(error)
        extent = f"{done} of {len(steps)} steps"
        if self._observer.interruption is not None:
            self.notices += (rounds.interrupted_notice(extent),)
        elif done < len(steps):
            self.notices += (_late_notice(extent),)
            self._observer.warn(self.notices[-1].message)

    def _compare(self, number: int) -> None:
        model = self._request.models[number]
        self._observer.stands(f"{model.name} …")
        begin = perf_counter()
        if self._kept is not None:
            self._kept.start_model()
        outputs = self._outputs(model, self._specs[number])
        self.models[number] = result = self._of_outputs(number, outputs.row, outputs)
        self._left.outputs_ended(perf_counter() - begin, is_timed=_is_timed(result))
        self._say(result, outputs.row)

    def _of_outputs(
        self, number: int, row: UpgradeRow, outputs: ComparedOutputs | None = None
    ) -> UpgradedModel:
        waiting = upgrade_rows.stopped_row(HEADLINE, "the model was timed")
        untimed = upgrade_rows.untimed_row(row, self._limit_pct)
        reference = outputs.reference if outputs else None
        result = UpgradedModel(
            model=subject_of(self._request.models[number]).name,
            backend=" and ".join(dict.fromkeys(self._specs[number])),
            rows=(row, waiting),
            reference=reference,
            repeats=self._request.repeats if reference else 0,
            notices=outputs.notices if outputs else (),
            origin=outputs.origin if outputs else None,
        )
        stays = outputs is None or _is_timed(result)
        return result if stays else replace(result, rows=(row, untimed))

    def _say(self, model: UpgradedModel, row: UpgradeRow) -> None:
        self._observer.time_left(self._left.seconds)
        self._observer.stands(row_sentence(model, row))

    def _outputs(self, model: Path, specs: tuple[str, str]) -> ComparedOutputs:
        request = self._request
        for backend in map(read_spec, specs):
            if not isinstance(load_backend(backend.name), Answering):
                return no_outputs(backend)
        first, second = (
            copied(
                ValidateRequest, request, models=(model,), on=spec, is_elsewhere=not is_own(stack)
            )
            for spec, stack in zip(specs, self._stacks, strict=True)
        )
        return compare_outputs(
            (first, second),
            self._stacks,
            request.repeats,
            self._runner,
            self._observer.process_started,
            self._kept,
            self._effort.reduced,
        )

    def _time(self, number: int) -> None:
        """Time a model whose outputs pass; each metric is reported once it is clear."""
        result = self.models[number]
        if not _is_timed(result):
            return
        request, effort, looks = self._request, self._effort, self._effort.looks
        asked = request.jobs(request.models[number], rebuild=request.builds is not None)
        share_s = self._left.model_started()
        asked = replace(asked, max_time_s=share_s, layer_profile=effort.has_layers)
        jobs = _stacked(asked, self._specs[number], self._stacks, self._store)
        terms = terms_of(request.regressions, effort.confidence, self._store, self._observer)
        library, said = self._library(number), set[str]()

        def is_decided(interim: MeasuredComparison) -> bool:
            self._left.looked(interim)
            rows = upgrade_rows.metric_rows(interim, request.regressions, terms, library)
            for row in rows:
                if row.decides and row.kind is not UpgradeKind.INCONCLUSIVE:
                    if row.metric not in said:
                        self._say(result, row)
                    said.add(row.metric)
            return upgrade_rows.is_settled(rows, looks[-1])

        timed = rounds.run_rounds(
            jobs,
            looks,
            terms,
            asked,
            self._store,
            self._observer,
            pacing=rounds.Pacing(
                builds_each=request.builds is not None,
                run=self._run_jobs,
                software={stack.name: stack.versions for stack in self._stacks},
            ),
            is_decided=is_decided,
        )
        self._left.model_ended()
        comparison = None if timed.ended is Ended.GIVEN_UP else timed.comparison
        if timed.ended is Ended.LATE:
            self.notices += (_late_notice(f"the rounds of {result.model}"),)
        limits = request.regressions
        last = partial(self._unless_stopped, library)
        model = with_figures(result, timed.sides, comparison, limits, terms, last)
        sides = [side.runs for side in timed.sides]
        self.models[number] = replace(model, comparison=comparison_id(sides))
        self._observer.stands(f"{model.model}: {model.kind.value}")

    def _run_jobs(self, *jobs: Any, **more: Any) -> tuple[Run, ...]:
        begin = perf_counter()
        runs = self._runner.run_jobs(*jobs, **more)
        self._left.process_ended(perf_counter() - begin)
        self._observer.time_left(self._left.seconds)
        return runs

    def _library(self, number: int) -> upgrade_rows.Library:
        """Return what measures the memory of the runtimes alone, once; of an engine nothing is."""
        measured: list[upgrade_rows.LibraryMemory] = []

        def library() -> upgrade_rows.LibraryMemory:
            if not measured and subject_of(self._request.models[number]).kind == "onnx":
                self._observer.process_started("memory of the runtimes by themselves")
                specs, stacks = self._specs[number], self._stacks
                measured.append(
                    library_memory(self._request, specs, stacks, self._runner, self._store)
                )
            return measured[0] if measured else {}

        return library

    def _unless_stopped(self, library: upgrade_rows.Library) -> upgrade_rows.LibraryMemory | None:
        if self._observer.interruption is None:
            try:
                return library()
            except (KeyboardInterrupt, SystemExit) as error:
                self._observer.interrupted(error)
        return None


def _late_notice(what: str) -> Notice:
    return Notice(code="I-SHORT-SEARCH", message=f"the maximum time was over after {what}")


def _is_timed(model: UpgradedModel) -> bool:
    row = model.rows[0]
    return row.kind is UpgradeKind.SAFE or row.reason == UpgradeReason.NO_OUTPUTS.value


def _stacked(
    request: JobRequest, specs: tuple[str, str], stacks: tuple[Stack, Stack], store: Store
) -> tuple[Job, ...]:
    return tuple(
        on_stack(job, stack)
        for spec, stack in zip(specs, stacks, strict=True)
        for job in jobs_of(replace(request, on=spec, is_elsewhere=not is_own(stack)), store)
    )


def library_memory(
    request: UpgradeRequest,
    specs: tuple[str, str],
    stacks: tuple[Stack, Stack],
    runner: StackRunner,
    store: Store,
) -> upgrade_rows.LibraryMemory:
    """Measure the memory of a process with an empty model on each stack; no run is stored."""
    models = sample_models(store.path / "samples", EMPTY_MODEL)
    workload = Workload(stop=StopRule(iterations=10), mode=request.workload.mode)
    jobs = _stacked(replace(request.jobs(*models), workload=workload), specs, stacks, store)
    views = list(map(RunView, runner.run_jobs(jobs, lambda _run: None)))
    shares = {}
    for metric in ("peak_memory", "device_memory"):
        old, new = (process_value(view, metric) for view in views)
        if old is not None and new is not None:
            shares[metric] = (old, new)
    return shares


def terms_of(
    limits: Sequence[Limit], confidence: float, store: Store, observer: MeasurementObserver
) -> CompareConfig:
    threshold_pct = upgrade_rows.latency_limit_pct(limits)
    spreads = SPREADS.usable(store.path, observer.warn)
    return CompareConfig(threshold_pct=threshold_pct, confidence=confidence, spreads=spreads)


def with_figures(
    model: UpgradedModel,
    sides: Sequence[MeasuredSide],
    comparison: MeasuredComparison | None,
    limits: Sequence[Limit],
    terms: CompareConfig,
    library: upgrade_rows.Library = dict,
) -> UpgradedModel:
    """Return a model whose outputs are judged with its figures; without them it is no win."""
    outputs, notices = model.rows[0], model.notices
    if comparison is None:
        rows: Sequence[UpgradeRow] = (upgrade_rows.failed_row(sides, terms.threshold_pct),)
    else:
        figures = upgrade_rows.metric_rows(comparison, limits, terms, library)
        rows = figures if outputs.kind is UpgradeKind.SAFE else upgrade_rows.without_wins(figures)
        # with stacks in place of letters
        labelled = zip((OLD, NEW), comparison.sides, strict=True)
        of_stacks = tuple(replace(side, label=label) for label, side in labelled)
        pairs = (replace(comparison.pairs[0], a=OLD, b=NEW),)
        notices += measured_notices(replace(comparison, sides=of_stacks, pairs=pairs))
    old, new = (side.runs for side in sides)
    return replace(
        model,
        rows=(outputs, *rows),
        evidence=evidence_level(old, new),
        old=tuple(run.id for run in old),
        new=tuple(run.id for run in new),
        layers=upgrade_rows.layer_differences(old, new),
        notices=notices,
    )
