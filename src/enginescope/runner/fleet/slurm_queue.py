"""Where arrays run: the queue of a Slurm cluster, through its commands, or this machine."""

from __future__ import annotations

import os
import platform
import re
import secrets
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from enginescope.core.errors import BackendError
from enginescope.runner.fleet.cell_array import CellArray
from enginescope.runner.fleet.cell_task import last_line
from enginescope.runner.isolate import kill_tree

#: How long Slurm may take for an answer, and how long it may have none.
_ANSWER_S, _SILENCE_S = 60.0, 600.0


class SlurmQueue:
    """The queue of a cluster; what it submits has a name that is in no other queue.

    Attributes:
        late_s: How long a result may be missing after its task has left the queue.
    """

    late_s = 60.0  # clients of NFS look for new files at least that often

    def __init__(self) -> None:
        self._name = f"enginescope-{secrets.token_hex(5)}"
        self._places: dict[str, str] = {}
        self._heard_at = time.monotonic()

    def submit(self, array: CellArray, options: Mapping[str, str], logs: Path) -> str:
        """Submit an array; return its id.

        Args:
            options: Of sbatch.
            logs: Folder of what tasks print.

        Raises:
            BackendError: sbatch accepts none.
        """
        output = str(logs).replace("%", "%%")
        flags = {"output": f"{output}/%A_%a.log", **options, "job-name": self._name}
        wrapped = shlex.join([sys.executable, *array.arguments()])
        command = [
            *("sbatch", "--parsable"),
            *(f"--{key}={value}" if value else f"--{key}" for key, value in flags.items()),
            f"--wrap=exec {wrapped}",
        ]
        printed, why = _answer(command)
        number = re.search(r"^(\d+)(;|$)", printed or "", re.MULTILINE)
        if number is None:
            raise BackendError(
                "Slurm accepts no jobs", why=why or printed, hint="sinfo lists the partitions"
            )
        job = number[1]
        self._places |= {f"{job}_{index}": "" for index in range(len(array.cells))}
        return job

    def places(self) -> Mapping[str, str]:
        """Return the tasks in the queue, as ``ID_INDEX``, and where each runs, if it does.

        If squeue fails, they are where they were.

        Raises:
            BackendError: squeue has failed for ten minutes.
        """
        flags = ("--noheader", "--array", f"--name={self._name}", "--format=%i %N")
        printed, why = _answer(["squeue", *flags])
        now = time.monotonic()
        if printed is not None:
            tasks = re.findall(r"^(\d+_\d+) *(\S*)$", printed, re.MULTILINE)
            self._places, self._heard_at = dict(tasks), now
        elif now - self._heard_at > _SILENCE_S:
            hint = "--collect stores what the jobs leave"
            raise BackendError("squeue does not list the jobs", why=why, hint=hint)
        return self._places

    def cancel(self) -> None:
        """Cancel all that was submitted."""
        _answer(["scancel", f"--name={self._name}"])


#: Runs each task of an array: the count, the beginning of the files of output, the command.
_LOOP = """count=$1 log=$2 index=0; shift 2
while [ $index -lt $count ]; do
  SLURM_ARRAY_TASK_ID=$index "$@" >"${log}_$index.log" 2>&1; index=$((index + 1))
done"""


class LocalQueue(SlurmQueue):
    """Processes of this machine: the tasks of an array run one after another."""

    late_s = 0.0

    def __init__(self) -> None:
        self._arrays: list[tuple[subprocess.Popen[bytes], int]] = []

    def submit(self, array: CellArray, options: Mapping[str, str], logs: Path) -> str:  # noqa: ARG002 - of sbatch
        """Start an array; return its id."""
        job, count = str(len(self._arrays)), len(array.cells)
        loop = ["sh", "-c", _LOOP, "sh", str(count), str(logs / job)]
        command = [*loop, sys.executable, *array.arguments()]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        threading.Thread(target=process.wait, daemon=True).start()  # it ends after its last result
        self._arrays.append((process, count))
        return job

    def places(self) -> Mapping[str, str]:
        """Return the tasks of arrays that run, and this machine."""
        return {
            f"{job}_{index}": platform.node()
            for job, (process, count) in enumerate(self._arrays)
            if process.poll() is None
            for index in range(count)
        }

    def cancel(self) -> None:
        """Kill all that was started."""
        for process, _ in self._arrays:
            kill_tree(process)


def _answer(command: Sequence[str]) -> tuple[str | None, str]:
    """Return what a command of Slurm printed, ``None`` if it failed, and why."""
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_ANSWER_S,
            check=False,
            # the user's SQUEUE_STATES would hide tasks
            env={key: value for key, value in os.environ.items() if not key.startswith("SQUEUE_")},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    why = last_line(ended.stderr)
    return (None if ended.returncode else ended.stdout.decode(errors="replace")), why
