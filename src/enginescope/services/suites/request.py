"""What a suite run is asked for: the suite, values that replace its file's, and the place.

Fleets: machines that run cells in place of this process.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from enginescope.core.optional import is_installed, require
from enginescope.core.record import Record
from enginescope.records.progress import Progress
from enginescope.records.suite.suite import (
    Cell,
    CellRow,
    ResumeState,
    SuiteInput,
    SuiteMode,
    SuitePlan,
    SuiteResult,
)
from enginescope.runner.fleet.cell_task import REFERENCES, Fleet
from enginescope.services.observer import Observer
from enginescope.store.location import StorePlace


class ThisMachine(Record, frozen=True, kw_only=True):
    """Run cells on this machine.

    Attributes:
        jobs: Cells at a time, each on cores of its own, never two on one GPU.
    """

    jobs: int = 1


class RayCluster(Record, frozen=True, kw_only=True):
    """Run cells on a Ray cluster: ``auto``, ``HOST:PORT``, ``ray://HOST:PORT`` or ``local``."""

    address: str


class DockerImage(Record, frozen=True, kw_only=True):
    """Run each cell in a container of its own."""

    image: str


Place: TypeAlias = ThisMachine | RayCluster | DockerImage


class PushTarget(Record, frozen=True, kw_only=True):
    """Server that gets each row and run of a suite while it runs.

    Attributes:
        url: Of ``enginescope serve --accept-push``.
        token_file: Where the token is from, for the command that sends what is left.
    """

    url: str
    token: str
    token_file: Path | None = None

    def __repr__(self) -> str:
        """Return the URL without the token."""
        return f"PushTarget(url={self.url!r})"


class SuiteRequest(Record, frozen=True, kw_only=True):
    """Options of a suite run: the suite, values that replace those of its file, and the place.

    Attributes:
        source: Suite file (TOML, YAML, model_list.json), or a folder of models.
        place: Where cells run.
        retry_failed: Run cells again that failed before.
        retry_busy: Run cells again that were measured on a busy machine.
        folder: Folder of the suite; ``None``: ``suites/NAME`` in the store.
        store: Folder or database of runs; ``None``: ``$ENGINESCOPE_HOME``, else the platform's.
        push: Server to send rows and runs to; ``None``: none.
        command: The command line to record.
    """

    source: Path
    place: Place = ThisMachine()
    retry_failed: bool = False
    retry_busy: bool = False
    folder: Path | None = None
    store: StorePlace | None = None
    push: PushTarget | None = None
    command: str | None = None
    name: str | None = None
    backends: tuple[str, ...] = ()
    environments: dict[str, str] = {}  # noqa: RUF012 - msgspec copies empty defaults
    batches: tuple[int, ...] = ()
    mode: SuiteMode | None = None
    input: SuiteInput | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    baseline: str | None = None
    layers: bool | None = None
    timeout: str | None = None
    memory_limit: str | None = None
    retries: int | None = None
    warmup: str | int | None = None
    iterations: int | None = None
    duration: str | None = None
    max_time: str | None = None
    processes: int | None = None
    reference: str | None = None
    samples: int | None = None
    tolerance: str | None = None
    rtol: float | None = None
    atol: float | None = None
    percent_mismatch: float | None = None


def fleet_for(place: RayCluster | DockerImage, folder: Path) -> Fleet:
    """Return the fleet of a place.

    Args:
        folder: Folder of the suite.
    """
    references = str(folder.resolve() / REFERENCES)
    if isinstance(place, DockerImage):
        from enginescope.runner.fleet.container import DockerFleet

        return DockerFleet(place.image, references)
    from enginescope.runner.fleet.ray_fleet import RayFleet
    from enginescope.services.suites.remote_cell import run_remote_cell

    if not is_installed("ray"):  # it is imported when its environment variables are set
        require("ray", purpose="--on-ray", install="enginescope[ray]")
    return RayFleet(place.address, run_remote_cell, references)


class SuiteObserver(Observer):
    """Receives the reports of a suite; every method does nothing until a subclass overrides it.

    Cells that run at a time have different slots, from 0. On this machine, each slot reports from a
    thread of its own. `check_cancelled` is called before each cell; on a fleet, after it too.
    """

    def session_started(self, plan: SuitePlan, state: ResumeState) -> None:
        """Report the plan and the cells of this session, before any cell runs."""

    def cell_started(self, cell: Cell, slot: int, place: str | None = None) -> None:
        """Report the start of a cell; `place` is the machine of a fleet."""

    def process_started(self, slot: int, number: int) -> None:
        """Report the start of a measuring process of the slot's cell, counted from 0."""

    def cell_progressed(self, slot: int, progress: Progress) -> None:
        """Report the progress of the slot's cell."""

    def cell_retried(self, cell: Cell, why: str) -> None:
        """Report that a machine was lost, and that its cell runs again."""

    def cell_ended(self, row: CellRow, slot: int) -> None:
        """Report a row; it is stored."""

    def sending_failed(self, why: str) -> None:
        """Report that rows cannot be sent now: they are stored here, and sent later.

        A thread of its own reports it, once for each reason.
        """

    def session_ended(self, result: SuiteResult) -> None:
        """Report all rows of the suite, also after an interruption."""

    def table_skipped(self, name: str, why: str) -> None:
        """Report a table that was not written, as an optional package is not installed."""
