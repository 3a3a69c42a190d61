"""What ``ladder`` is asked for."""

from __future__ import annotations

from pathlib import Path

from enginescope.judge.comparison.ratio import LOOKS, MOST_ROUNDS
from enginescope.services.measurement.jobs import MeasureRequest, check_bounds

#: Rounds where nothing else is asked for: enough for intervals by ranks.
ROUNDS = LOOKS[0]
#: Student's t needs two rounds; of two it is so wide that it says nothing.
LEAST_ROUNDS = 3
#: Fewer sides have no steps between them.
LEAST_SIDES = 2
#: Streams, or requests in flight, of the rung with several.
STREAMS = 4
LEAST_STREAMS = 3
MOST_STREAMS = 64


class LadderRequest(MeasureRequest, frozen=True, kw_only=True):
    """A model, and how to climb.

    Attributes:
        model: An ONNX model or an engine.
        backend: By default the usual one of the model.
        mine: A latency to place on the ladder, as ``1.9ms``.
        rounds: Rounds that count; each runs a fresh process of each side.
        streams: Streams, or requests in flight, of the rung with several.
        workload: Inputs, warm-up and stop rule of each process; its mode is not used.
    """

    model: Path
    backend: str | None = None
    mine: str | None = None
    rounds: int = ROUNDS
    streams: int = STREAMS


def check_ladder_request(request: LadderRequest) -> None:
    """Raise `UsageError` where a request cannot be, before anything is run."""
    from enginescope.analysis.ladder.placement import read_figure

    if request.mine is not None:
        read_figure(request.mine)
    check_bounds(
        ("rounds", request.rounds, LEAST_ROUNDS, MOST_ROUNDS),
        ("streams", request.streams, LEAST_STREAMS, MOST_STREAMS),
    )
