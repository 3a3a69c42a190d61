"""How another Python process of ours is started."""

from __future__ import annotations

import sys
from pathlib import Path


def interpreter() -> list[str]:
    """Return how to start an interpreter that finds the modules this one finds.

    ``-m`` would put the working directory first, where an ``onnxruntime`` folder or a script called
    ``onnx.py`` hides the installed package. Python 3.10 has no switch against it.
    """
    from_here = not {"", str(Path.cwd())}.isdisjoint(sys.path)
    return [sys.executable, *([] if from_here or sys.version_info < (3, 11) else ["-P"])]
