"""How long a plan and its profile take to load and join, and what memory: small and large.

Each load is a process of its own, so that its peak is its own. The plans are synthetic ones of
`synthetic_plans.py`, or the files given.

python benchmarks/explore/load.py [PLAN.graph.json PROFILE.json]
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (5_047, 50_058)
ROUNDS = 5
MOST_S, MOST_MIB, MOST_GROWTH = 0.9, 300, 13.0


def load(plan_file: Path, profile_file: Path) -> None:
    """Print what a load takes, as JSON; for a process of its own."""
    from enginescope.analysis.attribution import attribute
    from enginescope.formats.exported_profile import parse_profile
    from enginescope.formats.paused_collection import paused_collection
    from enginescope.formats.plan_json import parse_plan

    begin = time.perf_counter()
    plan, _ = parse_plan(plan_file.read_bytes(), plan_file.name)
    plan_read = time.perf_counter()
    profile, _ = parse_profile(profile_file.read_bytes(), profile_file.name)
    profile_read = time.perf_counter()
    with paused_collection():
        joined = attribute(plan, profile)
    end = time.perf_counter()
    made = {
        "layers": len(joined.layers),
        "unmatched": len(joined.unmatched),
        "plan_s": plan_read - begin,
        "profile_s": profile_read - plan_read,
        "join_s": end - profile_read,
        "all_s": end - begin,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(made))


def measured(plan_file: Path, profile_file: Path) -> dict[str, float]:
    """Print and return the figures of the median of several processes."""
    command = [sys.executable, __file__, "--one", str(plan_file), str(profile_file)]
    runs = [json.loads(subprocess.check_output(command)) for _ in range(ROUNDS)]
    runs.sort(key=lambda one: one["all_s"])
    middle: dict[str, float] = runs[len(runs) // 2]
    size_mb = (plan_file.stat().st_size + profile_file.stat().st_size) / 1e6
    peak = statistics.median(one["peak_mib"] for one in runs)
    print(
        f"{middle['layers']:>7,} layers, {size_mb:5.1f} MB: {middle['all_s']:.3f} s "
        f"(plan {middle['plan_s']:.3f}, profile {middle['profile_s']:.3f}, "
        f"join {middle['join_s']:.3f}), fastest {runs[0]['all_s']:.3f} s, peak {peak:.0f} MiB"
    )
    return {**middle, "fastest_s": runs[0]["all_s"], "peak_mib": peak}


def written(folder: Path, layers: int) -> tuple[Path, Path]:
    """Write a synthetic plan and its profile."""
    from synthetic_plans import chain, profile_of

    plan = chain(layers)
    files = folder / f"{layers}.graph.json", folder / f"{layers}.profile.json"
    for file, value in zip(files, (plan, profile_of(plan)), strict=True):
        file.write_text(json.dumps(value))
    return files


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--one"]:
        load(Path(arguments[1]), Path(arguments[2]))
        return 0
    if arguments:
        measured(Path(arguments[0]), Path(arguments[1]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        small, large = (measured(*written(Path(folder), size)) for size in SIZES)
    growth = large["fastest_s"] / small["fastest_s"]
    scale = large["layers"] / small["layers"]
    print(f"{scale:.1f} × the layers take {growth:.1f} × the time (limit {MOST_GROWTH:.0f})")
    print(f"limits: {MOST_S} s, {MOST_MIB} MiB")
    holds = large["all_s"] <= MOST_S and large["peak_mib"] <= MOST_MIB and growth <= MOST_GROWTH
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
