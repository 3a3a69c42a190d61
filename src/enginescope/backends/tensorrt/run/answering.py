"""An engine's answers, sample by sample."""

from __future__ import annotations

from typing import Any

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.tensorrt.libraries import Libraries
from enginescope.backends.tensorrt.run.session import TrtSession
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Job, Mode
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import Tensor

#: Nothing is timed: no graph, and waits that leave the processor to others.
_MODE = Mode(kind="latency", cuda_graph=False, spin_wait=False)
#: Outputs of a shape that only values decide take new host memory each time; after so many samples
#: all of it is given back.
_MOST_GROWN = 64


class TrtAnswers:
    """A loaded engine; it is loaded anew for inputs of other shapes."""

    providers = TrtSession.providers

    def __init__(self, libraries: Libraries, job: Job) -> None:
        self._libraries, self._job = libraries, job
        self._session = TrtSession(libraries, job, _MODE)
        self._shapes: dict[str, tuple[int, ...]] | None = None
        self._answered = 0
        self._said: list[Notice] = []

    @property
    def input_specs(self) -> tuple[InputSpec, ...]:
        """What the engine asks for."""
        return self._session.input_specs

    def bindings(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return inputs and outputs as the engine declares them."""
        return self._session.declared()

    def answer(self, feeds: Feeds) -> tuple[TensorValues, ...]:
        """Return the outputs for these inputs."""
        lane = self._session.lanes[0]
        shapes = dict(feeds.shapes)
        # the values of a shape tensor decide other shapes
        decides = any(one.default_values is not None for one in self.input_specs)
        is_worn = bool(lane.grown) and self._answered >= _MOST_GROWN
        if self._shapes is not None and (shapes != self._shapes or decides or is_worn):
            self._reopen()
            lane = self._session.lanes[0]
        if self._shapes is None:
            self._session.bind(feeds)
            self._shapes = shapes
        else:
            _fill(lane, feeds)
        self._session.step()
        if lane.grown:
            lane.settle()
        self._answered += 1
        return self._session.answers()

    def _reopen(self) -> None:
        self._keep_notices()
        self._session.close()
        self._session = TrtSession(self._libraries, self._job, _MODE)
        self._shapes, self._answered = None, 0

    def _keep_notices(self) -> None:
        self._said += [one for one in self._session.notices() if one not in self._said]

    def notices(self) -> tuple[Notice, ...]:
        """Return what the session has to say of itself."""
        self._keep_notices()
        return tuple(self._said)

    def close(self) -> None:
        """Release everything."""
        self._session.close()


def _fill(lane: Any, feeds: Feeds) -> None:
    for name, buffer in lane.sets[0].items():
        buffer.fill(feeds.arrays[name])
