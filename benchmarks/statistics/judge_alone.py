"""Count wrong answers of `enginescope.judge`, with NumPy and the standard library alone.

``python benchmarks/statistics/judge_alone.py [--comparisons 1000] [--seed 71] [--live 0]``. The
first table has simulated processes (`process_kinds`) and the timing files of trtexec in
``tests/data`` and ``../shared/data``, cut into as many pieces as a comparison has processes and
dealt to both sides in random order. ``--live 20`` compares two equal callables and two equal
commands so often, and then sides of which one does 5 % more work. It needs neither ONNX Runtime nor
a store: a wheel installed with ``--no-deps`` beside NumPy is enough.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from printed import print_table, share
from process_kinds import PROCESS_KINDS, processes

from enginescope import judge
from enginescope.judge.comparison.looks import LOOKS

ROOT = Path(__file__).resolve().parents[2]
DIFFERENT = (judge.VerdictKind.FASTER, judge.VerdictKind.SLOWER)
SCATTERS_PCT = (0.3, 1.0, 2.0)
PLANTED_PCT = 2.0
#: Rounds of a comparison, and as many that may be measured again.
ROUNDS = LOOKS[-1]
#: Steps of the work of a live side: a millisecond of Python, some ten of a shell.
STEPS = {"callables": 20_000, "commands": 5_000}
LIVE_PCT = 5.0
#: Many short rounds, so that both sides of one meet the same load. Seconds, at most so many.
SHORT_ROUNDS = {"callables": (0.04, 400), "commands": (0.03, 800)}

Array = np.ndarray
Rounds = list[Array]


def recorded_traces() -> dict[str, Array]:
    """Return the compute times of the timing files at hand, in ms."""
    files = {
        path.name.split(".timing")[0]: path
        for folder in (ROOT / "tests/data", ROOT.parent / "shared/data")
        for path in sorted(folder.rglob("*.timing.json*"))
    }
    found = {}
    for name, path in sorted(files.items()):
        raw = path.read_bytes()
        rows = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
        found[name] = np.array([row["computeMs"] for row in rows])
    return found


def dealt(values: Array, rng: np.random.Generator, count: int) -> Iterator[tuple[Rounds, Rounds]]:
    """Yield both sides of comparisons of pieces of one trace."""
    pieces = np.array_split(values, 2 * ROUNDS)
    for _ in range(count):
        pairs = rng.permuted(rng.permutation(np.arange(2 * ROUNDS).reshape(-1, 2)), axis=1)
        yield tuple([pieces[at] for at in pairs[:, side]] for side in (0, 1))  # type: ignore[misc]


def simulated(
    number: int, scatter_pct: float, rng: np.random.Generator, count: int
) -> Iterator[tuple[Rounds, Rounds]]:
    """Yield both sides of comparisons of simulated processes."""
    for _ in range(count):
        a, b = processes(rng, PROCESS_KINDS[number], scatter_pct / 100, 6, ROUNDS)
        at = int(rng.integers(6))  # each of the six has samples of another kind
        yield list(a[at]), list(b[at])


def judged(a: Rounds, b: Rounds) -> judge.Answer:
    """Compare recorded rounds."""
    return judge.compare(judge.Recorded(tuple(a), "A"), judge.Recorded(tuple(b), "B"))


def row(name: str, draws: Iterator[tuple[Rounds, Rounds]], totals: dict[str, list[bool]]) -> str:
    """Return a row of the table, in Markdown, and add its comparisons to the totals."""
    false, found, rounds = [], [], []
    for a, b in draws:
        same = judged(a, b)
        false.append(same.verdict.kind in DIFFERENT)
        rounds.append(same.measured_rounds)
        slower = judged(a, [(1 + PLANTED_PCT / 100) * one for one in b])
        found.append(slower.verdict.kind is judge.VerdictKind.SLOWER)
    totals["false"] += false
    totals["found"] += found
    return f"| {name} | {len(false)} | {share(false)} | {share(found)} | {np.mean(rounds):.0f} |"


def rows(comparisons: int, seed: int) -> Iterator[str]:
    """Yield the rows of the table; the last one is of all comparisons."""
    traces = recorded_traces()
    totals: dict[str, list[bool]] = {"false": [], "found": []}
    cells = [(number, pct) for number in range(len(PROCESS_KINDS)) for pct in SCATTERS_PCT]
    parts = np.diff(np.linspace(0, comparisons, len(cells) + len(traces) + 1).round()).astype(int)
    for at, (number, pct) in enumerate(cells):
        rng = np.random.default_rng([seed, at])
        name = f"{PROCESS_KINDS[number].name}, {pct:g} %"
        yield row(name, simulated(number, pct, rng, parts[at]), totals)
    for at, (name, values) in enumerate(traces.items()):
        rng = np.random.default_rng([seed + 1, at])
        yield row(f"recorded: {name}", dealt(values, rng, parts[len(cells) + at]), totals)
    count = len(totals["false"])
    yield f"| all | {count} | {share(totals['false'])} | {share(totals['found'])} | |"


def callable_of(steps: int) -> Callable[[], object]:
    """Return a callable that does so many steps."""

    def work() -> int:
        total = 0
        for step in range(steps):
            total += step
        return total

    return work


def command_of(steps: int) -> object:
    """Return a command line that does so many steps; the shell starts in a millisecond."""
    loop = f"i=0; while [ $i -lt {steps} ]; do i=$((i+1)); done"
    return judge.command(["sh", "-c", loop], name=f"{steps} steps")


def live_row(name: str, make: Callable[[int], object], more_pct: float, count: int) -> str:
    """Return a row of the table of live comparisons, in Markdown."""
    kinds, rounds = [], []
    begin = time.monotonic()
    seconds, most = SHORT_ROUNDS[name]
    for number in range(count):
        sides = (make(STEPS[name]), make(round((1 + more_pct / 100) * STEPS[name])))
        answer = judge.compare(*sides, seconds=seconds, rounds=most, seed=number)
        kinds.append(answer.verdict.kind)
        rounds.append(answer.measured_rounds)
        how = f"{answer.ended.value}, {answer.verdict.reason.value}, {rounds[-1]} rounds"
        print(f"{name} {more_pct:g} %: {answer.pairs[0].sentence} ({how})", file=sys.stderr)
    kind = judge.VerdictKind
    columns = (kind.SLOWER, kind.FASTER, kind.SAME, kind.INCONCLUSIVE)
    cells = [kinds.count(one) for one in columns]
    spent = (time.monotonic() - begin) / count
    return (
        f"| {name} | {more_pct:g} % | {count} | {' | '.join(map(str, cells))} "
        f"| {np.mean(rounds):.0f} | {spent:.0f} |"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=1_000, help="of recorded rounds")
    parser.add_argument("--seed", type=int, default=71, help="of the recorded rounds")
    parser.add_argument("--live", type=int, default=0, help="live comparisons in each row")
    options = parser.parse_args()
    if options.comparisons:
        print_table(
            f"{options.comparisons:,} comparisons of recorded rounds",
            ("rounds", "comparisons", "A/A false, %", f"{PLANTED_PCT:g} % found", "rounds, A/A"),
            rows(options.comparisons, options.seed),
        )
    if options.live:
        heads = ("sides", "B does more", "comparisons", "slower", "faster", "same", "inconclusive")
        makers = (("callables", callable_of), ("commands", command_of))
        print_table(
            "Live comparisons",
            (*heads, "rounds", "seconds each"),
            (
                live_row(name, make, pct, options.live)
                for pct in (0.0, LIVE_PCT)
                for name, make in makers
            ),
        )


if __name__ == "__main__":
    main()
