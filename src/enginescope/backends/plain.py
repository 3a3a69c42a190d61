"""Bases of backends whose request is a call of Python, for other packages too."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from enginescope.backends.base import (
    Availability,
    Feeds,
    FeedSource,
    InputSpec,
    Measured,
    ProgressSink,
)
from enginescope.backends.loop import OutputLook, Recorder, StepRecorder
from enginescope.backends.stepwise import ProfilePass, measure
from enginescope.core.errors import UsageError
from enginescope.core.record import copied, replace
from enginescope.formats.tensors.tensor_files import tensor_of
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import Plan
from enginescope.records.run.job import BackendSpec, Job
from enginescope.records.run.run import ProviderShare, TensorValues
from enginescope.records.tensor import Tensor


class PlainSession(ABC):
    """A base of sessions whose request is a call of Python; it answers samples too.

    Attributes:
        arrays: Inputs of the next request.
        input_specs, output_specs: As the model declares them.
        values: Outputs of the last request, in the order of `output_specs`.
        plan: The graph that the runtime executes; ``None``: the runtime does not say.
    """

    providers: tuple[str, ...] = ()
    placement: tuple[ProviderShare, ...] = ()
    input_specs: tuple[InputSpec, ...] = ()
    output_specs: tuple[InputSpec, ...] = ()
    arrays: Mapping[str, Any] = MappingProxyType({})
    values: Sequence[Any] = ()
    plan: Plan | None = None
    _look: OutputLook | None = None

    def bind(self, feeds: Feeds) -> None:
        self.arrays = feeds.arrays

    @abstractmethod
    def step(self) -> None:
        """Compute `values` from `arrays`."""

    def settle(self) -> None:
        self._look = OutputLook(self._named())

    def recorder(self) -> Recorder:
        return StepRecorder(self.step)

    def answers(self) -> tuple[TensorValues, ...]:
        """Return the outputs of the last request."""
        return tuple(tensor_of(name, value) for name, value in self._named().items())

    def answer(self, feeds: Feeds) -> tuple[TensorValues, ...]:
        self.bind(feeds)
        self.step()
        return self.answers()

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        fed = map(tensor_of, self.arrays.keys(), self.arrays.values())
        inputs = tuple(copied(Tensor, one) for one in fed)
        return inputs, tuple(copied(Tensor, one) for one in self.answers())

    def bindings(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        return tuple(map(_declared, self.input_specs)), tuple(map(_declared, self.output_specs))

    def notices(self) -> tuple[Notice, ...]:
        return self._look.notices(self._named()) if self._look is not None else ()

    def close(self) -> None:  # noqa: B027 - few need another
        """Nothing to release."""

    def _named(self) -> dict[str, Any]:
        return dict(zip((one.name for one in self.output_specs), self.values, strict=True))


def _declared(spec: InputSpec) -> Tensor:
    shape = tuple(dim if isinstance(dim, int) else None for dim in spec.shape)
    return Tensor(name=spec.name, dtype=spec.dtype, shape=shape)


class PlainBackend(ABC):
    """A base of backends without options and precisions.

    Attributes:
        profile_pass: Times layers, in a session of its own; ``None``: the backend cannot.
    """

    mode_fields: frozenset[str] = frozenset()
    profile_pass: ProfilePass | None = None

    def check(self, spec: BackendSpec) -> None:
        if spec.precision or spec.options:
            raise UsageError(f"{spec}", why=f"{spec.name} has no precisions and no options")

    @abstractmethod
    def availability(self) -> Availability:
        """Whether it can run here."""

    def prepare(self) -> None:  # noqa: B027 - few need another
        """Nothing to import."""

    @abstractmethod
    def open_for_answers(self, job: Job) -> PlainSession:
        """Load the model of a job."""

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        complete = partial(_complete, job)
        return measure(
            job, self.open_for_answers, feeds, progress, self.profile_pass, complete=complete
        )


def _complete(job: Job, measured: Measured, session: Any, _recorder: Recorder) -> Measured:
    answers = session.answers() if job.keep_outputs else ()
    return replace(measured, answers=answers, plan=session.plan)
