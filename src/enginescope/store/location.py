"""Where the store is."""

from __future__ import annotations

import os
from pathlib import Path

from enginescope.core.errors import UsageError

VARIABLE = "ENGINESCOPE_HOME"


def store_folder(explicit: Path | None = None) -> Path:
    """Return `explicit`, else ``$ENGINESCOPE_HOME``, else the platform's data folder."""
    if explicit is not None:
        return _resolved(explicit)
    if os.environ.get(VARIABLE):
        return _resolved(Path(os.environ[VARIABLE]))
    import platformdirs

    return Path(platformdirs.user_data_dir("enginescope", appauthor=False)).resolve()


def _resolved(path: Path) -> Path:
    try:
        return path.expanduser().resolve()
    except RuntimeError as error:  # no such user, or no home to expand
        raise UsageError(f"store {path}", why=str(error), hint="give the folder in full") from None
