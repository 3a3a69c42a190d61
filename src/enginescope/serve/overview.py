"""How every job of a store stands, and which questions its newest runs answer.

Computed in a thread: a page shows what is known by then.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence

from enginescope.analysis.claims.run_claims import Usability
from enginescope.analysis.roofline.roofline import gpu_limits
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.compared_figures import HEADLINE, figure_of
from enginescope.analysis.verdicts.history import is_of_one_question, standing_of
from enginescope.core.errors import EnginescopeError
from enginescope.core.record import Record, replace
from enginescope.judge.samples import Percentile
from enginescope.judge.stats.describe import median
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.run.run import Run
from enginescope.records.verdict.history import JobHistory, Standing
from enginescope.render.base.facts import Facts, machine_facts
from enginescope.render.suites.suite_answer import suite_answer
from enginescope.render.verdicts.verdict_phrases import headline_sentence
from enginescope.serve import result_pages
from enginescope.serve.gates import GateResult, KeptGates
from enginescope.serve.kept_pages import KeptRows
from enginescope.serve.kept_runs import KeptFigures, KeptRuns, Warnings, warnings_of
from enginescope.store.row import Filter, RunRow
from enginescope.store.suite_folder import suite_folders

#: Sessions of a sparkline; an older change of level is no news.
SESSIONS = 30
#: Runs of the newest session that are read whole.
_MOST_READ = 5
#: The newest runs, in groups; a larger group than this gets no verdict here.
_FEED_RUNS, _FEED_GROUPS, _MOST_COMPARED = 300, 12, 40


class OverviewJob(Record, frozen=True, kw_only=True, eq=False):
    """A job on one kind of machine.

    Attributes:
        newest: Its newest run, without samples, plan and times.
        p99: Of the newest run of its session whose samples carry it.
        memory: Median of the newest session, in bytes: of the device, else of the host.
        headroom_pct: Time that the newest run loses against the GPU's limits.
        warnings: About the runs of the newest session.
        usability: Of the newest run; ``None``: unknown.
        machine: What the newest run says of its machine.
    """

    history: JobHistory
    standing: Standing
    newest: Run
    p99: Percentile | None
    memory: float | None
    headroom_pct: float | None
    warnings: Warnings
    usability: Usability | None
    machine: Facts


class Question(Record, frozen=True, kw_only=True):
    """Runs that one command made.

    Attributes:
        tag: Of a comparison or a suite; ``None``: they have only their command.
        command: ``None``: unknown, as of imported runs.
        answer: Of the comparison or suite, in a sentence.
    """

    runs: tuple[RunRow, ...]
    tag: str | None
    is_suite: bool = False
    command: str | None = None
    answer: str | None = None


class Overview:
    """Jobs by model, kept for as long as the runs of the model are the same.

    Attributes:
        version: Another number once something has become known.
        is_busy: Whether it is being computed; `left` models are not known yet.
    """

    def __init__(
        self, rows: KeptRows, runs: KeptRuns, figures: KeptFigures, gates: KeptGates
    ) -> None:
        self._rows, self._runs, self._figures, self._gates = rows, runs, figures, gates
        self._jobs: dict[str, tuple[tuple[RunRow, ...], tuple[OverviewJob, ...]]] = {}
        self._answers: dict[tuple[str, ...], str | None] = {}
        self._seen: tuple[RunRow, ...] | None = None
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self.version = self.left = 0
        self.is_busy = False
        self.questions: tuple[Question, ...] = ()
        self.gates: Mapping[str, GateResult] = {}

    @property
    def jobs(self) -> tuple[OverviewJob, ...]:
        return tuple(job for _, jobs in list(self._jobs.values()) for job in jobs)

    @property
    def models(self) -> set[str]:
        return {*self._jobs}

    def refresh(self, wait_s: float) -> None:
        """Compute what has changed, and wait for it at most so long."""
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                rows = self._rows.select(Filter())
                if rows == self._seen:
                    return
                self.is_busy = True
                self._thread = threading.Thread(target=self._compute, args=(rows,), daemon=True)
                self._thread.start()
        self._thread.join(wait_s)

    def _compute(self, rows: tuple[RunRow, ...]) -> None:
        by_model: dict[str, list[RunRow]] = {}
        for row in rows:
            by_model.setdefault(row.model, []).append(row)
        wanted = {
            model: tuple(own[: result_pages.MOST_HISTORY_RUNS]) for model, own in by_model.items()
        }
        for model in self._jobs.keys() - wanted.keys():
            del self._jobs[model]
        changed = [one for one, own in wanted.items() if self._jobs.get(one, ((),))[0] != own]
        for self.left, model in zip(range(len(changed), 0, -1), changed, strict=True):
            self._jobs[model] = (wanted[model], self._jobs_of(wanted[model]))
            self.version += 1
        self.left = 0
        self.gates = self._gates.results()
        self.questions = tuple(map(self._answered, self._groups(rows)))
        self._seen = rows
        self.is_busy = False
        self.version += 1

    def _jobs_of(self, rows: Sequence[RunRow]) -> tuple[OverviewJob, ...]:
        read = self._figures.read(rows[::-1], HEADLINE)
        runs = {figure.run.id: figure.run for figure in read.figures}
        jobs = [
            self._job(history, runs[history.points[-1].runs[-1]])
            for history in result_pages.histories_in(read.figures, HEADLINE)
        ]
        # The process of a ladder or a lottery is a job only once there are sessions to compare.
        return tuple(
            job for job in jobs if job.standing.estimate or not is_of_one_question(job.newest)
        )

    def _job(self, history: JobHistory, newest: Run) -> OverviewJob:
        views = [*self._views(history.points[-1].runs[-_MOST_READ:])]
        tails = (view.latency.percentile(99.0) for view in reversed(views) if view.latency)
        return OverviewJob(
            history=history,
            standing=standing_of(history, SESSIONS),
            newest=newest,
            p99=next((one for one in tails if one is not None and one.mark is None), None),
            memory=_middle(views, "device_memory") or _middle(views, "peak_memory"),
            headroom_pct=_headroom_pct(views[-1]) if views else None,
            warnings=warnings_of(one for view in views for one in view.notices),
            usability=views[-1].usability if views else None,
            machine=machine_facts(views[-1].run) if views else (),
        )

    def _views(self, ids: Iterable[str]) -> Iterable[RunView]:
        for run_id in ids:
            try:
                yield RunView(self._runs.run(run_id))
            except EnginescopeError:  # it was deleted meanwhile, or its page says what is wrong
                continue

    def _groups(self, rows: Sequence[RunRow]) -> list[Question]:
        """Return the newest runs by what asked for them: a tag of one question, else a command."""
        suites = {folder.path.name for folder in suite_folders(self._runs.store.suite_home())}
        known = self._figures.read(rows[:_FEED_RUNS], HEADLINE).figures
        commands = {figure.run.id: figure.run.command for figure in known}
        groups: dict[str, Question] = {}
        for row in rows[:_FEED_RUNS]:
            own = (one for one in row.tags if one in suites or one.startswith(COMPARISON_TAG))
            tag, command = next(own, None), commands.get(row.id)
            one = groups.get(tag or command or row.id)
            runs = (*one.runs, row) if one else (row,)
            groups[tag or command or row.id] = Question(
                runs=runs, tag=tag, is_suite=tag in suites, command=one.command if one else command
            )
        return [*groups.values()][:_FEED_GROUPS]

    def _answered(self, question: Question) -> Question:
        """Return a question with the answer of its suite or comparison, if that has few runs."""
        ids = tuple(row.id for row in question.runs)
        if question.tag is None or (len(ids) > _MOST_COMPARED and not question.is_suite):
            return question
        if ids not in self._answers:
            try:
                answer = self._answer(question.tag, is_suite=question.is_suite)
            except EnginescopeError:  # nothing to compare yet, or their pages say what is wrong
                answer = None
            self._answers = {**dict([*self._answers.items()][-_FEED_GROUPS:]), ids: answer}
        return replace(question, answer=self._answers[ids])

    def _answer(self, tag: str, *, is_suite: bool) -> str | None:
        if is_suite:
            return suite_answer(result_pages.suite_folder(self._runs.store, tag).result()).fastest
        measured = result_pages.comparison_of_tag(tag, self._runs).measured
        if measured is None:
            return None
        first, *others = measured.pairs
        return f"{len(others) + 2} sides compared" if others else headline_sentence(first)


def _middle(views: Sequence[RunView], metric: str) -> float | None:
    figure = figure_of(metric)
    assert figure is not None
    values = [value for view in views if (value := figure.of(view)) is not None]
    return median(values) if values else None


def _headroom_pct(view: RunView) -> float | None:
    devices = view.run.environment.devices
    gpu = gpu_limits(devices[0].name) if devices else None
    plan = view.plan_view.against(gpu, None) if view.plan_view is not None and gpu else None
    if plan is None or plan.roofline is None or not plan.engine_ms or plan.profile is None:
        return None
    return 100 * plan.roofline.saving_ms() / plan.engine_ms
