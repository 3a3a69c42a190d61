"""Time and memory of comparing two large plans: whole processes, and by how much they grow.

Plan A: a residual network end to end, with layer times. Plan B: the same in FP16, most of its
additions fused into the convolution before.

python benchmarks/explore/compare.py [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from align import fused
from synthetic_plans import chain, profile_of

SIZES = (5_047, 50_058)
WAYS = {"terminal": (), "JSON": ("--json",), "page": ("--html", "{folder}/page.html")}


def write(folder: Path, layers: int) -> list[str]:
    """Write both plans and their profiles; return the plans' files."""
    made = chain(layers)
    plans: dict[str, Any] = {"a": made, "b": fused(made)}
    for seed, (name, plan) in enumerate(plans.items()):
        (folder / f"{name}{layers}.graph.json").write_text(json.dumps(plan))
        times = json.dumps(profile_of(plan, seed))
        (folder / f"{name}{layers}.profile.json").write_text(times)
    return [str(folder / f"{name}{layers}.graph.json") for name in plans]


def run(files: list[str], more: list[str]) -> tuple[float, float, float]:
    """Return seconds, CPU seconds and MiB of one process."""
    command = [sys.executable, "-m", "enginescope", "compare", *files, *more]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    wall_s = time.perf_counter() - start
    return wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print("| layers | to | seconds | CPU seconds | MiB at most | × the CPU time |")
    print("|---|---|---|---|---|---|")
    before: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for layers in SIZES:
            files = write(folder, layers)
            for way, options in WAYS.items():
                more = [one.format(folder=folder) for one in options]
                found = [run(files, more) for _ in range(rounds)]
                wall_s, cpu_s, peak = (statistics.median(one) for one in zip(*found, strict=True))
                growth = f"{cpu_s / before[way]:.1f}" if way in before else ""
                before[way] = cpu_s
                cells = (f"{layers:,}", way, f"{wall_s:.2f}", f"{cpu_s:.2f}", f"{peak:.0f}", growth)
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
