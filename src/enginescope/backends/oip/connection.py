"""What a session asks of a connection to an endpoint."""

from __future__ import annotations

from typing import Any, Protocol

from enginescope.backends.base import Feeds, InputSpec
from enginescope.records.tensor import Tensor

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
