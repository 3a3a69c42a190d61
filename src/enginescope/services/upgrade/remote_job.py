"""Run one job in another Python of this machine, and send back its run.

``python -m enginescope.services.upgrade.remote_job TASK RESULT attended`` reads the first file,
writes the second, and exits as soon as its standard input ends.
"""

import sys
import threading
from pathlib import Path

import msgspec

from enginescope.core.errors import BackendError, EnginescopeError, UnsupportedError
from enginescope.core.jsonio import write_atomic
from enginescope.core.process_control import end_with_input
from enginescope.core.record import Record, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.run.job import Job
from enginescope.records.run.run import Run
from enginescope.runner.fleet.machines import unpacked
from enginescope.runner.inputs.collect_outputs import answered
from enginescope.runner.session import run_jobs
from enginescope.store.archive import Store

#: Started with ``-m`` in the other Python.
REMOTE_JOB = "enginescope.services.upgrade.remote_job"


class JobTask(Record, frozen=True, kw_only=True):
    """A job to be run; with `Job.answering` it returns outputs, else it is timed."""

    job: Job
    command: str | None = None


class JobResult(Record, frozen=True, kw_only=True):
    """The run of a job as a zip file, or why its outputs could not be had."""

    run: bytes | None = None
    failure: str | None = None
    hint: str | None = None
    is_unsupported: bool = False


def packed_job(job: Job, command: str | None) -> bytes:
    return msgspec.msgpack.encode(JobTask(job=job, command=command))


def unpacked_run(data: bytes, store: Store) -> Run:
    """Put the run of a result into a temporary store, and return it with whole paths."""
    result = unpacked(data, JobResult, "the result of a job")
    if result.run is None:
        kind = UnsupportedError if result.is_unsupported else BackendError
        raise kind(result.failure or "no run came back", hint=result.hint)
    file = store.path / "returned.zip"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(result.run)
    run = store.import_zip(file)
    folder = store.folder_of_id(run.id)
    artifacts = tuple(replace(one, path=str(folder / one.path)) for one in run.artifacts)
    return replace(run, artifacts=artifacts)


def run_remote_job(data: bytes) -> bytes:
    task = msgspec.msgpack.decode(data, type=JobTask)
    with temporary_folder() as folder:
        store = Store(folder / "store")

        def keep(run: Run) -> None:
            store.save(run)

        try:
            if task.job.answering is not None:
                run = answered(task.job)
                keep(replace(run, artifacts=()))  # their files are gone
            else:
                (run,) = run_jobs((task.job,), keep, command=task.command)
        except EnginescopeError as error:
            is_unsupported = isinstance(error, UnsupportedError)
            failed = JobResult(failure=str(error), hint=error.hint, is_unsupported=is_unsupported)
            return msgspec.msgpack.encode(failed)
        packed = store.export(run.id, folder / "run.zip").read_bytes()
    return msgspec.msgpack.encode(JobResult(run=packed))


def main(arguments: list[str]) -> int:
    """Run the task in a file, and write its result to another file."""
    task, result = map(Path, arguments[:2])
    threading.Thread(target=end_with_input, daemon=True).start()
    write_atomic(result, run_remote_job(task.read_bytes()))  # a reader never sees a part of it
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
