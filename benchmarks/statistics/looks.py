"""Print what other looks would have cost and seen.

``python benchmarks/statistics/looks.py [--comparisons 2000]``. Each schedule of looks compares the
same simulated rounds. False verdicts are counted where processes scatter by far more than the
threshold, which is where most are. Those that the product uses are the first. Then: what more
rounds (``bench --compare --rounds``) find where processes scatter by 2 %, however they do.
"""

from __future__ import annotations

import argparse

import numpy as np
from in_rounds import DIFFERENT, Ended, Schedule, compare_in_rounds
from process_kinds import PROCESS_KINDS, ProcessKind

from enginescope.judge.comparison.looks import LOOKS, looks_up_to
from enginescope.judge.verdict import VerdictKind

SCHEDULES = (
    Schedule(),
    Schedule((8, 12, 20, 30), 0.99),
    Schedule((7, 10, 14, 20), 0.984),
    Schedule((7, 10, 14, 20, 28), 0.984),
    Schedule((8, 12, 20, 30), 0.984),
    Schedule((8, 12, 18, 27, 40), 0.99),
)
NAMES = ("normal", "a tenth disturbed", "Student t, 2 degrees")
ROUNDS = (30, 45, 60, 90, 120)
SCATTERS = (0.2, 0.5)


def row(schedule: Schedule, kind: ProcessKind, comparisons: int) -> str:
    """Return one line of the table, in Markdown."""
    levels = kind.levels(np.random.default_rng(29), comparisons, max(schedule.looks))
    wide, usual = np.exp(0.2 * levels), np.exp(0.02 * levels)
    cells = [
        _share(_ended(wide, 0.0, schedule), *DIFFERENT),
        *(_share(_ended(usual, pct, schedule), VerdictKind.SLOWER) for pct in (2.0, 3.0)),
        _share(_ended(np.exp(0.01 * levels), 0.0, schedule), VerdictKind.SAME),
        f"{np.mean([one.rounds for one in _ended(usual, 3.0, schedule)]):.0f}",
    ]
    return f"| {schedule} | {kind.name} | {' | '.join(cells)} |"


def early_row(kind: ProcessKind, comparisons: int) -> str:
    """Return how often equal sides seem obviously different before the first look, in Markdown."""
    levels = kind.levels(np.random.default_rng(37), comparisons, LOOKS[0])
    once = Schedule(LOOKS[:1])
    times = (np.exp(np.clip(scatter * levels, -9, 9)) for scatter in SCATTERS)
    ended = (_ended(values, 0.0, once) for values in times)
    cells = (f"{100 * np.mean([one.rounds < LOOKS[0] for one in row]):.2f}" for row in ended)
    return f"| {kind.name} | {' | '.join(cells)} |"


def budget_row(kind: ProcessKind, slower_pct: float, comparisons: int) -> str:
    """Return how often a slowdown is found with more and more rounds, in Markdown."""
    draw = np.random.default_rng(31)
    levels = kind.levels(draw, comparisons, max(ROUNDS))
    a_first = draw.random((comparisons, max(ROUNDS), 1)) < 0.5
    usual = np.exp(0.02 * np.where(a_first, levels, levels[:, :, ::-1]))
    schedules = [Schedule(looks_up_to(rounds)) for rounds in ROUNDS]
    cells = [_share(_ended(usual, slower_pct, one), VerdictKind.SLOWER) for one in schedules]
    return f"| {kind.name} | {slower_pct:g} % | {' | '.join(cells)} |"


def _ended(values: np.ndarray, slower_pct: float, schedule: Schedule) -> list[Ended]:
    factor = 1 + slower_pct / 100
    return [compare_in_rounds(one[:, 0], factor * one[:, 1], schedule) for one in values]


def _share(ended: list[Ended], *kinds: VerdictKind) -> str:
    return f"{100 * np.mean([one.kind in kinds for one in ended]):.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=2_000, help="in each cell")
    count = parser.parse_args().comparisons
    heads = (
        "looks",
        "processes",
        "A/A false, %; scatter 20 %",
        "2 % found; scatter 2 %",
        "3 % found; scatter 2 %",
        "same; scatter 1 %",
        "rounds for 3 %",
    )
    print(f"| {' | '.join(heads)} |")
    print("|---" * len(heads) + "|")
    for schedule in SCHEDULES:
        for kind in PROCESS_KINDS:
            if kind.name in NAMES:
                print(row(schedule, kind, count), flush=True)
    print("\nEqual sides that seem obviously different after 3 to 7 rounds, %, by scatter\n")
    print(f"| processes | {' | '.join(f'{scatter:.0%}' for scatter in SCATTERS)} |")
    print("|---" * (1 + len(SCATTERS)) + "|")
    for kind in PROCESS_KINDS:
        if kind.name in NAMES:
            print(early_row(kind, 2 * count), flush=True)
    print("\nProcesses scatter by 2 %, at most so many rounds\n")
    print(f"| processes | slower by | {' | '.join(map(str, ROUNDS))} |")
    print("|---" * (2 + len(ROUNDS)) + "|")
    for kind in PROCESS_KINDS:
        for slower_pct in (2.0, 3.0):
            print(budget_row(kind, slower_pct, count), flush=True)


if __name__ == "__main__":
    main()
