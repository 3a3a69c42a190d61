"""A docker that starts the command here: what it was told is kept, and held against the rules.

Mounts are taken for what they are: a path that is not mounted is no path in the container.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from enginescope.runner.fleet.cell_task import REMOTE_CELL


def main(arguments: list[str]) -> int:
    kept = Path(os.environ["DOCKER_STAND_IN"])
    with (kept / "calls.jsonl").open("a") as file:
        file.write(json.dumps(arguments) + "\n")
    fault = (kept / "fault").read_text() if (kept / "fault").exists() else ""
    if arguments[0] == "version":
        if fault == "no daemon":
            print("Cannot connect to the Docker daemon", file=sys.stderr)
            return 1
        return 0
    if arguments[0] == "image":
        return 1 if arguments[-1] == "absent:1" else 0
    if arguments[0] == "kill":
        return 0
    assert arguments[0] == "run"
    options = [one for one in arguments[1:] if one.startswith("--")]
    rest = [one for one in arguments[1:] if not one.startswith("--")]
    assert rest[:3] == ["me/es:1", "-m", REMOTE_CELL], rest
    if fault == "hang":
        time.sleep(60)
    if fault:
        print(fault, file=sys.stderr)
        return 137
    home = next(one.partition("HOME=")[2] for one in options if one.startswith("--env=HOME="))
    mounted = [one.split("target=")[1].split(",")[0] for one in options if "target=" in one]
    assert all(Path(one).is_dir() for one in mounted), mounted
    assert all(any(Path(path).is_relative_to(one) for one in mounted) for path in rest[3:])
    return subprocess.run(
        [sys.executable, *rest[1:]], env={**os.environ, "HOME": home}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
