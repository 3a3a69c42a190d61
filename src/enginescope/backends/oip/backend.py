"""The backend ``oip``: a model behind an Open Inference Protocol endpoint, over HTTP or gRPC."""

from __future__ import annotations

from enginescope.backends.base import Availability, FeedSource, Measured, ProgressSink
from enginescope.backends.oip.session import EndpointSession
from enginescope.backends.stepwise import measure
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.optional import is_installed
from enginescope.core.suggest import did_you_mean
from enginescope.records.run.job import BackendSpec, Job

_FORMATS = ("auto", "binary", "json")


class OipBackend:
    """Measures an endpoint from the client's side."""

    def check(self, spec: BackendSpec) -> None:
        """Accept ``format`` only: ``binary`` or ``json`` tensors, or what the server offers."""
        if spec.precision is not None:
            raise UsageError(f"oip:{spec.precision}", why="the server decides the precision")
        for key, value in spec.options.items():
            if key != "format":
                raise UsageError(f"oip has no option {key!r}", hint="format")
            if value not in _FORMATS:
                hint = did_you_mean(value, _FORMATS)
                raise UsageError(f"oip has no format {value!r}", hint=hint)

    def availability(self) -> Availability:
        """Available everywhere: HTTP needs no package of its own, gRPC does."""
        return Availability(usable=True, detail="HTTP, gRPC" if is_installed("grpc") else "HTTP")

    def prepare(self) -> None:
        """Nothing to import."""

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        """Measure an endpoint."""
        if job.subject.kind != "endpoint":
            raise UnsupportedError(
                f"oip cannot run {job.subject.name}",
                why="it is a file, not the address of an endpoint",
                hint="enginescope load http://localhost:8000/v2/models/NAME",
            )
        return measure(job, EndpointSession, feeds, progress)
