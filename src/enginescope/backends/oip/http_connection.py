"""A connection to an endpoint over HTTP.

Requests and outputs are JSON (``inference_rest.md`` of the protocol) with its binary tensor
extension (Triton's ``extension_binary_data.md``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.oip.connection import MODELS, REACH, TIMEOUT_S, declared, header, raw
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.http_pool import http_pool, reason_of_http
from enginescope.core.record import Record
from enginescope.records.tensor import DataType, Tensor

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse


_BINARY = "binary_tensor_data"
#: Length of the JSON at the beginning of a body with binary tensors.
LENGTH_HEADER = "Inference-Header-Content-Length"
#: JSON has no numbers of these types that every server reads alike.
_BINARY_ONLY = (DataType.FP16, DataType.BF16)


class Message(Record, frozen=True, kw_only=True):
    """A request, ready to be sent again and again."""

    body: bytes
    headers: dict[str, str]


def takes_binary(server: Mapping[str, Any]) -> bool:
    """Whether a server's metadata lists the extension for binary tensors."""
    return _BINARY in (server.get("extensions") or ())


def encoded(specs: tuple[InputSpec, ...], feeds: Feeds, *, binary: bool) -> Message:
    """Return the request with these inputs."""
    tensors, tail = [], b""
    for spec in specs:
        array, entry = feeds.arrays[spec.name], header(spec, feeds)
        if binary:
            data = raw(array, spec.dtype)
            entry["parameters"] = {"binary_data_size": len(data)}
            tail += data
        elif spec.dtype in _BINARY_ONLY:
            raise UnsupportedError(
                f"input {spec.name}",
                why=f"{spec.type_text} cannot be sent as JSON",
                hint="a server with the binary tensor extension, or gRPC",
            )
        else:
            entry["data"] = _plain(array, spec.dtype)
        tensors.append(entry)
    document: dict[str, Any] = {"inputs": tensors}
    if not binary:
        return Message(body=_json(document), headers={"Content-Type": "application/json"})
    document["parameters"] = {"binary_data_output": True}
    head = _json(document)
    headers = {"Content-Type": "application/octet-stream", LENGTH_HEADER: str(len(head))}
    return Message(body=head + tail, headers=headers)


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _plain(array: Any, dtype: DataType | None) -> list[Any]:
    values = np.ravel(array)
    return [str(text) for text in values] if dtype is DataType.STRING else values.tolist()


def output_tensors(body: bytes, headers: Mapping[str, str]) -> tuple[Tensor, ...]:
    """Return the outputs of an answer, without their values."""
    length = headers.get(LENGTH_HEADER)
    try:
        document = json.loads(body if length is None else body[: int(length)])
        tensors = tuple(tensor for tensor, _ in declared(document, "outputs"))
        sizes = [
            int(entry.get("parameters", {}).get("binary_data_size", 0))
            for entry in document["outputs"]
        ]
    except (ValueError, AttributeError) as error:
        raise BackendError("the endpoint's answer", why=str(error)) from error
    if length is not None and int(length) + sum(sizes) != len(body):
        raise BackendError(
            "the endpoint's answer",
            why=f"{len(body):,} bytes came, {int(length) + sum(sizes):,} were declared",
        )
    return tensors


def reason_in(body: bytes) -> str:
    """Return the error that an answer names, else its beginning."""
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if isinstance(document, dict) and "error" in document:
        return str(document["error"])
    return body[:200].decode("utf-8", "replace").strip() or "no reason given"


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
        self._message = encoded(specs, feeds, binary=self.encoding == "binary")

    def send(self) -> None:
        self._answer = self._ask("POST", f"{self._url}/infer", self._message)

    def outputs(self) -> tuple[Tensor, ...]:
        answer = self._answer
        return () if answer is None else output_tensors(answer.data, answer.headers)

    def close(self) -> None:
        self._pool.clear()
