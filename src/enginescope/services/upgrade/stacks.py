"""The two stacks of an upgrade: Pythons and containers of this machine that run jobs."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from enginescope.backends.registry import is_environment
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.run.job import Job, Watcher
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.records.run.sample_set import AnswerRequest
from enginescope.records.verdict.upgrade import Stack
from enginescope.runner.environment_fingerprint import environment_fingerprint
from enginescope.runner.fleet.container import Container, has_gpu, mounts_of_job
from enginescope.runner.fleet.environment import Environment
from enginescope.runner.session import Sink, makes_first, run_jobs
from enginescope.services.accuracy.sides import Side
from enginescope.services.upgrade.remote_job import REMOTE_JOB, packed_job, unpacked_run
from enginescope.store.archive import Store

#: Names of the stacks that have none.
OLD, NEW = "old", "new"
#: Beside what a job may take by itself: starting, and sending back.
_BESIDE_S = 120.0
#: Name of an image: no option of the tool, and no path of a folder.
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")


def parse_stack(text: str, usual: str) -> Stack:
    """Return the stack in ``[NAME=]PYTHON`` or ``[NAME=]docker:IMAGE``, without its versions."""
    name, equals, python = text.rpartition("=")
    if not equals:
        name = usual
    if not is_environment(name):
        raise UsageError(f"stack {name!r}", why="a name has letters, digits, . _ and - alone")
    container = Stack(name=name, python=python).container
    if container is not None:
        if not _IMAGE.fullmatch(container[1]):
            why = "not the name of an image"
            raise UsageError(f"stack {python}", why=why, hint=f"{container[0]}:enginescope:cpu")
        return Stack(name=name, python=python)
    path = os.path.expanduser(python)  # noqa: PTH111 - Path's raises where there is no such user
    found = shutil.which(path) if "/" not in path else None
    # a link to a Python is the environment
    return Stack(name=name, python=found or os.path.abspath(path))  # noqa: PTH100


def with_versions(stack: Stack) -> Stack:
    """Return the stack with versions and hardware as its Python sees them."""
    if stack.python is None or is_own(stack):
        return replace(stack, versions=environment_fingerprint())
    return replace(stack, versions=_place(stack).conditions())


def _place(stack: Stack) -> Environment | Container:
    if stack.container is None:
        return Environment(stack.name, stack.python or "")
    tool, image = stack.container
    return Container(image, tool, needed_by=stack.python or "")


def is_own(stack: Stack) -> bool:
    return stack.python == sys.executable


class StackRunner:
    """Runs jobs in the stack that ``job.backend.environment`` names; without a name, here."""

    def __init__(self, stacks: Sequence[Stack], command: str | None) -> None:
        self._places: Mapping[str, Environment | Container] = {
            stack.name: _place(stack) for stack in stacks if stack.python and not is_own(stack)
        }
        self._command = command

    def run_jobs(
        self,
        jobs: Sequence[Job],
        sink: Sink,
        *,
        command: str | None = None,
        watcher: Watcher | None = None,
    ) -> tuple[Run, ...]:
        """Run jobs as `runner.session.run_jobs` does; what nothing came back of has failed."""
        runs: list[Run] = []
        for index, job in enumerate(jobs):
            place = self._place(job)
            if place is None:
                runs += run_jobs((job,), sink, command=command, watcher=watcher)
                continue
            if watcher is not None:
                watcher.started(index, job)
            with temporary_folder() as folder:
                try:
                    run = self._exchanged(job, place, folder)
                except BackendError as error:
                    run = _failed(job, error)
                sink(run)
            runs.append(run)
        return tuple(runs)

    def collect_outputs(
        self, side: Side, request: AnswerRequest, run_here: Callable[[], Run]
    ) -> Run:
        """Run a side on samples in its Python; the outputs go into ``request.folder``."""
        place = self._place(side.job) if side.job else None
        if side.job is None or place is None:
            return run_here()
        with temporary_folder() as folder:
            return self._exchanged(replace(side.job, answering=request), place, folder)

    def _place(self, job: Job) -> Environment | Container | None:
        return self._places.get(job.backend.environment or "")

    def _exchanged(self, job: Job, place: Environment | Container, folder: Path) -> Run:
        limits = job.limits
        build_s = limits.build_timeout_s if makes_first(job) else 0.0
        limit_s = limits.timeout_s + build_s + _BESIDE_S
        task = packed_job(job, self._command)
        if isinstance(place, Environment):
            data = place.exchange(REMOTE_JOB, task, limit_s)
        else:
            mounts, label = mounts_of_job(job), job.backend.environment or ""
            data = place.exchange(
                REMOTE_JOB, task, limit_s, mounts, label=label, uses_gpu=has_gpu()
            )
        return unpacked_run(data, Store(folder / "store"))


def _failed(job: Job, error: BackendError) -> Run:
    return Run(
        id=secrets.token_hex(6),
        created=datetime.now(timezone.utc).isoformat(timespec="microseconds"),
        origin="measured",
        job=job,
        outcome=Outcome(kind=OutcomeKind.FAILED, message=str(error), hint=error.hint),
    )
