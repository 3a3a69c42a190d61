"""The timing cache: tactics timed once for a GPU are not timed again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from enginescope.core.errors import UsageError
from enginescope.core.jsonio import write_atomic
from enginescope.records.notice import Notice


def cache_file(asked: str | None, folder: str | None, version: str, device: str) -> Path | None:
    """Return where the cache lies; ``None``: there is to be none.

    Args:
        asked: A file, ``"none"``, or ``None`` for the one of the engine cache.
        folder: Folder of the engine cache.
    """
    if asked == "none":
        return None
    if asked is not None:
        return Path(asked).expanduser()
    if folder is None:
        return None
    plain = re.sub(r"\W+", "-", f"{device}-{version}")
    return Path(folder) / "timing" / f"{plain}.cache"


def load_cache(config: Any, file: Path | None) -> tuple[Notice, ...]:
    """Give the build what `file` has; a cache that does not fit is noticed and not used.

    Raises:
        UsageError: It is there and cannot be read.
    """
    data = _read(file)
    cache = config.create_timing_cache(data)
    if cache is not None and config.set_timing_cache(cache, ignore_mismatch=False):
        return ()
    if not data:
        return ()
    config.set_timing_cache(config.create_timing_cache(b""), ignore_mismatch=False)
    return (
        Notice(
            code="W-TIMING-CACHE",
            message=f"the timing cache {file} is of another TensorRT or GPU; it is written anew",
            evidence={"file": str(file)},
        ),
    )


def _read(file: Path | None) -> bytes:
    if file is None or not file.exists():
        return b""
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"timing cache {file}", why=error.strerror or str(error)) from error


def save_cache(config: Any, file: Path | None) -> tuple[Notice, ...]:
    """Write what the build has timed back to `file`; if that fails the engine stands."""
    cache = config.get_timing_cache()
    if file is None or cache is None:
        return ()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, bytes(memoryview(cache.serialize())))
    except OSError as error:
        why = error.strerror or str(error)
        return (
            Notice(
                code="W-TIMING-CACHE",
                message=f"the timing cache {file} could not be written: {why}",
                evidence={"file": str(file)},
            ),
        )
    return ()
