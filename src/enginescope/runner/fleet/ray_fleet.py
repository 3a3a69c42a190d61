"""Cells on a Ray cluster: each is a task, and in the task a process of its own, as everywhere.

Which cell goes where is decided here and not by Ray, since it would put two cells on the processors
of one machine. A task is bound to its machine and takes what the cell needs of it, so that Ray's
other users are kept away as well.
"""

import logging
import os
import secrets
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from enginescope.core.errors import BackendError
from enginescope.core.optional import require
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.suite.suite import Cell
from enginescope.runner.fleet.machines import (
    Doing,
    FleetWatch,
    Lost,
    Machine,
    Share,
    packed_task,
    place_for,
    suits,
    unpacked_returned,
    uses_gpu,
)

#: A cell is given up when its machine was lost so often.
LOSSES = 2
#: Ray's word for a task whose machine was gone before it began, which is not a fault of the cell, …
_NOT_BEGUN = "TaskUnschedulableError"
#: … unless it happens so often.
_TOO_LATE = 5
#: Between two looks at the cluster.
_LOOK_S = 1.0
#: So long is waited for a machine when none is left.
PATIENCE_S = 60.0
#: Names of custom resources that tell a kind of GPU, as ``ray start --resources`` gives them.
_CUSTOM = ("gpu_type:", "gpu:")


class RayFleet:
    """The machines of a Ray cluster.

    Args:
        address: As `ray_session` takes it.
        doing: What a task calls; importable on every machine.
        references: Folder of the session's reference outputs, for machines that share it.
    """

    def __init__(self, address: str, doing: Doing, references: str | None = None) -> None:
        self._address, self._doing, self._references = address, doing, references

    def run(self, cells: Sequence[Cell], command: str | None, watch: FleetWatch) -> None:
        with ray_session(self._address) as ray:
            pack = partial(packed_task, command=command, references=self._references)
            _Sitting(ray, self._doing, cells, pack, watch).run()


class _Sitting:
    """What waits, what runs where, what was lost."""

    def __init__(
        self,
        ray: Any,
        doing: Doing,
        cells: Sequence[Cell],
        pack: Callable[[Cell], bytes],
        watch: FleetWatch,
    ) -> None:
        self._ray = ray
        self._task = ray.remote(max_calls=1)(doing)  # a cell never inherits a process
        self._waiting = list(cells)
        self._pack, self._watch = pack, watch
        self._tasks: dict[Any, tuple[Cell, Machine]] = {}
        self._losses: dict[str, list[Machine]] = defaultdict(list)
        self._too_late: dict[str, list[Machine]] = defaultdict(list)
        self._seen_s = time.monotonic()

    def run(self) -> None:
        try:
            while self._waiting or self._tasks:
                machines = tuple(machines_of(self._ray.nodes()))
                self._check(machines)
                self._submit(machines)
                if not self._tasks:
                    time.sleep(_LOOK_S)
                    continue
                ready, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=_LOOK_S)
                for reference in ready:
                    self._take(reference, *self._tasks.pop(reference))
        except BaseException:  # also on Ctrl-C: what was submitted would go on
            for task in self._tasks:
                self._ray.cancel(task, force=True)
            raise

    def _check(self, machines: Sequence[Machine]) -> None:
        """Give up what no machine can do; end where there has been none for long."""
        if machines:
            self._seen_s = time.monotonic()
        elif time.monotonic() - self._seen_s > PATIENCE_S:
            address = self._ray.get_runtime_context().gcs_address
            why = f"{len(self._waiting) + len(self._tasks)} cells did not run"
            hint = "the same command resumes"
            raise BackendError(f"the Ray cluster {address} has no machine left", why=why, hint=hint)
        else:
            return
        for cell in [one for one in self._waiting if not any(suits(one, m) for m in machines)]:
            self._waiting.remove(cell)
            self._watch.lost(Lost(cell=cell, reason=_why_nowhere(cell, machines), is_fault=False))

    def _submit(self, machines: Sequence[Machine]) -> None:
        for cell in list(self._waiting):
            share = place_for(cell, self._by_need(cell, machines), self._running())
            if share is not None:
                self._waiting.remove(cell)
                self._start(cell, share)

    def _by_need(self, cell: Cell, machines: Sequence[Machine]) -> list[Machine]:
        """Return machines in the order in which they are thought of.

        One on which the cell was lost before comes last, and one with GPUs after those without,
        where the cell needs none.
        """
        lost = [one.id for one in self._losses[cell.key]]
        needs_none = not uses_gpu(cell)
        return sorted(machines, key=lambda one: (one.id in lost, needs_none and one.gpus))

    def _running(self) -> Mapping[str, list[Cell]]:
        found: dict[str, list[Cell]] = defaultdict(list)
        for cell, machine in self._tasks.values():
            found[machine.id].append(cell)
        return found

    def _start(self, cell: Cell, share: Share) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        task = self._task.options(
            num_cpus=share.cpus,
            num_gpus=share.gpus,
            max_retries=0,  # what was lost is counted here
            scheduling_strategy=NodeAffinitySchedulingStrategy(share.machine.id, soft=False),
            name=cell.label,
        )
        self._tasks[task.remote(self._pack(cell))] = cell, share.machine
        self._watch.started(cell, share.machine.name)

    def _take(self, reference: Any, cell: Cell, machine: Machine) -> None:
        try:
            data = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            cause = str(error.cause) if error.cause is not None else str(error)
            reason = f"it failed on {machine.name}: {cause.splitlines()[0]}"
            self._watch.lost(Lost(cell=cell, reason=reason))
        except self._ray.exceptions.RayError as error:
            self._was_lost(cell, machine, type(error).__name__)
        else:
            self._watch.returned(cell, unpacked_returned(data))

    def _was_lost(self, cell: Cell, machine: Machine, kind: str) -> None:
        has_begun = kind != _NOT_BEGUN
        losses = (self._losses if has_begun else self._too_late)[cell.key]
        losses.append(machine)
        if len(losses) < (LOSSES if has_begun else _TOO_LATE):
            self._waiting.insert(0, cell)
            self._watch.again(cell, f"{machine.name} was lost ({kind})")
            return
        where = " and ".join(loss.name for loss in losses)
        reason = f"the machine that did it was lost {len(losses)} times: {where} ({kind})"
        self._watch.lost(Lost(cell=cell, reason=reason, attempts=len(losses)))


