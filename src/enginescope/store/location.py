"""Where the store is."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "ENGINESCOPE_HOME"


def store_folder(explicit: Path | None = None) -> Path:
    """Return `explicit`, else ``$ENGINESCOPE_HOME``, else the platform's data folder."""
    if explicit is not None:
        return explicit.expanduser().resolve()
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE]).expanduser().resolve()
    import platformdirs

    return Path(platformdirs.user_data_dir("enginescope", appauthor=False)).resolve()
