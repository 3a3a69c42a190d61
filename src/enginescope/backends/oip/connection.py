"""What a session asks of a connection to an endpoint.

Tensors of the Open Inference Protocol are alike over HTTP and gRPC: types, declarations and bytes.
https://github.com/kserve/open-inference-protocol
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from enginescope.backends.base import Feeds, InputSpec
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.records.tensor import PACKED, DataType, Tensor

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
        raise BackendError(
            "model metadata",
            why=f"its {key} are not the protocol's: {type(error).__name__}: {error}",
            hint="the address of a model, as http://localhost:8000/v2/models/NAME",
        ) from error


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
