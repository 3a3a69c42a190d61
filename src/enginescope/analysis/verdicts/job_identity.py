"""What makes two runs processes of one job, and two jobs counterparts.

Which runs were measured in one session, and how far sessions of a job differ.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from enginescope.analysis.runs.run_view import Runs, RunView
from enginescope.analysis.verdicts.comparability import fed_shapes
from enginescope.analysis.verdicts.compared_figures import metric_unit, process_value
from enginescope.core.record import Record
from enginescope.judge.comparison.run_to_run import ASSUMED_SD, SessionShift, session_shift
from enginescope.records.run.run import Run

#: Key of ``--across`` -> the fields of an identity that then may differ; else that of its name.
_ACROSS = {
    "backend": ("backend", "precision", "environment", "options"),
    "precision": ("precision", "options"),
    "shapes": ("inputs", "batch"),
    "in-flight": ("in_flight",),
    "graph": ("cuda_graph",),
    "spin": ("spin_wait",),
    "cache": ("cold",),
}
_MODE_FIELDS = (
    *("streams", "transfers", "cuda_graph", "spin_wait", "cold"),
    *("rotate", "idle_ms", "decode", "call", "loop"),
)
_MODE_WORDS = {
    "transfers": ("with transfers", "without transfers"),
    "cuda_graph": ("CUDA graph", "no CUDA graph"),
    "spin_wait": ("spinning", "blocking"),
    "cold": ("cold L2", "warm L2"),
}


class JobIdentity(Record, frozen=True, kw_only=True):
    """What was measured and how it was asked, as far as a run tells.

    ``None`` is not known: a run that failed before the model was loaded has neither shapes nor
    what its mode came to.
    """

    model: str
    backend: str
    precision: str | None = None
    environment: str | None = None
    options: str = ""
    inputs: str | None = None
    batch: int | None = None
    mode: str | None = None
    in_flight: int | None = None
    streams: int | None = None
    transfers: bool | None = None
    cuda_graph: bool | None = None
    spin_wait: bool | None = None
    cold: bool | None = None
    rotate: int | None = None
    idle_ms: float | None = None
    decode: int | None = None
    load: str | None = None
    contention: str | None = None
    call: str | None = None
    loop: str | None = None

    def differing(self, other: JobIdentity, across: Collection[str] = ()) -> tuple[str, ...]:
        """Return the fields that both know and do not share, but for those of `across`."""
        left_out = {field for key in across for field in _ACROSS.get(key, (key,))}
        fields = [field for field in self.__struct_fields__ if field not in left_out]
        pairs = {field: (getattr(self, field), getattr(other, field)) for field in fields}
        # ``None`` is known here: a precision that was not asked for is the backend's default; a
        # run without an environment is of the Python that the suite itself ran in; without tokens
        # to generate, it generates none; a run without a load test is a closed loop; without a way
        # to call, its tensors are bound; without contenders it ran alone
        known = ("precision", "environment", "decode", "load", "contention", "call")
        return tuple(
            field
            for field, pair in pairs.items()
            if pair[0] != pair[1] and (field in known or None not in pair)
        )

    @property
    def spec(self) -> str:
        """The backend as it is typed."""
        precision = f":{self.precision}" if self.precision else ""
        environment = f"@{self.environment}" if self.environment else ""
        options = f"?{self.options}" if self.options else ""
        return f"{self.backend}{precision}{environment}{options}"

    def text(self, field: str) -> str | None:
        """Return a field for people; ``None`` where it is not known."""
        value = getattr(self, field)
        if value is None:
            return None
        if field in _MODE_WORDS:
            return _MODE_WORDS[field][not value]
        units = {"batch": "batch {}", "in_flight": "{} in flight", "streams": "{} streams"}
        units |= {"decode": "decode {}", "call": "call {}", "loop": "calls from {}"}
        return units.get(field, "{}").format(value)


class JobRuns(Record, frozen=True, kw_only=True, eq=False):
    """The processes of one job, the oldest first."""

    identity: JobIdentity
    runs: tuple[Run, ...]

    @property
    def measured(self) -> tuple[Run, ...]:
        """Those that went well."""
        return tuple(run for run in self.runs if run.is_ok)

    @property
    def failed(self) -> tuple[Run, ...]:
        """Those that did not."""
        return tuple(run for run in self.runs if not run.is_ok)

    @property
    def comparisons(self) -> frozenset[str]:
        """The comparisons that its processes were interleaved for."""
        return frozenset(run.turn.comparison for run in self.runs if run.turn is not None)

    @property
    def digests(self) -> frozenset[str]:
        """Digests of the model's file."""
        return frozenset(run.job.subject.sha256 for run in self.runs if run.job.subject.sha256)


