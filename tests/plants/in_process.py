"""Workers that run in this process: forty searches in minutes, where each start costs seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from enginescope.records.environment import Environment
from enginescope.records.run.job import Job
from enginescope.records.run.telemetry import Telemetry
from enginescope.runner.isolate import Ended
from enginescope.runner.worker import execute


def _run(job: Job, folder: Path, on_progress: Any, task: Any = "measure") -> Ended:
    result = execute(job, folder, task)
    return Ended(outcome=result.outcome, result=result, memory=Telemetry(time_ms=np.empty(0)))


@contextmanager
def workers_in_process() -> Iterator[None]:
    """Let workers run without a process of their own."""
    with (
        patch("enginescope.runner.inputs.collect_outputs.run_isolated", _run),
        patch("enginescope.runner.session.run_isolated", _run),
        patch("enginescope.runner.worker.probe_environment", Environment),
    ):
        yield
