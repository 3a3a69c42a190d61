"""The optimisation profile that a user names, as an option of the backends that have some."""

from __future__ import annotations

import re
from collections.abc import Sequence

from enginescope.core.errors import UsageError

#: Backends that run engines, with their optimisation profiles.
_ON_ENGINES = frozenset({"trt", "trtexec"})


def with_profile(backends: Sequence[str], index: int | None) -> list[str]:
    """Return backends with `index` as an option of those that run engines.

    Raises:
        UsageError: None of them does, or one has the option already.
    """
    if index is None:
        return list(backends)
    found = [_with_option(backend, "profile_index", str(index)) for backend in backends]
    if found == list(backends):
        raise UsageError(
            "profile_index", why=f"{', '.join(backends)} runs no engine", hint="run it on trt"
        )
    return found


def _with_option(backend: str, key: str, value: str) -> str:
    if re.split("[:?]", backend)[0] not in _ON_ENGINES:
        return backend
    if f"{key}=" in backend:
        raise UsageError(f"backend {backend}", why="profile_index says it too")
    return f"{backend}{'&' if '?' in backend else '?'}{key}={value}"
