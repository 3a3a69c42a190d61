"""What a session asks of a connection to an endpoint, and the connection over HTTP.

Tensors of the Open Inference Protocol are alike over HTTP and gRPC: types, declarations and bytes.
https://github.com/kserve/open-inference-protocol

Requests and outputs are JSON (``inference_rest.md`` of the protocol) with its binary tensor
extension (Triton's ``extension_binary_data.md``).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from enginescope.backends.base import Feeds, InputSpec
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.http_pool import http_pool, reason_of_http
from enginescope.core.record import Record
from enginescope.records.tensor import PACKED, DataType, Tensor

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse


#: Of a request to the server, in seconds.
TIMEOUT_S = 60.0
#: What to do where a server does not answer.
REACH = "check the address, and that the server runs"
#: Between the address of a server and the name of a model.
MODELS = "/v2/models/"


class Connection(Protocol):
    """One connection of its own; requests go one at a time.

    Attributes:
        protocol: ``"HTTP"`` or ``"gRPC"``.
        encoding: How tensors travel: ``"binary"`` or ``"json"``.
        metadata: Of the model, with the keys of the protocol's JSON.
    """

    protocol: str
    encoding: str
    metadata: dict[str, Any]

    def bind(self, specs: tuple[InputSpec, ...], feeds: Feeds) -> None:
        """Encode the request, once."""

    def send(self) -> None:
        """Send the request and read the whole answer."""

    def outputs(self) -> tuple[Tensor, ...]:
        """Check the last answer; return its tensors without their values."""

    def close(self) -> None:
        """Close the connection."""


_TYPES = {
    dtype.value: dtype
    for dtype in DataType
    if dtype.value.startswith(("UINT", "INT", "BOOL", "BF16", "FP16", "FP32", "FP64"))
    and dtype not in PACKED
} | {"BYTES": DataType.STRING}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}


def input_specs(metadata: Mapping[str, Any]) -> tuple[InputSpec, ...]:
    """Return the inputs that a model's metadata declares."""
    return tuple(
        InputSpec(
            name=tensor.name, dtype=tensor.dtype, shape=tensor.shape or (), type_text=type_text
        )
        for tensor, type_text in declared(metadata, "inputs")
    )


def declared(document: Mapping[str, Any], key: str) -> list[tuple[Tensor, str]]:
    """Return the tensors under a key, each with the protocol's name of its type."""
    try:
        return [
            (
                Tensor(
                    name=str(entry["name"]),
                    shape=tuple(None if dim < 0 else int(dim) for dim in entry["shape"]),
                    dtype=_TYPES.get(entry["datatype"]),
                ),
                str(entry["datatype"]),
            )
            for entry in document[key]
        ]
    except (KeyError, TypeError, ValueError) as error:
        why = f"its {key} are not the protocol's: {type(error).__name__}: {error}"
        hint = "the address of a model, as http://localhost:8000/v2/models/NAME"
        raise BackendError("model metadata", why=why, hint=hint) from error


def header(spec: InputSpec, feeds: Feeds) -> dict[str, Any]:
    """Return name, shape and type of an input, as a request names them."""
    if spec.dtype is None:
        raise UnsupportedError(f"input {spec.name}", why=f"{spec.type_text} cannot be sent")
    shape = feeds.shapes.get(spec.name, feeds.arrays[spec.name].shape)
    return {"name": spec.name, "shape": list(shape), "datatype": _NAMES[spec.dtype]}


def raw(array: Any, dtype: DataType | None) -> bytes:
    """Return little-endian bytes; of strings each with its length before it."""
    if dtype is DataType.STRING:
        texts = [str(text).encode() for text in np.ravel(array)]
        return b"".join(struct.pack("<I", len(text)) + text for text in texts)
    plain = np.ascontiguousarray(array)
    return plain.astype(plain.dtype.newbyteorder("<"), copy=False).tobytes()


#: Length of the JSON at the beginning of a body with binary tensors.
LENGTH_HEADER = "Inference-Header-Content-Length"
#: JSON has no numbers of these types that every server reads alike.
_BINARY_ONLY = (DataType.FP16, DataType.BF16)


class Message(Record, frozen=True, kw_only=True):
    """A request, ready to be sent again and again."""

    body: bytes
    headers: dict[str, str]


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
            what = f"input {spec.name}"
            hint = "a server with the binary tensor extension, or gRPC"
            raise UnsupportedError(what, why=f"{spec.type_text} cannot be sent as JSON", hint=hint)
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
        why = f"{len(body):,} bytes came, {int(length) + sum(sizes):,} were declared"
        raise BackendError("the endpoint's answer", why=why)
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
        is_binary = form == "binary"
        if form == "auto":
            is_binary = "binary_tensor_data" in (self._server().get("extensions") or ())
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
            why = "it does not describe a model as the Open Inference Protocol does"
            hint = "the address of a model, as http://localhost:8000/v2/models/NAME"
            raise BackendError(f"endpoint {self._url}", why=why, hint=hint)
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
        if response.status != 200:
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
