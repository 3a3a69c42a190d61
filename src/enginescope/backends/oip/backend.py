"""The backend ``oip``: a model behind an Open Inference Protocol endpoint, over HTTP or gRPC."""

from enginescope.backends.base import (
    Availability,
    Feeds,
    FeedSource,
    InputSpec,
    Measured,
    ProgressSink,
)
from enginescope.backends.loop import Recorder, StepRecorder
from enginescope.backends.oip.connection import Connection, HttpConnection, input_specs
from enginescope.backends.oip.grpc_connection import GrpcConnection, is_grpc
from enginescope.backends.stepwise import measure
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.optional import is_installed
from enginescope.core.suggest import did_you_mean
from enginescope.judge.notice import Notice
from enginescope.records.run.job import BackendSpec, Job
from enginescope.records.run.run import ProviderShare
from enginescope.records.tensor import Tensor


class EndpointSession:
    """A model behind a server; a step sends its inputs and reads its outputs."""

    providers = ("Open Inference Protocol",)
    placement: tuple[ProviderShare, ...] = ()

    def __init__(self, job: Job) -> None:
        url = job.subject.name.rstrip("/")
        connect = GrpcConnection if is_grpc(url) else HttpConnection
        self._connection: Connection = connect(url, job.backend.options.get("format", "auto"))
        self.input_specs: tuple[InputSpec, ...] = input_specs(self._connection.metadata)
        self.step = self._connection.send
        self._inputs: tuple[Tensor, ...] = ()
        self._outputs: tuple[Tensor, ...] = ()

    def bind(self, feeds: Feeds) -> None:
        self._connection.bind(self.input_specs, feeds)
        self._inputs = tuple(
            Tensor(name=spec.name, shape=tuple(feeds.arrays[spec.name].shape), dtype=spec.dtype)
            for spec in self.input_specs
        )

    def settle(self) -> None:
        """Check the first answer."""
        self._outputs = self._connection.outputs()

    def recorder(self) -> Recorder:
        return StepRecorder(self.step)

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        return self._inputs, self._outputs

    def notices(self) -> tuple[Notice, ...]:
        """Say what the times include, and how tensors travel."""
        protocol, encoding = self._connection.protocol, self._connection.encoding
        tensors = f"{protocol} with {'JSON' if encoding == 'json' else encoding} tensors"
        times = f"service times include the network, {tensors} and the server's own queue"
        message = f"{times}; the machine described is the client's"
        evidence = {"protocol": protocol, "encoding": encoding}
        platform = self._connection.metadata.get("platform")
        return (Notice("I-ENDPOINT", message, {**evidence, "platform": platform}),)

    def close(self) -> None:
        self._connection.close()


_FORMATS = ("auto", "binary", "json")


class OipBackend:
    """Measures an endpoint from the client's side."""

    mode_fields: frozenset[str] = frozenset()

    def check(self, spec: BackendSpec) -> None:
        """Accept ``format`` only: ``binary`` or ``json`` tensors, or what the server offers."""
        if spec.precision is not None:
            raise UsageError(f"oip:{spec.precision}", why="the server decides the precision")
        for key, value in spec.options.items():
            if key != "format":
                raise UsageError(f"oip has no option {key!r}", hint="format")
            if value not in _FORMATS:
                raise UsageError(f"oip has no format {value!r}", hint=did_you_mean(value, _FORMATS))

    def availability(self) -> Availability:
        """Available everywhere: HTTP needs no package of its own, gRPC does."""
        return Availability(usable=True, detail="HTTP, gRPC" if is_installed("grpc") else "HTTP")

    def prepare(self) -> None:
        """Nothing to import."""

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        if job.subject.kind != "endpoint":
            why = "it is a file, not the address of an endpoint"
            hint = "enginescope load http://localhost:8000/v2/models/NAME"
            raise UnsupportedError(f"oip cannot run {job.subject.name}", why=why, hint=hint)
        return measure(job, EndpointSession, feeds, progress)
