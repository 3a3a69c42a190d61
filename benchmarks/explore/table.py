"""What large plans cost, in one table: time, memory, growth; beside the limits and trex 0.2.1.

Every figure is the median of several processes. They keep Python's compiled files, as an installed
program does, whatever the environment says. The plans are synthetic: `chain`, a residual
network end to end, and `transformer`, with residuals and If branches; see `synthetic_plans.py`.
Limits are held against the least CPU seconds of the rounds, on a quiet machine the seconds of the
clock: what others do at the same time is not the work's. Growth is how many times those ten times
the layers take. Ends with 1 if a limit is passed.

python benchmarks/explore/table.py [--rounds N] [--only WORK …] [--huge]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
SMALL, LARGE, HUGE = 5_047, 50_058, 500_000
MOST_GROWTH = 13.0
_COMPILED = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
#: Works that are whole processes -> verb and options; all others are timed inside theirs, by
#: `measure.py`.
WHOLE = {
    "explore": ("explore",),
    "JSON": ("explore", "--json"),
    "svg": ("explore", "--svg", "{out}.svg"),
    "page": ("explore", "--html", "{out}.html"),
    "lint on screen": ("lint", "--level", "never"),
}


@dataclass
class Case:
    """A work on one plan, what trex was recorded to take, and what it may take.

    `given` are the stems of the files; trex's figures are of another machine with two cores, for a
    chained plan of as many layers.
    """

    work: str
    given: tuple[str, str]
    layers: int
    trex: str = ""
    most_s: float = math.inf
    most_mib: float = math.inf
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    peak_mib: list[float] = field(default_factory=list)
    failure: str = ""

    def add(self, wall_s: float, cpu_s: float, peak_mib: float) -> None:
        """Take the figures of one more process."""
        self.wall_s.append(wall_s)
        self.cpu_s.append(cpu_s)
        self.peak_mib.append(peak_mib)


def cases(*, with_huge: bool = False) -> list[tuple[Case, ...]]:
    """Cases whose growth is of interest stand together, the smaller plan first."""

    def on(
        work: str, stem: str, trex: str = "", most_s: float = math.inf, most_mib: float = math.inf
    ) -> Case:
        layers = int(stem.rpartition("-")[2])
        return Case(
            work, (f"{stem}.graph", f"{stem}.profile"), layers, trex, most_s, most_mib=most_mib
        )

    def aligned(size: int, other: str, trex: str, most_s: float) -> Case:
        return Case("align", (f"chain-{size}.graph", f"{other}-{size}.graph"), size, trex, most_s)

    small, large = f"chain-{SMALL}", f"chain-{LARGE}"
    found: list[tuple[Case, ...]] = [
        (on("explore", "chain-103", "", 0.4),),
        (on("svg", "chain-103", "0.65 s", 0.5),),
        (on("load", small, "0.67 s"), on("load", large, "18.5 s, 910 MiB", 0.9, 300)),
        (on("lint", small, "2.2 s"), on("lint", large, "22.1 s", 1.5)),
        (on("graph", small, "16 … 26 s", 2.0), on("graph", large, "crash at 407 s")),
        (on("page", small), on("page", large, "", 6.0)),
        (on("JSON", small), on("JSON", large, "", 1.5, 300)),
        (aligned(SMALL, "fused", "213 s", 0.5), aligned(LARGE, "fused", "hours", 10.0)),
        (aligned(SMALL, "renamed", "213 s", 0.5), aligned(LARGE, "renamed", "hours", 10.0)),
    ]
    small, large = f"transformer-{SMALL}", f"transformer-{LARGE}"
    found += [
        (on("load", small), on("load", large, "", 0.9, 300)),
        (on("lint", small), on("lint", large, "", 1.5)),
        (on("graph", small, "", 2.0), on("graph", large)),
        (on("page", small), on("page", large, "", 6.0)),
        (on("JSON", small), on("JSON", large, "", 1.5, 300)),
    ]
    for kind in ("chain", "transformer") if with_huge else ():
        huge = f"{kind}-{HUGE}"
        found += [(on(work, huge, "", 20.0, 1_200),) for work in ("explore", "lint on screen")]
        found.append((on("page", huge, "", 40.0),))
    return found


def write_plans(folder: Path, stems: Iterable[str]) -> None:
    """Write plans of a kind and a size each, with their profiles."""
    import align
    import synthetic_plans

    for stem in stems:
        kind, _, size = stem.partition("-")
        plan = {
            "transformer": synthetic_plans.transformer,
            "chain": synthetic_plans.chain,
            "fused": lambda layers: align.fused(synthetic_plans.chain(layers)),
            "renamed": lambda layers: align.renamed(align.fused(synthetic_plans.chain(layers))),
        }[kind](int(size))
        (folder / f"{stem}.graph.json").write_text(json.dumps(plan))
        times = synthetic_plans.profile_of(plan)
        (folder / f"{stem}.profile.json").write_text(json.dumps(times))


def environment(folder: Path) -> dict[str, str]:
    """Return that of the processes, with compiled files of their own."""
    kept = {name: value for name, value in os.environ.items() if name not in _COMPILED}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def run(case: Case, folder: Path) -> None:
    """Measure once more, in a fresh process."""
    surroundings = environment(folder)
    files = [str(folder / f"{one}.json") for one in case.given]
    if case.work not in WHOLE:
        command = [sys.executable, str(HERE / "measure.py"), case.work, *files]
        made = json.loads(subprocess.check_output(command, env=surroundings))
        case.add(made["wall_s"], made["cpu_s"], made["peak_mib"])
        return
    verb, *options = (one.format(out=folder / "out") for one in WHOLE[case.work])
    command = [sys.executable, "-m", "enginescope", verb, files[0], *options]
    start = time.perf_counter()
    nowhere, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(command, stdout=nowhere, stderr=pipe, env=surroundings) as process:
        assert process.stderr is not None
        said = process.stderr.read().decode().split("\n")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.perf_counter() - start
    if process.returncode:
        case.failure = f"failed: {(said[-3:-2] or said)[0]}"
    else:
        case.add(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def growth(small: Case, large: Case) -> float | None:
    """CPU time of ten times the layers, as a multiple."""
    if small.failure or large.failure:
        return None
    times = min(large.cpu_s) / min(small.cpu_s)
    return float(10 ** (math.log(times) / math.log(large.layers / small.layers)))


def line(case: Case, grown: float | None) -> tuple[list[str], bool]:
    """Cells of a row, and whether it keeps its limits."""
    other = case.given[1].partition("-")[0]
    most = [f"{case.most_s:g} s"] if math.isfinite(case.most_s) else []
    most += [f"{case.most_mib:g} MiB"] if math.isfinite(case.most_mib) else []
    cells = [
        f"{case.work}, whole process" if case.work in WHOLE else case.work,
        f"chain, {other}" if case.work == "align" else case.given[0].partition("-")[0],
        f"{case.layers:,}",
        case.trex,
    ]
    if case.failure:
        return [*cells, "", "", "", "", ", ".join(most), "", case.failure], False
    wall_s, cpu_s, peak_mib = map(statistics.median, (case.wall_s, case.cpu_s, case.peak_mib))
    least_s = min(case.cpu_s)
    kept = least_s <= case.most_s and peak_mib <= case.most_mib and (grown or 0) <= MOST_GROWTH
    cells += [f"{wall_s:.2f}", f"{cpu_s:.2f}", f"{least_s:.2f}", f"{peak_mib:.0f}", ", ".join(most)]
    return [*cells, f"{grown:.1f} ×" if grown else "", "" if kept else "over"], kept


def show(groups: list[tuple[Case, ...]]) -> bool:
    """Print the table as Markdown; return whether all limits are kept."""
    head = [
        "work",
        "plan",
        "layers",
        "trex 0.2.1",
        "s",
        "CPU s",
        "least",
        "MiB",
        "limit",
        "growth",
        "",
    ]
    table, fine = [head], True
    for group in groups:
        for case in group:
            last = len(group) > 1 and case is group[-1]
            cells, kept = line(case, growth(group[0], case) if last else None)
            table.append(cells)
            fine = fine and kept
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    table.insert(1, ["-" * width for width in widths])
    for cells in table:
        words = (one.ljust(width) for one, width in zip(cells, widths, strict=True))
        print(f"| {' | '.join(words)} |")
    return fine


def main() -> int:
    parser = argparse.ArgumentParser(description="What large plans cost, in one table.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], metavar="WORK")
    parser.add_argument("--huge", action="store_true", help="Also plans of 500,000 layers.")
    parser.add_argument("--write", nargs="+", default=[], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write_plans(Path(given.write[0]), given.write[1:])
        return 0
    every_case = cases(with_huge=given.huge)
    groups = [one for one in every_case if not given.only or one[0].work in given.only]
    every = [case for group in groups for case in group]
    with tempfile.TemporaryDirectory() as folder:
        # A process's peak of memory counts what its parent had: plans are made in another.
        stems = sorted({one.partition(".")[0] for case in every for one in case.given})
        subprocess.run([sys.executable, __file__, "--write", folder, *stems], check=True)
        for number in range(given.rounds):  # one after the other: what disturbs one round does all
            for case in every:
                print(f"\r{number + 1}/{given.rounds} {case.work:<8}", end="", file=sys.stderr)
                run(case, Path(folder))
    print("\r", end="", file=sys.stderr)
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    print(
        f"{machine}, load {os.getloadavg()[0]:.1f}; medians of {given.rounds}; "
        f"limit of growth {MOST_GROWTH:g} ×\n"
    )
    return 0 if show(groups) else 1


if __name__ == "__main__":
    sys.exit(main())
