"""The timing cache: tactics timed once for a GPU are not timed again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from enginescope.core.jsonio import write_atomic
from enginescope.model.notice import Notice


def cache_file(asked: str | None, folder: str | None, version: str, device: str) -> Path | None:
    """Return where the cache lies; ``None``: there is to be none.

    Parameters
    ----------
    asked : str or None
        A file, ``"none"``, or ``None`` for the one of the engine cache.
    folder : str or None
        Folder of the engine cache.
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
    """Give the build what `file` has; a cache that does not fit is noticed and not used."""
    data = file.read_bytes() if file is not None and file.is_file() else b""
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


def save_cache(config: Any, file: Path | None) -> None:
    """Write what the build has timed back to `file`."""
    cache = config.get_timing_cache()
    if file is None or cache is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, bytes(memoryview(cache.serialize())))
