"""Another Python of this machine that does cells: other versions of the libraries, side by side."""

import contextlib
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import msgspec

from enginescope._version import __version__
from enginescope.core.errors import BackendError, FormatError, UsageError
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.suite.suite import Cell
from enginescope.runner.fleet import machines
from enginescope.runner.isolate import killed_after

#: Prints versions and hardware; started with ``-m`` in other Pythons and containers.
FINGERPRINT = "enginescope.runner.environment_fingerprint"
#: How long the other Python may take to say what it is.
_ANSWER_S = 120.0
#: Of this Python: they would send the other one to modules that are not its own.
_OURS = ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__")
_A_PYTHON = "name its bin/python, or a script that becomes it"


class Reply(NamedTuple):
    """What the process of `FINGERPRINT` ended with, and what it printed."""

    status: int
    out: bytes
    log: bytes


def checked_conditions(reply: Reply, where: str, *, install: str, hint: str) -> dict[str, str]:
    """Return versions and hardware of a reply.

    Args:
        where: Name of the interpreter, for errors.
        install: Next step where it has no enginescope of this version.
        hint: Next step where its output is another program's.
    """
    if reply.status:
        printed = _tail(reply.log, 1) or f"it ended with status {reply.status}"
        raise UsageError(where, why=f"has no working enginescope: {printed}", hint=install)
    conditions = _answer(reply.out)
    if conditions is None:
        printed = _tail(reply.out, 1) or "nothing"
        raise UsageError(where, why=f"returned unreadable output: {printed}", hint=hint)
    if conditions.get("enginescope") != __version__:
        other = conditions.get("enginescope", "of no version")
        raise UsageError(where, why=f"has enginescope {other}, here is {__version__}", hint=install)
    return conditions


class NotStartedError(BackendError):
    """The interpreter of an environment cannot be started."""


class Environment:
    """A Python with enginescope in it, of this version.

    Args:
        name: After the ``@`` of backends.
        python: The interpreter, or a script that becomes it.
    """

    def __init__(self, name: str, python: str) -> None:
        self._name, self._python = name, python

    def conditions(self, cores: int | None = None) -> dict[str, str]:
        """Return versions and hardware as it sees them; see `environment_fingerprint`.

        Args:
            cores: Logical processors that each cell has, where it is not given all.
        """
        command = ["-m", FINGERPRINT, str(cores or 0)]
        try:
            asked = subprocess.run(
                [self._python, *command],
                env=_their_variables(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_ANSWER_S,
                check=False,
            )
        except OSError as error:
            why = error.strerror or str(error)
            raise self._unfit(f"cannot be started: {why}", _A_PYTHON) from error
        except subprocess.TimeoutExpired as error:
            raise self._unfit(f"did not respond within {_ANSWER_S:.0f} s") from error
        reply = Reply(asked.returncode, asked.stdout, asked.stderr)
        return checked_conditions(reply, self._where, install=self._install(), hint=_A_PYTHON)

    def do(
        self, cell: Cell, command: str | None, references: str | None = None
    ) -> machines.CellTaskResult | machines.Lost:
        """Do a cell there and wait for its end; it dies with this process.

        Args:
            command: The command line to record.
            references: Folder of the session's reference outputs.
        """
        task = machines.packed_task(cell, command, is_placed=False, references=references)
        try:
            returned = machines.unpacked_returned(
                self.exchange(machines.REMOTE_CELL, task, machines.longest_s(cell))
            )
        except NotStartedError as error:
            return machines.Lost(cell=cell, reason=str(error), is_fault=False, hint=_A_PYTHON)
        except BackendError as error:
            return machines.Lost(cell=cell, reason=str(error))
        except FormatError as error:
            return machines.Lost(cell=cell, reason=str(error), hint=self._install())
        hint = returned.row.hint
        if hint is not None and hint.startswith("pip install "):
            hint = f"{self._python} -m {hint}"
        return replace(returned, row=replace(returned.row, hint=hint))

    def exchange(self, module: str, task: bytes, limit_s: float) -> bytes:
        """Run a module there on the file of a task; return the bytes of its result.

        Raises:
            NotStartedError: The Python cannot be started.
            BackendError: It ended without a result, or not within the limit.
        """
        with temporary_folder() as work:
            (work / "task").write_bytes(task)
            try:
                ended = self._run(module, work, limit_s)
            except OSError as error:
                why = f"it cannot be started: {error.strerror or error}"
                raise NotStartedError(self._reason(why)) from error
            try:
                return (work / "returned").read_bytes()
            except FileNotFoundError:
                said = _tail((work / "log").read_bytes(), 12)
                raise BackendError(self._reason(_end(ended, limit_s), said)) from None

    def _run(self, module: str, work: Path, limit_s: float) -> int | None:
        """Return the exit status; ``None``: it had to be ended."""
        files = (str(work / "task"), str(work / "returned"), "attended")
        (work / "tmp").mkdir()
        with (work / "log").open("wb") as log:
            process = subprocess.Popen(
                [self._python, "-m", module, *files],
                # what it leaves when it is killed goes with the folder
                env={**_their_variables(), "TMPDIR": str(work / "tmp")},
                stdin=subprocess.PIPE,  # closed by the kernel if this process dies: the sign to end
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            assert process.stdin is not None
            with killed_after(process), process.stdin:
                try:
                    return process.wait(limit_s)
                except subprocess.TimeoutExpired:
                    return None

    def _reason(self, why: str, said: str = "") -> str:
        where = f"environment {self._name}: {why}"
        return f"{where}: {said.splitlines()[-1]}" if said else where

    @property
    def _where(self) -> str:
        return f"environment {self._name}: {self._python}"

    def _unfit(self, why: str, hint: str | None = None) -> UsageError:
        return UsageError(self._where, why=why, hint=hint)

    def _install(self) -> str:
        return f"{self._python} -m pip install enginescope=={__version__}"


def _their_variables() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    # else -m looks for modules in the working directory first; Python 3.10 does not know it
    return {**kept, "PYTHONSAFEPATH": "1"}


def _answer(data: bytes) -> dict[str, str] | None:
    """Return what a Python said of itself, among what a script or its start-up files say."""
    for line in reversed(data.splitlines()):
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(line, type=dict[str, str])
    return None


def _end(status: int | None, limit_s: float) -> str:
    if status is None:
        return f"its process did not end within {limit_s:,.0f} s"
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return f"its process {how}"


def _tail(data: bytes, count: int) -> str:
    lines = [line.strip() for line in data.decode(errors="replace").splitlines() if line.strip()]
    return "\n".join(lines[-count:])
