"""Requests and answers over HTTP: JSON, and its binary tensor extension.

``inference_rest.md`` of the protocol; the extension is Triton's ``extension_binary_data.md``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.oip.tensors import declared, header, raw
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.record import Record
from enginescope.records.tensor import DataType, Tensor

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
    """Return the request with these inputs.

    Raises:
        UnsupportedError: An input has no form in this encoding.
    """
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
    """Return the outputs of an answer, without their values.

    Raises:
        BackendError: It is not an answer of the protocol, or it is cut short.
    """
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
