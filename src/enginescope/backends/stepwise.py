"""Measure a backend that can be driven one request at a time.

The passes of a job, each on its own: load, first inference, warm-up, timed loop, layer profile.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Protocol, TypeVar

import msgspec

from enginescope.backends.base import (
    Arrays,
    FeedSource,
    InputSpec,
    Measured,
    Progress,
    ProgressSink,
)
from enginescope.backends.loop import Step, timed_loop, warm_up
from enginescope.core.errors import BackendError
from enginescope.model.job import Job
from enginescope.model.notice import Notice
from enginescope.model.run import Phase, ProviderShare
from enginescope.model.tensor import Tensor
from enginescope.model.timing import Profile
from enginescope.probe.load import LoadMeter

T = TypeVar("T")


class Session(Protocol):
    """A loaded model that answers one request per step."""

    @property
    def input_specs(self) -> tuple[InputSpec, ...]:
        """What the model asks for."""

    @property
    def providers(self) -> tuple[str, ...]:
        """Providers in use, in order."""

    @property
    def placement(self) -> tuple[ProviderShare, ...]:
        """Which provider took how many nodes; empty when the runtime does not say."""

    def bind(self, arrays: Arrays) -> None:
        """Place the inputs where the step reads them."""

    def settle(self) -> None:
        """After the first step: allocate the outputs once, for every further step."""

    @property
    def step(self) -> Step:
        """One request, input to answer. Called in the timed loop with nothing around it."""

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return inputs and outputs as they are fed and received."""

    def notices(self) -> tuple[Notice, ...]:
        """Return what the session has to say about itself."""


ProfilePass = Callable[[Job, Arrays], tuple[Profile, tuple[Notice, ...]]]


def measure(
    job: Job,
    open_session: Callable[[Job], Session],
    feeds: FeedSource,
    progress: ProgressSink,
    profile_pass: ProfilePass | None = None,
) -> Measured:
    """Run all passes of `job` over one session and return what they gave."""
    progress(Progress(phase="load"))
    session, load_ms = _timed(lambda: open_session(job))
    fed = feeds(session.input_specs)
    session.bind(fed.arrays)
    progress(Progress(phase="first_inference"))
    _, first_ms = _timed(lambda: _first_step(session, fed.random_integers))
    session.settle()

    warmup_report, warmup_ms = warm_up(session.step, job.workload.warmup, progress)
    meter = LoadMeter()
    meter.start()
    stop, samples = timed_loop(session.step, job.workload.stop, progress)
    other_load = meter.other_cores()
    inputs, outputs = session.tensors()
    phases = [
        Phase(name="load", duration_ms=load_ms),
        Phase(name="first_inference", duration_ms=first_ms),
        Phase(name="warm_up", duration_ms=warmup_report.duration_ms),
        Phase(name="steady_state", duration_ms=stop.duration_ms),
    ]
    notices = [*fed.notices, *session.notices()]
    profile = None
    if profile_pass is not None and job.layer_profile:
        progress(Progress(phase="layer_profile"))
        (profile, remarks), profile_ms = _timed(lambda: profile_pass(job, fed.arrays))
        phases.append(Phase(name="layer_profile", duration_ms=profile_ms))
        notices += remarks
    return Measured(
        phases=tuple(phases),
        inputs=inputs,
        outputs=outputs,
        batch=fed.batch,
        samples=(msgspec.structs.replace(samples, warmup_ms=warmup_ms),),
        warmup=warmup_report,
        stop=stop,
        profile=profile,
        other_load_cores=other_load,
        providers=session.providers,
        placement=session.placement,
        notices=tuple(notices),
    )


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    begin = perf_counter_ns()
    result = work()
    return result, (perf_counter_ns() - begin) / 1e6


def _first_step(session: Session, random_integers: tuple[str, ...]) -> None:
    """Run the first request; if it fails on random integers, say how to bound them."""
    try:
        session.step()
    except BackendError as error:
        if not random_integers or error.hint:
            raise
        example = random_integers[0]
        raise BackendError(
            error.what,
            why=error.why,
            hint=f"{', '.join(random_integers)} got random integers; if they index a table, "
            f"bound them: --range {example}:0:99",
        ) from error
