"""What a backend is: the protocol, and the objects that cross it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

from enginescope.core.record import Record
from enginescope.model.job import BackendSpec, Job
from enginescope.model.notice import Notice
from enginescope.model.run import Phase, ProviderShare, StopReport, WarmUpReport
from enginescope.model.samples import Samples
from enginescope.model.tensor import DataType, Tensor
from enginescope.model.timing import Profile

Arrays: TypeAlias = Mapping[str, "np.ndarray[Any, Any]"]


class InputSpec(Record, frozen=True, kw_only=True):
    """What a model asks for.

    Attributes
    ----------
    name : str
    dtype : DataType or None
        ``None``: a type that has no array form here.
    shape : tuple of (int, str or None)
        A name or ``None`` for a dynamic dimension.
    type_text : str
        The runtime's own word for the type.
    """

    name: str
    dtype: DataType | None
    shape: tuple[int | str | None, ...]
    type_text: str


class Feeds(Record, frozen=True, kw_only=True, eq=False):
    """Values for the inputs of a model.

    Attributes
    ----------
    arrays : dict of str to numpy.ndarray
    batch : int
        Items in one request.
    random_integers : tuple of str
        Inputs filled with random integers that no range bounded: the first to suspect when a
        model rejects its input.
    """

    arrays: dict[str, Any]
    batch: int
    notices: tuple[Notice, ...] = ()
    random_integers: tuple[str, ...] = ()


class Progress(Record, frozen=True, kw_only=True):
    """Where a job stands; written for the parent to show.

    Attributes
    ----------
    phase : str
        Name of a `Phase`.
    samples : int
    median_ms, half_width_pct : float or None
        Of what is measured so far.
    elapsed_ms, limit_ms : float or None
        Of the phase, and the most it can take.
    """

    phase: str
    samples: int = 0
    median_ms: float | None = None
    half_width_pct: float | None = None
    elapsed_ms: float | None = None
    limit_ms: float | None = None


FeedSource: TypeAlias = Callable[[tuple[InputSpec, ...]], Feeds]
ProgressSink: TypeAlias = Callable[[Progress], None]


class Measured(Record, frozen=True, kw_only=True, eq=False):
    """What a backend hands back: raw samples and what qualifies them.

    Attributes
    ----------
    peak_memory_bytes : int or None
        Of the process when the timed loop had ended; later passes need memory of their own.
    """

    phases: tuple[Phase, ...] = ()
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    batch: int | None = None
    samples: tuple[Samples, ...] = ()
    warmup: WarmUpReport | None = None
    stop: StopReport | None = None
    profile: Profile | None = None
    peak_memory_bytes: int | None = None
    other_load_cores: float | None = None
    providers: tuple[str, ...] = ()
    placement: tuple[ProviderShare, ...] = ()
    notices: tuple[Notice, ...] = ()


class Availability(Record, frozen=True, kw_only=True):
    """Whether a backend can work on this machine.

    Attributes
    ----------
    usable : bool
    detail : str
        Version when usable, the cause when not.
    hint : str or None
        What to install or change.
    """

    usable: bool
    detail: str
    hint: str | None = None


class Backend(Protocol):
    """A runtime that can execute jobs.

    One folder under ``backends/``, one line in ``registry.py``. A backend that can be driven one
    request at a time implements `execute` with `enginescope.backends.stepwise.measure`; one that
    measures by itself (a command-line tool) fills `Measured` on its own.
    """

    def check(self, spec: BackendSpec) -> None:
        """Raise `UsageError` if the precision or an option is not this backend's."""

    def availability(self) -> Availability:
        """Say whether this machine can run it, without running anything."""

    def prepare(self) -> None:
        """Import the runtime, so that its import time is not counted as the model's load.

        Raises
        ------
        MissingDependencyError
            It is not installed.
        """

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        """Measure `job` in this process.

        Raises
        ------
        UnsupportedError
            This machine, build or model cannot be measured with it.
        BackendError
            It failed.
        """
