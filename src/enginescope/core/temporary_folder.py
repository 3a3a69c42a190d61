"""A folder for files that nobody keeps."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new folder that goes again with all that is in it, however the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="enginescope-"))
    try:
        yield folder
    finally:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        except BaseException:  # a second Ctrl-C, while thousands of files are being removed
            shutil.rmtree(folder, ignore_errors=True)
            raise