def machines_of(nodes: Sequence[Mapping[str, Any]]) -> Iterator[Machine]:
    """Yield the machines that live and have a processor to give, as ``ray.nodes()`` tells them."""
    for node in nodes:
        resources = node.get("Resources", {})
        cpus, gpus = int(resources.get("CPU", 0)), int(resources.get("GPU", 0))
        if not node.get("Alive") or cpus < 1:
            continue
        labelled = node.get("Labels", {}).get("ray.io/accelerator-type")
        kinds = {
            name.removeprefix(prefix)
            for name in resources
            for prefix in ("accelerator_type:", *_CUSTOM)
            if name.startswith(prefix)
        }
        yield Machine(
            id=node["NodeID"],
            name=node.get("NodeName") or node["NodeManagerAddress"],
            cpus=cpus,
            gpus=gpus,
            kinds=tuple(sorted(kinds | ({labelled} if labelled else set()))),
        )


def _why_nowhere(cell: Cell, machines: Sequence[Machine]) -> str:
    kinds = sorted({kind for machine in machines for kind in machine.kinds})
    if cell.needs.gpu is not None:
        there = f"there are {', '.join(kinds)}" if kinds else "no machine reports its resources"
        return f"no machine of the cluster has a GPU of kind {cell.needs.gpu}; {there}"
    return "no machine of the cluster has a GPU"


#: How long a cluster's head may take to answer at all.
_ANSWER_S = 10.0
#: Its server for clients gives up where its own process takes longer than half a minute to start.
_CLIENT_TRIES = 3
_TOKEN, _TOKEN_FILE, _MODE = "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"
#: What Ray reads when it is imported, unless the user has set it.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
}


@contextmanager
def ray_session(address: str) -> Iterator[Any]:
    """Give the module ``ray``, connected; disconnect after it.

    Args:
        address: ``auto`` or ``HOST:PORT`` from a machine of the cluster, ``ray://HOST:PORT`` from
            any other; ``local``: a cluster of this machine alone.
    """
    is_local = address == "local"
    if not is_local:
        _check_answers(address)
    before = dict(os.environ)
    os.environ.update({name: os.environ.get(name, value) for name, value in _QUIET.items()})
    _settle_token(is_local=is_local)
    try:
        ray = require("ray", purpose="--on-ray", install="enginescope[ray]")
        # Ray prints what happens to its machines on standard output, which is for results
        with (
            Path(os.devnull).open("w") as nowhere,
            redirect_stdout(nowhere),
            # sockets want short paths
            temporary_folder(is_short=True) if is_local else nullcontext() as folder,
        ):
            _connect(ray, address, folder)
            try:
                yield ray
            finally:
                ray.shutdown()
    finally:
        for name in (*_QUIET, _TOKEN, _MODE):
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)


def _settle_token(*, is_local: bool) -> None:
    """Decide on the token before Ray does, which would write one to the user's home."""
    if is_local:
        os.environ[_MODE] = "token"
        os.environ[_TOKEN] = secrets.token_hex(32)
    elif _MODE not in os.environ and (_TOKEN in os.environ or _TOKEN_FILE in os.environ):
        os.environ[_MODE] = "token"  # the user has named one: it is meant to be used


def _check_answers(address: str) -> None:
    """Raise `BackendError` where nothing listens: Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return  # auto, or what Ray alone understands
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_S).close()
    except (OSError, OverflowError) as error:
        why = f"no server responds there: {error}"
        hint = "the address is that of its head: ray status, or the job that started it"
        raise BackendError(f"Ray cluster {address}", why=why, hint=hint) from error


def _connect(ray: Any, address: str, folder: Path | None) -> None:
    """Connect; a head that serves clients is asked again, since it starts a process for each."""
    own = {"_temp_dir": str(folder), "include_dashboard": False} if folder else {}
    for left in reversed(range(_CLIENT_TRIES if address.startswith("ray://") else 1)):
        try:
            ray.init(
                address=address,
                log_to_driver=False,
                configure_logging=True,
                logging_level=logging.ERROR,
                namespace="enginescope",
                **own,
            )
            return
        except Exception as error:  # Ray's own kinds for it differ between versions
            if left and isinstance(error, ConnectionError):
                continue
            said = str(error).strip()
            why = said.splitlines()[0] if said else type(error).__name__
            hint = f"check with ray status; a cluster with a token needs {_TOKEN_FILE}"
            raise BackendError(f"Ray cluster {address}", why=why, hint=hint) from error
