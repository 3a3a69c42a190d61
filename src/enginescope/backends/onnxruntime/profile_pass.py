"""Per-node times from ONNX Runtime's own profiler, in a session of its own.

The profiler slows a run, many-fold where nodes are small, so nothing timed elsewhere may have it
switched on.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from enginescope.backends.base import Feeds
from enginescope.backends.onnxruntime.failures import translated
from enginescope.backends.onnxruntime.session import OrtSession
from enginescope.core.jsonio import read_bytes
from enginescope.formats.ort_profile import parse_ort_profile
from enginescope.model.job import Job
from enginescope.model.notice import Notice
from enginescope.model.timing import Profile

_MIN_RUNS = 5
_MAX_RUNS = 200
_MAX_S = 2.0
#: An event is about a kilobyte of JSON.
_MAX_EVENTS = 60_000


def profile_nodes(
    ort: Any, provider: str, job: Job, feeds: Feeds
) -> tuple[Profile, tuple[Notice, ...]]:
    """Run the model under the profiler and return what each node took.

    One run more than is used: the parser drops the first.
    """
    with (
        translated("profiling"),
        tempfile.TemporaryDirectory(prefix="enginescope-") as folder,
    ):
        prefix = str(Path(folder) / "profile")
        session = OrtSession(ort, job, provider, profile_prefix=prefix)
        session.bind(feeds)
        session.step()
        session.settle()
        nodes = sum(share.nodes for share in session.placement) or 300
        runs = max(_MIN_RUNS, min(_MAX_RUNS, _MAX_EVENTS // nodes))
        deadline = perf_counter() + _MAX_S
        for done in range(runs):
            if done >= _MIN_RUNS and perf_counter() > deadline:
                break
            session.step()
        path = Path(session.end_profiling())
        return parse_ort_profile(read_bytes(path), path.name)
