"""Many models on many backends: what is asked for, one cell of it, and what became of a cell."""

from __future__ import annotations

from enum import Enum
from typing import Literal, TypeAlias

from enginescope.core.record import Record
from enginescope.model.job import InputRange, InputShape, Job, Limits, StopRule, WarmUp
from enginescope.model.notice import Notice

SuiteMode: TypeAlias = Literal["benchmark", "validate", "both"]
SuiteInput: TypeAlias = Literal["random", "dataset"]


class Checking(Record, frozen=True, kw_only=True):
    """How answers are held against a reference.

    Attributes
    ----------
    reference : str or None
        A backend, model, engine or folder; ``None``: the data set's outputs, else the model on
        ONNX Runtime's CPU provider.
    samples : int
        Random ones, where there is no data set.
    tolerance : str or None
        A precision whose limits hold; ``None``: by the precisions of both sides.
    rtol, atol, mismatch_pct : float or None
        In place of those limits.
    """

    reference: str | None = None
    samples: int = 4
    tolerance: str | None = None
    rtol: float | None = None
    atol: float | None = None
    mismatch_pct: float | None = None


class Needs(Record, frozen=True, kw_only=True):
    """Where a cell must run, on a fleet of machines that are not alike.

    Attributes
    ----------
    gpu : str or None
        Kind of GPU: ``"H200"``. ``None``: no kind is asked for.
    exclusive : bool
        Nothing else on the machine meanwhile.
    """

    gpu: str | None = None
    exclusive: bool = False


class SuiteModel(Record, frozen=True, kw_only=True):
    """A model of a suite, and where it differs from the suite.

    Attributes
    ----------
    name : str
        Unique in the suite.
    path : str
    data_sets : tuple of str
        Its ``test_data_set_*`` folders.
    shapes : tuple of tuple of InputShape
        Each makes cells of its own; one that is empty leaves the shapes to the model.
    batches : tuple of (int or None)
        Each makes cells of its own.
    backends : tuple of str
        As they are typed.
    limits : Limits or None
        ``None``: the suite's.
    """

    name: str
    path: str
    backends: tuple[str, ...]
    data_sets: tuple[str, ...] = ()
    shapes: tuple[tuple[InputShape, ...], ...] = ((),)
    batches: tuple[int | None, ...] = (None,)
    ranges: tuple[InputRange, ...] = ()
    limits: Limits | None = None
    needs: Needs = Needs()


class Suite(Record, frozen=True, kw_only=True):
    """What is to be done with which models.

    Attributes
    ----------
    name : str
        Its folder's, and the tag of its runs.
    models : tuple of SuiteModel
    mode : {"benchmark", "validate", "both"}
    input : {"random", "dataset"}
    baseline : str or None
        The backend that speed-up is counted from; ``None``: each model's first.
    layers : bool
        Time layers too, in a pass of their own.
    retries : int
        Further attempts of a process that failed.
    processes : int
        Fresh ones for each cell, one after another.
    limits : Limits
        Of each process.
    environments : dict of str to str
        Name to the Python that does the cells of backends with that ``@NAME``.
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

    Attributes
    ----------
    key : str
        Hexadecimal; another where the model's content, the options or the shapes are others.
    model : str
        Its name in the suite.
    mode : {"benchmark", "validate", "both"}
        ``both``: validated first, and measured if the answers are right.
    input : {"random", "dataset"}
        What it is fed.
    job : Job
        What is measured, or whose answers are compared.
    data_sets : tuple of str
        Samples to answer; empty: random ones.
    retries : int
        Further attempts of each process that fails.
    processes : int
        Fresh ones that measure it, one after another.
    refusal : str or None
        Why it cannot be run anywhere: its backend has no such precision.
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
        parts += [f"{one.name} {'×'.join(map(str, one.dims))}" for one in work.shapes]
        return " · ".join(parts)

    @property
    def label(self) -> str:
        """For people: model, backend, batch, shapes."""
        return " · ".join(one for one in (self.model, self.spec, self.case) if one)


class SuitePlan(Record, frozen=True, kw_only=True):
    """A suite, its cells, and where its runs are.

    Attributes
    ----------
    created : str
        When it was first begun: UTC, ISO 8601.
    command : str or None
    source : str or None
        The file or folder that describes it.
    store : str or None
        Folder of the store that holds the runs.
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
    WRONG = "wrong"  # it ran, and its answers are not within their limits
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

    Attributes
    ----------
    nodes : int or None
        That it took; ``None``: the runtime does not say.
    time_ms : float or None
        Of its kernels in a request; ``None``: they were not timed.
    """

    provider: str
    nodes: int | None = None
    time_ms: float | None = None


class CellRow(Record, frozen=True, kw_only=True):
    """What became of a cell.

    Attributes
    ----------
    cell : Cell
    status : CellStatus
    reason : str or None
        Why it is not ``ok``.
    hint, detail : str or None
        The next step; the last words of its process.
    run : str or None
        Id of the run in the store; of several processes that of the middle median, or of the one
        that failed.
    runs : tuple of str
        Of several processes all, in their order; else empty.
    started, ended : str
        UTC, ISO 8601.
    attempts : int
        Of the process that took most of them.
    figures : tuple of CellFigure
        Of several processes what they come to together.
    providers : tuple of CellProvider
    warnings : tuple of str
        Codes of what weakens its figures; the run has them in words.
    is_unstable : bool
        One of them makes the figures worthless, and not only weaker.
    versions : dict of str to str
        What it ran on, as far as a change of it makes the figures others.
    host, gpu, cpu : str or None
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

    Attributes
    ----------
    rows : tuple of CellRow
        In the order of the plan's cells; those that are not done yet have none.
    notices : tuple of Notice
        What could not be read of its files.
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
