"""Print the tables behind docs/contributing/statistics-evidence.md, one script after the other.

``python benchmarks/statistics/tables.py [--full]``. Without ``--full`` each is of few series or
comparisons, for a look; live processes are measured for two minutes, or for an hour with it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
#: Script, what it is given for a look, what for the record.
SCRIPTS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("coverage.py", ("--quick",), ()),
    ("modes.py", ("--series", "100"), ("--series", "400")),
    ("contradictions.py", ("--pairs", "50"), ("--pairs", "400", "--live-minutes", "60")),
    ("verdicts.py", ("--comparisons", "30"), ("--comparisons", "200")),
    ("judge_alone.py", ("--comparisons", "60"), ("--comparisons", "1000", "--live", "20")),
    ("referee.py", ("--sessions", "5"), ("--sessions", "200")),
    ("few_processes.py", ("--comparisons", "60"), ("--comparisons", "2000")),
    ("tails.py", ("--gates", "6"), ("--gates", "100")),
    ("sessions.py", ("--gates", "4"), ("--gates", "40")),
    ("looks.py", ("--comparisons", "100"), ("--comparisons", "1000")),
    ("early_ends.py", ("--comparisons", "100"), ("--comparisons", "1000")),
    ("disturbed.py", ("--comparisons", "20"), ("--comparisons", "200")),
    ("recorded.py", ("--comparisons", "30"), ("--comparisons", "200")),
    ("lottery.py", ("--sets", "100"), ("--sets", "1000")),
    ("self_test.py", ("--sets", "20"), ("--sets", "200")),
    ("tune.py", ("--searches", "100"), ("--searches", "1000")),
    ("live.py", ("--minutes", "2"), ("--minutes", "60")),
    ("loaded.py", (), ()),
)


def main() -> None:
    """Run the scripts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="as recorded; takes about two hours")
    full = parser.parse_args().full
    for name, quick, record in SCRIPTS:
        arguments = record if full else quick
        print(f"\n{' '.join((name, *arguments))}\n", flush=True)
        subprocess.run([sys.executable, str(HERE / name), *arguments], check=True)


if __name__ == "__main__":
    main()
