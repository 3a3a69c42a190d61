"""Many models on many backends: what is asked for, one cell of it, and what became of a cell."""

from enum import Enum
from typing import Literal, TypeAlias

from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.records.run.job import (
    DimSize,
    InputRange,
    InputShape,
    Job,
    Limits,
    StopRule,
    WarmUp,
)

SuiteMode: TypeAlias = Literal["benchmark", "validate", "both"]
SuiteInput: TypeAlias = Literal["random", "dataset"]


class Checking(Record, frozen=True, kw_only=True):
    """How outputs are compared with a reference.

    Attributes:
        reference: A backend, model, engine or folder; ``None``: the data set's outputs, else the
            model on ONNX Runtime's CPU provider.
        samples: Random ones, where there is no data set.
        tolerance: A precision whose limits hold; ``None``: by the precisions of both sides.
        rtol, atol, mismatch_pct: In place of those limits.
    """

    reference: str | None = None
    samples: int = 4
    tolerance: str | None = None
    rtol: float | None = None
    atol: float | None = None
    mismatch_pct: float | None = None


class Needs(Record, frozen=True, kw_only=True):
    """Where a cell must run, on a fleet of machines that are not alike.

    Attributes:
        gpu: Kind of GPU: ``"H200"``. ``None``: no kind is asked for.
        exclusive: Nothing else on the machine meanwhile.
    """

    gpu: str | None = None
    exclusive: bool = False


class SuiteModel(Record, frozen=True, kw_only=True):
    """A model of a suite, and where it differs from the suite.

    Attributes:
        name: Unique in the suite.
        data_sets: Its ``test_data_set_*`` folders.
        shapes: Each makes cells of its own; one that is empty leaves the shapes to the model.
        batches: Each makes cells of its own.
        dims: Sizes of named dimensions; each set makes cells of its own.
        decode: Tokens that a request generates; ``None``: a request is one run of the model.
        backends: As they are typed.
        limits: ``None``: the suite's.
    """

    name: str
    path: str
    backends: tuple[str, ...]
    data_sets: tuple[str, ...] = ()
    shapes: tuple[tuple[InputShape, ...], ...] = ((),)
    batches: tuple[int | None, ...] = (None,)
    ranges: tuple[InputRange, ...] = ()
    dims: tuple[tuple[DimSize, ...], ...] = ((),)
    decode: int | None = None
    limits: Limits | None = None
    needs: Needs = Needs()


class Suite(Record, frozen=True, kw_only=True):
    """What is to be done with which models.

    Attributes:
        name: Its folder's, and the tag of its runs.
        baseline: The backend that speed-up is counted from; ``None``: each model's first.
        layers: Time layers too, in a pass of their own.
        retries: Further attempts of a process that failed or was disturbed.
        processes: Fresh ones for each cell, one after another.
        limits: Of each process.
        environments: Name to the Python that does the cells of backends with that ``@NAME``.
    """

    name: str
    models: tuple[SuiteModel, ...]
    mode: SuiteMode = "benchmark"
    input: SuiteInput = "random"
    baseline: str | None = None
    layers: bool = True
    retries: int = 0
    processes: int = 1
    seed: int = 0
    warmup: WarmUp = WarmUp()
    stop: StopRule = StopRule()
    limits: Limits = Limits()
    checking: Checking = Checking()
    environments: dict[str, str] = {}


class Cell(Record, frozen=True, kw_only=True):
    """One model on one backend in one shape: a job and what it is known by.

    Attributes:
        key: Hexadecimal; another where the model's content, the options or the shapes are others.
        model: Its name in the suite.
        mode: ``both``: validated first, and measured if the outputs are right.
        input: What it is fed.
        job: What is measured, or whose outputs are compared.
        data_sets: Samples to answer; empty: random ones.
        retries: Further attempts of each process that fails or is disturbed.
        processes: Fresh ones that measure it, one after another.
        refusal: Why it cannot be run anywhere: its backend has no such precision.
    """

    key: str
    model: str
    mode: SuiteMode
    input: SuiteInput
    job: Job
    data_sets: tuple[str, ...] = ()
    checking: Checking = Checking()
    needs: Needs = Needs()
    retries: int = 0
    processes: int = 1
    refusal: str | None = None

    @property
    def spec(self) -> str:
        """The backend as it is typed."""
        return str(self.job.backend)

    @property
    def environment(self) -> str | None:
        """The other Python that it runs in, by its name in the suite."""
        return self.job.backend.environment

    @property
    def case(self) -> str:
        """What beside model and backend tells cells apart; empty where nothing was asked for."""
        work = self.job.workload
        parts = [f"batch {work.batch}"] if work.batch is not None else []
        parts += [f"{one.name} {one.size}" for one in work.dims if work.derived]
        parts += [
            f"{one.name} {'×'.join(map(str, one.dims))}"
            for one in work.shapes
            if one.name not in work.derived
        ]
        parts += [f"decode {work.mode.decode}"] if work.mode.decode is not None else []
        return " · ".join(parts)

    @property
    def label(self) -> str:
        """For people: model, backend, batch, shapes."""
        return " · ".join(one for one in (self.model, self.spec, self.case) if one)


