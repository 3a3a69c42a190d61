"""Build the source archive, a pure wheel, and a wheel with the loop in C for each platform.

`python .ci/build_dist.py DIST` fails if the loop of a platform cannot be compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "native"))
from compile import TARGETS  # noqa: E402 - of a folder that is not a package


def main(folder: str) -> None:
    """Build them all."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder]
    subprocess.run(build, cwd=ROOT, check=True, env={**os.environ, "ENGINESCOPE_NATIVE": "skip"})
    for target in TARGETS:
        settings = {"ENGINESCOPE_NATIVE": "require", "ENGINESCOPE_TARGET": target}
        subprocess.run([*build, "--wheel"], cwd=ROOT, check=True, env={**os.environ, **settings})


if __name__ == "__main__":
    main(sys.argv[1])
