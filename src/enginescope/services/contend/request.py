"""What ``contend`` is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from enginescope.core.errors import UsageError
from enginescope.judge.comparison.ratio import LOOKS, MOST_ROUNDS
from enginescope.records.run.contention import Share
from enginescope.services.measurement.jobs import MeasureRequest, check_bounds

#: Rounds where nothing else is asked for: enough for intervals by ranks.
ROUNDS = LOOKS[0]
#: Student's t needs two rounds; of two it is so wide that it says nothing.
LEAST_ROUNDS = 3
#: Each set of contenders has a letter of the alphabet as a side: six have 22 sets.
LEAST_CONTENDERS, MOST_CONTENDERS = 2, 6
SHARES: tuple[Share, ...] = get_args(Share)
_GREEN = "green-contexts"


class ContendRequest(MeasureRequest, frozen=True, kw_only=True):
    """Models that share a GPU or a processor.

    Attributes:
        models: ONNX models or engines; one named twice contends with itself.
        backends: One for all, or one for each model; empty: the usual one of each.
        rounds: Rounds that count; each measures every contender alone, every pair, and all.
        workload: Inputs and warm-up of each process; its stop rule's duration is the window.
    """

    models: tuple[Path, ...]
    backends: tuple[str, ...] = ()
    share: Share = "processes"
    rounds: int = ROUNDS


def check_contend_request(request: ContendRequest) -> None:
    """Raise `UsageError` where a request cannot be, before anything is run."""
    count, backends = len(request.models), len(request.backends)
    if not LEAST_CONTENDERS <= count <= MOST_CONTENDERS:
        raise UsageError(
            f"{count} model{'' if count == 1 else 's'} to run at the same time",
            why=f"contend takes {LEAST_CONTENDERS} to {MOST_CONTENDERS}",
            hint="name a model twice to run two copies of it",
        )
    if backends not in (0, 1, count):
        raise UsageError(
            f"{backends} backends for {count} models",
            hint="name one for all models, or one for each",
        )
    check_bounds(("rounds", request.rounds, LEAST_ROUNDS, MOST_ROUNDS))
    if request.share not in SHARES:
        raise UsageError(
            f"`share` {request.share!r}",
            why="backends open their streams in the GPU's primary context"
            if str(request.share) == _GREEN
            else None,
            hint=" or ".join(SHARES),
        )
    if request.workload.stop.duration_ms is None:
        raise UsageError("`iterations`", why="contenders share a window of time", hint="`duration`")
    if request.workload.mode.kind == "throughput":
        raise UsageError("mode throughput", why="contenders have one request in flight each")
