"""A docker that starts the command here: what it was told is kept, and held against the rules.

Mounts are taken for what they are: a path that is not mounted is no path in the container.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

#: What may be started, and nothing else.
MODULES = (
    "enginescope.services.suites.remote_cell",
    "enginescope.services.upgrade.remote_job",
    "enginescope.runner.environment_fingerprint",
)
#: Fault -> exit status of its container.
STATUS = {"no enginescope": 1, "no toolkit": 125}
TEXTS = {
    "no enginescope": "/usr/bin/python3: Error while finding module specification for "
    "'enginescope.runner.environment_fingerprint' (ModuleNotFoundError: No module named "
    "'enginescope')",
    "no toolkit": "docker: Error response from daemon: could not select device driver\n\n"
    "Run 'docker run --help' for more information",
}


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
    assert rest[:2] == ["me/es:1", "-m"], rest
    assert rest[2] in MODULES, rest
    if fault == "hang":
        time.sleep(60)
    if fault:
        print(TEXTS.get(fault, fault), file=sys.stderr)
        return STATUS.get(fault, 137)
    home = next(one.partition("HOME=")[2] for one in options if one.startswith("--env=HOME="))
    mounted = [one.split("target=")[1].split(",")[0] for one in options if "target=" in one]
    assert all(Path(one).is_dir() for one in mounted), mounted
    paths = [one for one in rest[3:] if one.startswith("/")]
    assert all(any(Path(path).is_relative_to(one) for one in mounted) for path in paths)
    return subprocess.run(
        [sys.executable, *rest[1:]], env={**os.environ, "HOME": home}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
