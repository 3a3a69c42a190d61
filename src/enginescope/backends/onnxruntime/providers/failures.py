"""ONNX Runtime's exceptions, in our words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from enginescope.core.errors import BackendError, EnginescopeError, UnsupportedError

_CODE = re.compile(r"^\[ONNXRuntimeError\] : \d+ : ([A-Z_]+) : ")
#: Where in its own source the runtime raised: of no use to a reader.
_SOURCE = re.compile(r"^(/\S+\.(?:cc|h):\d+ .*?\)(?: const)? (?=[A-Z])|/\S+\.(?:cc|h):\d+ )")
_MEMORY_WORDS = ("bad_alloc", "Failed to allocate memory", "out of memory", "OutOfMemory")
_UNSUPPORTED_CODES = frozenset({"NOT_IMPLEMENTED", "EP_FAIL"})
_VERSION = re.compile(r"(Unsupported model IR version|opset \d+ is under development|Opset \d+ )")


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn what ONNX Runtime raises in this block into a `BackendError` about `what`.

    Raises:
        UnsupportedError: The model needs an operator, IR version or opset that this build does not
            have.
        MemoryError: An allocation failed.
        BackendError: Anything else.
    """
    try:
        yield
    except (EnginescopeError, MemoryError):
        raise
    except Exception as error:  # its exceptions have no common base of their own
        raise _translate(what, error) from error


def _translate(what: str, error: Exception) -> BaseException:
    text = str(error)
    if any(words in text for words in _MEMORY_WORDS):
        return MemoryError(text)
    match = _CODE.match(text)
    message = _SOURCE.sub("", _CODE.sub("", text).strip())
    if _VERSION.search(text):
        return UnsupportedError(
            what, why=message, hint="a newer onnxruntime, or export the model at a lower opset"
        )
    if match and match[1] in _UNSUPPORTED_CODES:
        return UnsupportedError(what, why=message)
    return BackendError(what, why=message)