class SuitePlan(Record, frozen=True, kw_only=True):
    """A suite, its cells, and where its runs are.

    Attributes:
        created: When it was first begun: UTC, ISO 8601.
        source: The file or folder that describes it.
        store: Folder of the store that holds the runs.
    """

    suite: Suite
    cells: tuple[Cell, ...]
    created: str
    command: str | None = None
    source: str | None = None
    store: str | None = None


class CellStatus(Enum):
    """What became of a cell."""

    OK = "ok"
    WRONG = "wrong"  # it ran, and its outputs are not within their limits
    FAILED = "failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    UNSUPPORTED = "unsupported"


class CellFigure(Record, frozen=True, kw_only=True):
    """A figure of a cell, as it was when the cell ended; the run holds the samples."""

    metric: str
    value: float
    unit: str


class CellProvider(Record, frozen=True, kw_only=True):
    """What one execution provider did of a model.

    Attributes:
        nodes: That it took; ``None``: the runtime does not say.
        time_ms: Of its kernels in a request; ``None``: they were not timed.
    """

    provider: str
    nodes: int | None = None
    time_ms: float | None = None


class CellRow(Record, frozen=True, kw_only=True):
    """What became of a cell.

    Attributes:
        reason: Why it is not ``ok``.
        hint, detail: The next step; the last words of its process.
        run: Id of the run in the store; of several processes that of the middle median, or of the
            one that failed.
        runs: Of several processes all, in their order; else empty.
        started, ended: UTC, ISO 8601.
        attempts: Of the process that took most of them.
        figures: Of several processes what they come to together.
        warnings: Codes of notices on its figures; the run has them in words.
        is_unstable: In half of the processes or more, `UNSTABLE` holds: the figures are worthless.
        versions: What it ran on, as far as a change of it makes the figures others.
    """

    cell: Cell
    status: CellStatus
    reason: str | None = None
    hint: str | None = None
    detail: str | None = None
    run: str | None = None
    runs: tuple[str, ...] = ()
    started: str
    ended: str
    attempts: int = 1
    figures: tuple[CellFigure, ...] = ()
    providers: tuple[CellProvider, ...] = ()
    warnings: tuple[str, ...] = ()
    is_unstable: bool = False
    versions: dict[str, str] = {}
    host: str | None = None
    cpu: str | None = None
    gpu: str | None = None

    @property
    def run_ids(self) -> tuple[str, ...]:
        """Ids of the runs of all its processes; none where it was not measured."""
        return self.runs or ((self.run,) if self.run is not None else ())

    def figure(self, metric: str) -> float | None:
        """Return a figure by its name, or ``None``."""
        return next((one.value for one in self.figures if one.metric == metric), None)


class SuiteResult(Record, frozen=True, kw_only=True):
    """A suite with what became of its cells so far.

    Attributes:
        rows: In the order of the plan's cells; those that are not done yet have none.
        notices: What could not be read of its files.
    """

    plan: SuitePlan
    rows: tuple[CellRow, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def name(self) -> str:
        """The suite's name."""
        return self.plan.suite.name

    @property
    def pending(self) -> int:
        """Cells without a row."""
        return len(self.plan.cells) - len(self.rows)

    def count(self, status: CellStatus) -> int:
        """Return the number of cells with a status."""
        return sum(one.status is status for one in self.rows)


class ResumeState(Record, frozen=True, kw_only=True):
    """State of a suite before a session.

    Attributes:
        done: Rows of cells that are not run again.
        known_bad: Rows of cells that failed under the same conditions; they are not run again.
        changed: Number of cells in `todo` that ran on other versions or another machine.
    """

    done: tuple[CellRow, ...]
    known_bad: tuple[CellRow, ...]
    todo: tuple[Cell, ...]
    changed: int = 0


class Claim(Record, frozen=True, kw_only=True):
    """A request to take, renew or end the lease of a suite.

    Attributes:
        owner: Names the machine and process to people.
        token: Who has it may renew the lease, also after a kill.
        seconds: Until the lease expires, by the clock of who keeps it; 0 ends it.
    """

    owner: str
    token: str
    seconds: float


class Lease(Record, frozen=True, kw_only=True):
    """The lease of a suite: who runs it, or ran it last.

    Attributes:
        renewed, expires: Unix time, s.
    """

    owner: str
    token: str
    renewed: float
    expires: float


class SuiteChange(Record, frozen=True, kw_only=True):
    """Parts of a suite to write; a claim that is refused writes nothing."""

    plan: SuitePlan | None = None
    rows: tuple[CellRow, ...] = ()
    claim: Claim | None = None
