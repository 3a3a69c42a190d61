"""What every call of the CUDA runtime has in common: its tuple, its errors."""

import functools
from collections.abc import Callable
from typing import Any

from fake_device.device import DEVICE
from fake_device.errors import Error


def wanted(value: Any) -> int:
    """Return a number; as cuda-bindings, refuse what is none."""
    if not isinstance(value, int):
        raise TypeError("an integer is required")
    return int(value)


def call(
    values: int = 0,
    *,
    needs_device: bool = True,
    waits: bool = False,
    unsafe_in_capture: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., tuple[Any, ...]]]:
    """Make a function that returns an error or values one that returns CUDA's tuple.

    Args:
        values: How many follow the error; they are ``None`` if the call failed.
        waits: It waits for the device, which no stream may be captured through.
        unsafe_in_capture: It may wait: a capture that goes on is invalid afterwards.
    """

    def made(function: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
        @functools.wraps(function)
        def called(*arguments: Any) -> tuple[Any, ...]:
            found = _refusal(needs_device, waits or unsafe_in_capture)
            if found is None:
                DEVICE.timeline.settle()
                found = DEVICE.timeline.failed or function(*arguments)
            if not isinstance(found, Error):
                return (Error.cudaSuccess, *(found if values > 1 else (found,)))
            if found and found is not Error.cudaErrorNotReady:
                DEVICE.last_error = found
            return (found, *([None] * values))

        return called

    return made


def _refusal(needs_device: bool, waits: bool) -> Error | None:
    missing = DEVICE.absent() if needs_device else None
    if missing is not None:
        return missing
    if waits and DEVICE.timeline.capturing:
        for stream in DEVICE.timeline.capturing:
            stream.invalidated = True
        return Error.cudaErrorStreamCaptureUnsupported
    return None
