"""Compare a model with itself while other processes take every core; print what is said of it.

``python benchmarks/statistics/loaded.py [--rounds 8]``. Two loops of Python run for each core, and
end with the script.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from planted_model import planted_models

import enginescope as es
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.render.verdicts.verdict_phrases import headline_sentence, why_text


@contextmanager
def every_core_taken() -> Iterator[None]:
    """Keep two processes a core busy meanwhile."""
    command = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(command) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for one in loops:
            one.kill()
            one.wait()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    rounds = parser.parse_args().rounds
    with TemporaryDirectory() as folder, every_core_taken():
        plain, _ = planted_models(Path(folder), 40)
        store = Path(folder) / "store"
        found = es.bench_interleaved(plain, plain, rounds=rounds, layer_profile=False, store=store)
    headline = found.pairs[0].headline
    print(headline_sentence(found.pairs[0]))
    print(why_text(headline) or f"decided: {headline.kind.value}")
    for notice in measured_notices(found):
        print(f"{notice.code}: {notice.message}")
    runs = [run for side in found.sides for run in side.runs]
    unstable = sum(
        any(one.evidence.get("unstable") for one in run.notices if one.code == "W-LOAD")
        for run in runs
    )
    print(f"{unstable} of {len(runs)} runs are called unstable")
    print(Counter(one.code for run in runs for one in run.notices))


if __name__ == "__main__":
    main()
