"""How long `enginescope --help` takes, against a bare interpreter that imports click. Paired.

Byte code is written, as in a normal installation.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

ROUNDS = 25
SIDES = {
    "enginescope --help": ["-m", "enginescope", "--help"],
    "import click": ["-c", "import click"],
}


def once(arguments: list[str], environment: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment
    )
    return 1e3 * (time.perf_counter() - begin)


def main() -> int:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for arguments in SIDES.values():
        once(arguments, environment)  # writes the byte code
    times: dict[str, list[float]] = {name: [] for name in SIDES}
    for _ in range(ROUNDS):
        for name, arguments in SIDES.items():
            times[name].append(once(arguments, environment))
    for name, values in times.items():
        print(f"{name:20} min {min(values):6.1f} ms   median {statistics.median(values):6.1f} ms")
    ours, bare = (statistics.median(values) for values in times.values())
    print(f"ratio of medians {ours / bare:.2f} (limit 2)")
    return 0 if ours / bare <= 2 else 1


if __name__ == "__main__":
    sys.exit(main())
