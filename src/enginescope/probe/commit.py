"""The commit of the working directory, where it is a Git one."""

from __future__ import annotations

import subprocess
from functools import lru_cache
from pathlib import Path

from enginescope.records.environment import Commit

_TIMEOUT_S = 2.0
_HEAD = "# branch.oid "


@lru_cache(maxsize=4)
def probe_commit(folder: Path) -> Commit | None:
    """Return the commit that `folder` is at; asked once, and ``None`` where that cannot be known.

    Without Git, outside a repository, before its first commit, or where it takes too long.
    """
    command = [
        "git",
        "--no-optional-locks",  # a look must not write to the repository
        "-C",
        str(folder),
        "status",
        "--porcelain=v2",
        "--branch",
        "--untracked-files=no",
        "--ignore-submodules=all",
    ]
    try:
        ended = subprocess.run(
            command, capture_output=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL, check=True
        )
    except (OSError, subprocess.SubprocessError):  # no Git, no repository, a large one
        return None
    lines = ended.stdout.decode(errors="replace").splitlines()
    named = [line.removeprefix(_HEAD) for line in lines if line.startswith(_HEAD)]
    if not named or named[0] == "(initial)":
        return None
    return Commit(id=named[0], is_changed=any(not line.startswith("#") for line in lines))