def identity_of(run: Run) -> JobIdentity:
    """Return what a run measured."""
    job, mode = run.job, run.job.workload.mode
    is_done = run.is_ok  # else the mode is what was asked for
    return JobIdentity(
        model=job.subject.name,
        backend=job.backend.name,
        precision=job.backend.precision,
        environment=job.backend.environment,
        options="&".join(f"{key}={value}" for key, value in sorted(job.backend.options.items())),
        inputs=fed_shapes(run),
        batch=job.workload.batch,
        load=job.load.text if job.load else None,
        contention=job.contention.text if job.contention else None,
        mode=mode.kind,
        in_flight=mode.in_flight if is_done else None,
        **{name: getattr(mode, name) for name in _MODE_FIELDS},
    )


def jobs_of(runs: Iterable[Run]) -> tuple[JobRuns, ...]:
    """Group runs by what they measured, in the order of their first; each group the oldest first.

    A run that failed knows less of itself, and is a job of its own; `pair_jobs` finds its home.
    """
    groups: dict[JobIdentity, list[Run]] = {}
    for run in sorted(runs, key=lambda one: (one.created, one.id)):
        groups.setdefault(identity_of(run), []).append(run)
    return tuple(JobRuns(identity=one, runs=tuple(found)) for one, found in groups.items())


def labels_of(identities: Sequence[JobIdentity]) -> tuple[str, ...]:
    """Return a name for each: model, backend and batch, and what else tells them apart."""
    labels = [_label(identity, ()) for identity in identities]
    rivals: dict[str, list[JobIdentity]] = {}
    for identity, label in zip(identities, labels, strict=True):
        rivals.setdefault(label, []).append(identity)
    shown = ("model", "backend", "precision", "environment", "options", "batch")
    rest = [field for field in JobIdentity.__struct_fields__ if field not in shown]
    apart = {
        label: [field for field in rest if len({getattr(one, field) for one in those}) > 1]
        for label, those in rivals.items()
    }
    return tuple(map(_label, identities, (apart[label] for label in labels)))


def _label(one: JobIdentity, more: Iterable[str]) -> str:
    parts = (one.model, one.spec, one.text("batch"), *(one.text(field) for field in more))
    return " · ".join(part for part in parts if part)


#: Runs that follow each other by no more than this belong to one session, in seconds.
SESSION_S = 3600.0


def follows(before: Run, after: Run, gap_s: float) -> bool:
    """Whether a run began at most `gap_s` seconds after another; not if a date is unknown."""
    try:
        first, second = (
            datetime.fromisoformat(run.created.replace("Z", "+00:00")) for run in (before, after)
        )
        return 0 <= (second - first).total_seconds() <= gap_s
    except (ValueError, TypeError):  # an imported run with a date in another form
        return False


def sessions_of(runs: Runs) -> tuple[tuple[Run, ...], ...]:
    """Group runs by session, the oldest first; runs without a known date form the last one."""
    undated = [run for run in runs if _is_undated(run)]
    sessions: list[list[Run]] = []
    dated = (run for run in runs if not _is_undated(run))
    for run in sorted(dated, key=lambda each: (each.created, each.id)):
        if sessions and follows(sessions[-1][-1], run, SESSION_S):
            sessions[-1].append(run)
        else:
            sessions.append([run])
    return tuple(map(tuple, [*sessions, *([undated] if undated else [])]))


def _is_undated(run: Run) -> bool:
    """Whether nothing says when a run was measured: an import has the date of its import."""
    return run.origin != "measured" or not follows(run, run, 0)


def shift_between(a: Runs, b: Runs, metric: str, history: Runs) -> SessionShift | None:
    """Return the variation between sessions that a comparison of two sides must allow for.

    Args:
        a, b: The successful processes of either side.
        metric: As ``--metric`` of a gate.
        history: Other stored runs. Those of A's job and model file under A's conditions count, with
            A's own.

    Returns:
        ``None`` where both sides were measured in the same sessions.
    """
    # the distance between the two sides' shares of sessions
    sides = [{run.id for run in side} for side in (a, b)]
    apart: list[float] = []
    for session in sessions_of([*a, *b]):
        shares = [sum(run.id in ids for run in session) / len(ids) for ids in sides]
        # without dates, nothing says that the two sides shared a session
        apart += shares if _is_undated(session[0]) else [shares[0] - shares[1]]
    weight = math.hypot(*apart)
    if weight == 0:
        return None
    now = {run.id for run in b}
    job, conditions = identity_of(a[0]), a[0].environment.comparable_key()
    digests = {run.job.subject.sha256 for run in a}
    past = {run.id: run for run in (*history, *a) if run.id not in now}
    alike = [
        run
        for run in past.values()
        if run.is_ok
        and run.environment.comparable_key() == conditions
        and identity_of(run) == job
        and run.job.subject.sha256 in digests
    ]
    values = [
        [value for run in session if (value := process_value(RunView(run), metric))]
        for session in sessions_of(alike)
    ]
    assumed_sd = 0.0 if metric_unit(metric) == "B" else ASSUMED_SD  # sizes do not follow clocks
    return session_shift([some for some in values if some], weight, assumed_sd=assumed_sd)
