"""Why TensorRT could not build an engine, by its own messages: memory, or no implementation."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Names of fused layers have blanks and dots; the message goes on behind a dot and a blank.
_NO_IMPLEMENTATION = re.compile(
    r"[Cc]ould not find any implementation for node (.+?)"
    r"(?= due to insufficient |\.\s|\.?\)?\s*$)"
)
_NO_MEMORY = re.compile(
    r"out of memory|out_?of_?memory|insufficient memory|memory is insufficient"
    r"|requested amount of \S+ memory"
    r"|skipping tactic \S+ due to (?:insufficient (?!workspace)|oom)",
    re.IGNORECASE,
)
_NO_WORKSPACE = "insufficient workspace"
_LESS_MEMORY = (
    "free GPU memory, or try a smaller batch or shape, a smaller workspace, or another GPU"
)


def build_failure_hint(messages: Iterable[str]) -> str | None:
    """Return which of the two it is and what to try; ``None`` for other failures.

    A builder without memory skips tactics, and may then say that a node has no implementation:
    memory goes first, and a workspace that is too small for every tactic is a limit of its own.
    """
    texts = list(messages)
    names = (match[1] for text in texts if (match := _NO_IMPLEMENTATION.search(text)))
    node = next(names, None)
    if any(map(_NO_MEMORY.search, texts)):
        behind = f" ('no implementation for {node}' follows from it)" if node else ""
        return f"the GPU's memory was too small{behind}: {_LESS_MEMORY}"
    if any(_NO_WORKSPACE in text for text in texts):
        return f"the workspace was too small{f' for {node}' if node else ''}: allow a larger one"
    if node is None:
        return None
    return (
        f"TensorRT has no implementation of {node} with these types, shapes and flags: allow "
        "another precision, a larger workspace, or all tactic sources"
    )
