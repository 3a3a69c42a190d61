"""One connection to an endpoint, driven one request at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.loop import Recorder, StepRecorder
from enginescope.backends.oip.messages import (
    Message,
    encoded,
    input_specs,
    output_tensors,
    reason_in,
    takes_binary,
)
from enginescope.core.errors import BackendError
from enginescope.core.http_pool import http_pool, reason_of_http
from enginescope.records.notice import Notice
from enginescope.records.run.job import Job
from enginescope.records.run.run import ProviderShare
from enginescope.records.tensor import Tensor

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

#: Of a request to the server, in seconds.
TIMEOUT_S = 60.0
_OK = 200
_MODELS = "/v2/models/"


class EndpointSession:
    """A model behind a server; a step sends its inputs and reads its outputs."""

    providers = ("Open Inference Protocol",)
    placement: tuple[ProviderShare, ...] = ()

    def __init__(self, job: Job) -> None:
        self._url = job.subject.name.rstrip("/")
        self._pool = http_pool(self._url)
        self._metadata = self._described("")
        self.input_specs: tuple[InputSpec, ...] = input_specs(self._metadata)
        self._format = job.backend.options.get("format", "auto")
        self._is_binary = self._format == "binary" or (
            self._format == "auto" and takes_binary(self._server())
        )
        self._message = Message(body=b"", headers={})
        self._answer: BaseHTTPResponse | None = None
        self._inputs: tuple[Tensor, ...] = ()
        self._outputs: tuple[Tensor, ...] = ()

    def _described(self, place: str, base: str | None = None) -> dict[str, Any]:
        response = self._ask("GET", f"{base or self._url}{place}")
        try:
            document = json.loads(response.data)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise BackendError(
                f"endpoint {self._url}",
                why="it does not describe a model as the Open Inference Protocol does",
                hint="the address of a model, as http://localhost:8000/v2/models/NAME",
            )
        return document

    def _server(self) -> dict[str, Any]:
        """Return the server's metadata; nothing where it has none."""
        try:
            return self._described("/v2", self._url.rpartition(_MODELS)[0])
        except BackendError:
            return {}

    def _ask(self, method: str, url: str, message: Message | None = None) -> BaseHTTPResponse:
        from urllib3.exceptions import HTTPError

        try:
            response = self._pool.request(
                method,
                url,
                body=message.body if message else None,
                headers=message.headers if message else None,
                retries=False,
                timeout=TIMEOUT_S,
            )
        except HTTPError as error:
            raise BackendError(f"endpoint {url}", why=reason_of_http(error)) from error
        if response.status != _OK:
            why = f"HTTP {response.status}: {reason_in(response.data)}"
            raise BackendError(f"endpoint {url}", why=why)
        return response

    def bind(self, feeds: Feeds) -> None:
        """Encode the request, once."""
        self._message = encoded(self.input_specs, feeds, binary=self._is_binary)
        self._inputs = tuple(
            Tensor(name=spec.name, shape=tuple(feeds.arrays[spec.name].shape), dtype=spec.dtype)
            for spec in self.input_specs
        )

    def step(self) -> None:
        """Send one request and read the whole answer."""
        self._answer = self._ask("POST", f"{self._url}/infer", self._message)

    def settle(self) -> None:
        """Check the first answer."""
        if self._answer is not None:
            self._outputs = output_tensors(self._answer.data, self._answer.headers)

    def recorder(self) -> Recorder:
        """Return a new recorder of the request."""
        return StepRecorder(self.step)

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return what is sent and received."""
        return self._inputs, self._outputs

    def notices(self) -> tuple[Notice, ...]:
        """Say what the times include, and how tensors travel."""
        encoding = "binary" if self._is_binary else "JSON"
        return (
            Notice(
                code="I-ENDPOINT",
                message=f"service times include the network, HTTP with {encoding} tensors and the "
                "server's own queue; the machine described is the client's",
                evidence={
                    "encoding": encoding.lower(),
                    "platform": self._metadata.get("platform"),
                },
                level="info",
            ),
        )

    def close(self) -> None:
        """Close the connection."""
        self._pool.clear()
