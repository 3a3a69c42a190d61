"""Why a provider did not take a node: what ONNX Runtime writes to its log while it shares them out.

The log goes to standard error from C++, so the descriptor itself is turned to a file meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from enginescope.backends.onnxruntime.providers.opening import Setup, open_session
from enginescope.core.errors import EnginescopeError

_INFO, _USUAL = 1, 2
_NO_KERNEL = re.compile(r"kernel not found in registries for Op type: (\S+)")
_CHEAPER = re.compile(r"Force fallback to CPU execution for node: (\S+)")
_NOT_IMPORTED = re.compile(r"No importer registered for op: (\w+)")
#: TensorRT's parser on a node: operator, code, what is wrong with it.
_PARSER = re.compile(r"operator: (\w+)[^\n]*?(?:UNSUPPORTED_NODE|INVALID_NODE)[A-Z_]*: ([^\n]+)")


def reasons_of(ort: Any, setup: Setup, options: Any, names: dict[str, str]) -> dict[str, str]:
    """Open a session with its log on, drop it, and return reasons by operator.

    Args:
        names: Node -> operator, for lines that name a node alone.
    """
    options.log_severity_level = _INFO
    with _log_of(ort) as log:
        try:
            open_session(ort, setup, options)
        except (EnginescopeError, MemoryError):  # the session that counts was opened before
            return {}
        finally:
            sys.stderr.flush()
        log.seek(0)
        text = log.read().decode("utf-8", "replace")
    return parse_reasons(text, names, setup.provider.name)


def parse_reasons(text: str, names: dict[str, str], provider: str) -> dict[str, str]:
    """Return the reasons that a log gives, by operator; the first that is given stands."""
    found: dict[str, str] = {}
    for match in _NO_KERNEL.finditer(text):
        found.setdefault(match[1], f"{provider} has no kernel for it with these types")
    for match in _NOT_IMPORTED.finditer(text):
        found.setdefault(match[1], "TensorRT's parser does not know it")
    for match in _PARSER.finditer(text):
        found.setdefault(match[1], f"TensorRT's parser: {match[2].strip()}")
    for match in _CHEAPER.finditer(text):
        operator = names.get(match[1])
        if operator is not None:
            found.setdefault(
                operator, "on shapes, not on data: ONNX Runtime deems the CPU cheaper than copying"
            )
    return found


@contextlib.contextmanager
def _log_of(ort: Any) -> Iterator[IO[bytes]]:
    """Turn standard error to a file, and ONNX Runtime's own log on."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        ort.set_default_logger_severity(_INFO)
        try:
            yield log
        finally:
            ort.set_default_logger_severity(_USUAL)
            os.dup2(kept, 2)
            os.close(kept)
