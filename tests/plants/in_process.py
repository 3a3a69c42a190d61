"""Workers that run in this process: forty searches in minutes, where each start costs seconds.

``python -m tests.plants.in_process VERB …``: a command that would start dozens of processes.
"""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import onnxruntime

from enginescope.backends import stepwise
from enginescope.cli.main import main
from enginescope.core.sidecar import save_record
from enginescope.probe.environment import probe_environment
from enginescope.records.run.job import Job, WarmUp
from enginescope.records.run.telemetry import Telemetry
from enginescope.runner import worker
from enginescope.runner.isolate import Ended, run_isolated
from enginescope.runner.worker import FURTHER_JOBS, ParentMeeting, execute

_SessionOptions = onnxruntime.SessionOptions


def _run(
    job: Job, folder: Path, on_progress: Any, task: Any = "measure", on_spawned: Any = None
) -> Ended:
    if "fault" in job.backend.options:  # it may end the process
        return run_isolated(job, folder, on_progress, task, on_spawned)
    if (folder / FURTHER_JOBS).exists():
        results = worker._results(job, folder, task)
        for place, each in results.items():
            save_record(each, place, worker.RESULT)
        result = results[folder]
    elif on_spawned is None:
        result = execute(job, folder, task)
    else:
        read, write = os.pipe()
        with os.fdopen(read, "rb") as lines:
            on_spawned(SimpleNamespace(pid=os.getpid(), stdin=os.fdopen(write, "wb")))
            result = execute(job, folder, task, ParentMeeting(lines, on_progress))
    return Ended(outcome=result.outcome, result=result, memory=Telemetry(time_ms=np.empty(0)))


def _session_options() -> onnxruntime.SessionOptions:
    """Return options whose threads sleep while they wait; spinning would cost other tests."""
    made = _SessionOptions()
    made.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return made


@contextmanager
def workers_in_process() -> Iterator[None]:
    """Let workers run without a process of their own, nor the usual warm-up.

    That lasts up to two seconds where other tests keep the processors busy.
    """
    usual, default, none = stepwise.warm_up, WarmUp(), WarmUp(time_ms=0, iterations=0)
    with (
        patch.object(
            stepwise,
            "warm_up",
            lambda series, rule, told: usual(series, none if rule == default else rule, told),
        ),
        patch("enginescope.runner.inputs.collect_outputs.run_isolated", _run),
        patch("enginescope.runner.session.run_isolated", _run),
        patch("enginescope.runner.contenders.run_isolated", _run),
        patch("enginescope.runner.worker.probe_environment", cache(probe_environment)),
        patch("onnxruntime.SessionOptions", _session_options),
    ):
        yield


if __name__ == "__main__":
    gc.freeze()  # else each measurement collects all modules anew
    with workers_in_process():
        sys.exit(main())
