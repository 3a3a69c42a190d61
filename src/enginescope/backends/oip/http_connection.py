"""A connection to an endpoint over HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.oip.connection import MODELS, REACH, TIMEOUT_S
from enginescope.backends.oip.messages import (
    Message,
    encoded,
    output_tensors,
    reason_in,
    takes_binary,
)
from enginescope.core.errors import BackendError
from enginescope.core.http_pool import http_pool, reason_of_http
from enginescope.records.tensor import Tensor

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

_OK = 200


class HttpConnection:
    """A model behind HTTP.

    Args:
        url: ``http://HOST:PORT/v2/models/NAME``.
        form: ``"binary"``, ``"json"``, or ``"auto"`` for what the server offers.
    """

    protocol = "HTTP"

    def __init__(self, url: str, form: str) -> None:
        self._url = url
        self._pool = http_pool(url)
        self.metadata = self._described("")
        is_binary = form == "binary" or (form == "auto" and takes_binary(self._server()))
        self.encoding = "binary" if is_binary else "json"
        self._message = Message(body=b"", headers={})
        self._answer: BaseHTTPResponse | None = None

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
            return self._described("/v2", self._url.rpartition(MODELS)[0])
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
            why = reason_of_http(error)
            raise BackendError(f"endpoint {url}", why=why, hint=REACH) from error
        if response.status != _OK:
            why = f"HTTP {response.status}: {reason_in(response.data)}"
            raise BackendError(f"endpoint {url}", why=why)
        return response

    def bind(self, specs: tuple[InputSpec, ...], feeds: Feeds) -> None:
        """Encode the request, once."""
        self._message = encoded(specs, feeds, binary=self.encoding == "binary")

    def send(self) -> None:
        """Send the request and read the whole answer."""
        self._answer = self._ask("POST", f"{self._url}/infer", self._message)

    def outputs(self) -> tuple[Tensor, ...]:
        """Check the last answer; return its tensors without their values."""
        answer = self._answer
        return () if answer is None else output_tensors(answer.data, answer.headers)

    def close(self) -> None:
        """Close the connection."""
        self._pool.clear()
