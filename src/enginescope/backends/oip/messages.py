"""Requests and answers of the Open Inference Protocol: JSON, and its binary tensor extension.

https://github.com/kserve/open-inference-protocol, ``inference_rest.md``; the extension is Triton's
``extension_binary_data.md``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from enginescope.backends.base import Feeds, InputSpec
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.record import Record
from enginescope.records.tensor import DataType, Tensor

_BINARY = "binary_tensor_data"
#: Length of the JSON at the beginning of a body with binary tensors.
LENGTH_HEADER = "Inference-Header-Content-Length"
_TYPES = {
    "BOOL": DataType.BOOL,
    "UINT8": DataType.UINT8,
    "UINT16": DataType.UINT16,
    "UINT32": DataType.UINT32,
    "UINT64": DataType.UINT64,
    "INT8": DataType.INT8,
    "INT16": DataType.INT16,
    "INT32": DataType.INT32,
    "INT64": DataType.INT64,
    "FP16": DataType.FP16,
    "BF16": DataType.BF16,
    "FP32": DataType.FP32,
    "FP64": DataType.FP64,
    "BYTES": DataType.STRING,
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
#: JSON has no numbers of these types that every server reads alike.
_BINARY_ONLY = (DataType.FP16, DataType.BF16)


class Message(Record, frozen=True, kw_only=True):
    """A request, ready to be sent again and again."""

    body: bytes
    headers: dict[str, str]


def takes_binary(server: Mapping[str, Any]) -> bool:
    """Whether a server's metadata lists the extension for binary tensors."""
    return _BINARY in (server.get("extensions") or ())


def input_specs(metadata: Mapping[str, Any]) -> tuple[InputSpec, ...]:
    """Return the inputs that a model's metadata declares.

    Raises:
        BackendError: The metadata is not the protocol's.
    """
    return tuple(
        InputSpec(
            name=tensor.name, dtype=tensor.dtype, shape=tensor.shape or (), type_text=type_text
        )
        for tensor, type_text in _declared(metadata, "inputs")
    )


def _declared(metadata: Mapping[str, Any], key: str) -> list[tuple[Tensor, str]]:
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
            for entry in metadata[key]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise BackendError(
            "model metadata",
            why=f"its {key} are not the protocol's: {type(error).__name__}: {error}",
            hint="the address of a model, as http://localhost:8000/v2/models/NAME",
        ) from error


def encoded(specs: tuple[InputSpec, ...], feeds: Feeds, *, binary: bool) -> Message:
    """Return the request with these inputs.

    Raises:
        UnsupportedError: An input has no form in this encoding.
    """
    tensors, tail = [], b""
    for spec in specs:
        array = feeds.arrays[spec.name]
        if spec.dtype is None or (not binary and spec.dtype in _BINARY_ONLY):
            hint = None if spec.dtype is None else "a server with the binary tensor extension"
            raise UnsupportedError(
                f"input {spec.name}", why=f"{spec.type_text} cannot be sent", hint=hint
            )
        entry: dict[str, Any] = {
            "name": spec.name,
            "shape": list(feeds.shapes.get(spec.name, array.shape)),
            "datatype": _NAMES[spec.dtype],
        }
        if binary:
            data = _raw(array, spec.dtype)
            entry["parameters"] = {"binary_data_size": len(data)}
            tail += data
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


def _raw(array: Any, dtype: DataType) -> bytes:
    """Return little-endian bytes; of strings each with its length before it."""
    if dtype is DataType.STRING:
        texts = [str(text).encode() for text in np.ravel(array)]
        return b"".join(struct.pack("<I", len(text)) + text for text in texts)
    plain = np.ascontiguousarray(array)
    return plain.astype(plain.dtype.newbyteorder("<"), copy=False).tobytes()


def _plain(array: Any, dtype: DataType) -> list[Any]:
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
        tensors = tuple(tensor for tensor, _ in _declared(document, "outputs"))
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
