"""Per-node times from ONNX Runtime's own profiler, in a session of its own.

The profiler slows a run, many-fold where nodes are small, so nothing timed elsewhere may have it
switched on.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from enginescope.backends.base import Feeds
from enginescope.backends.onnxruntime.failures import translated
from enginescope.backends.onnxruntime.leftovers import reasons_of
from enginescope.backends.onnxruntime.opening import Setup
from enginescope.backends.onnxruntime.options import session_options
from enginescope.backends.onnxruntime.session import OrtSession
from enginescope.core.jsonio import read_bytes
from enginescope.formats.lenient_json import read_json
from enginescope.formats.ort_arenas import arenas_of
from enginescope.formats.ort_profile import ort_profile_of
from enginescope.model.job import Job
from enginescope.model.notice import Notice
from enginescope.model.run import ArenaUse
from enginescope.model.timing import Profile

_MIN_RUNS = 5
_MAX_RUNS = 200
_MAX_S = 2.0
#: An event is about a kilobyte of JSON.
_MAX_EVENTS = 60_000


class ProfilePass:
    """The pass, and what it finds besides the times.

    Attributes
    ----------
    arenas : tuple of ArenaUse
    reasons : dict of str to str
        Operator -> why the provider did not take it.
    """

    def __init__(self, ort: Any, setup: Setup) -> None:
        self._ort = ort
        self._setup = _without_graph(setup)
        self.arenas: tuple[ArenaUse, ...] = ()
        self.reasons: dict[str, str] = {}

    def __call__(self, job: Job, feeds: Feeds) -> tuple[Profile, tuple[Notice, ...]]:
        """Run the model under the profiler and return what each node took.

        One run more than is used: the parser drops the first.
        """
        with (
            translated("profiling"),
            tempfile.TemporaryDirectory(prefix="enginescope-") as folder,
        ):
            prefix = str(Path(folder) / "profile")
            session = OrtSession(self._ort, _plain(job), self._setup, profile_prefix=prefix)
            session.bind(feeds)
            session.step()
            session.settle()
            self._run(session)
            path = Path(session.end_profiling())
            document = read_json(read_bytes(path), path.name)
        self.arenas = arenas_of(document)
        if any(share.provider != self._setup.provider.name for share in session.placement):
            self.reasons = self._reasons(job, session)
        return ort_profile_of(document)

    def _run(self, session: OrtSession) -> None:
        nodes = sum(share.nodes for share in session.placement) or 300
        runs = max(_MIN_RUNS, min(_MAX_RUNS, _MAX_EVENTS // nodes))
        deadline = perf_counter() + _MAX_S
        for done in range(runs):
            if done >= _MIN_RUNS and perf_counter() > deadline:
                return
            session.step()

    def _reasons(self, job: Job, session: OrtSession) -> dict[str, str]:
        names = {
            node.name: node.op_type
            for part in session.session.get_provider_graph_assignment_info()
            for node in part.get_nodes()
        }
        options = session_options(
            self._ort, job.backend.options, job.conditions.pinned_cores, severity=1
        )
        return reasons_of(self._ort, self._setup, options, names)


def _without_graph(setup: Setup) -> Setup:
    """Return the setup without a CUDA graph: what is replayed has no nodes to be timed."""
    option = setup.provider.graph_option
    if option is None or option not in setup.provider_options:
        return setup
    told = {**setup.provider_options, option: "0"}
    return msgspec.structs.replace(setup, provider_options=told)


def _plain(job: Job) -> Job:
    """Return the job with one way of asking, that from host memory, which every model bears."""
    mode = msgspec.structs.replace(job.workload.mode, transfers=True)
    workload = msgspec.structs.replace(job.workload, mode=mode)
    return msgspec.structs.replace(job, workload=workload)
