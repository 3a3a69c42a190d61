"""What the comparison of outputs lets pass, and which honest runs it fails.

Plants 20 errors in outputs of 18 kinds, in the precision of four rows, on top of honest noise. What
a user would see of each error is decided by task code that does not know the comparison's limits.

python benchmarks/planted_errors.py [--seeds N] [--honest N] [--without-noise]
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.analysis.planted.errors import ERRORS
from tests.analysis.planted.kinds import KINDS
from tests.analysis.planted.table import ROWS, Case, cases, honest_failures

#: A visible error that fails, one that passes, and one that honest noise hides.
FOUND, PASSES, HIDDEN, NONE = "●", "**○**", "·", "–"


def symbol(every: list[Case]) -> str:
    """Return what becomes of one error in one kind and row, over the seeds."""
    if any(case.is_false_pass for case in every):
        return PASSES
    if not every:
        return NONE
    return FOUND if any(case.is_visible for case in every) else HIDDEN


def print_table(headers: list[str], lines: list[list[str]]) -> None:
    print("| " + " | ".join(headers) + " |")
    print("|" + "---|" * len(headers))
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def print_errors(seeds: int, *, with_noise: bool) -> int:
    judged: dict[tuple[str, str, str], list[Case]] = defaultdict(list)
    for kind in KINDS.values():
        for row in ROWS:
            for seed in range(seeds):
                for case in cases(kind, row, seed, with_noise=with_noise):
                    judged[kind.name, row, case.error].append(case)
    lines = []
    for error in ERRORS:
        cells = ["".join(symbol(judged[kind, row, error]) for row in ROWS) for kind in KINDS]
        lines.append([error, *cells])
    print(f"Rows, left to right: {', '.join(ROWS)}. {FOUND} fails, {PASSES} passes, ", end="")
    print(f"{HIDDEN} honest noise hides it, {NONE} the kind has no such error.\n")
    print_table(["planted error", *KINDS], lines)
    every = [case for each in judged.values() for case in each]
    visible = sum(case.is_visible for case in every)
    wrong = sum(case.is_false_pass for case in every)
    print(f"{len(every):,} cases, {visible:,} visible, {wrong:,} of them pass\n")
    return wrong


def print_honest(runs: int, *, with_noise: bool) -> int:
    lines, failed = [], 0
    for kind in KINDS.values():
        cells = []
        for row in ROWS:
            failures = honest_failures(kind, row, runs, with_noise=with_noise)
            failed += len(failures)
            reasons = sorted({code for _, each in failures for code in each})
            cells.append(f"{len(failures)} ({', '.join(reasons)})" if failures else "0")
        lines.append([kind.name, *cells])
    print(f"Honest runs that fail, of {runs} each:\n")
    print_table(["kind", *ROWS], lines)
    print(f"{failed:,} of {runs * len(KINDS) * len(ROWS):,} honest runs fail")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--honest", type=int, default=50)
    parser.add_argument(
        "--without-noise", action="store_true", help="the reference is an engine or stored outputs"
    )
    asked = parser.parse_args()
    with_noise = not asked.without_noise
    wrong = print_errors(asked.seeds, with_noise=with_noise)
    failed = print_honest(asked.honest, with_noise=with_noise)
    return int(wrong > 0 or 100 * failed > asked.honest * len(KINDS) * len(ROWS))


if __name__ == "__main__":
    sys.exit(main())
