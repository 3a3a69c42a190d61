"""How often the rungs of ``enginescope ladder`` add up to the whole within their intervals.

Each ladder is measured as a user does it. It prints, for each model and way up, the sum of the
steps, the whole, and in how many ladders both agree.

python benchmarks/ladder.py [MODEL…] [--on ort-cpu] [--ladders 20] [--rounds 8]

Without models, the two samples are used.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

import enginescope as es
from enginescope.runner.inputs.sample_models import sample_models

#: Share of ladders in which sum and whole may disagree: their intervals have 95 %.
MOST_WRONG = 0.05


def main() -> int:
    """Measure and print; exit with 1 if more ladders disagree than the intervals allow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--on", default="ort-cpu")
    parser.add_argument("--ladders", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    wrong = every = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in options.models or sample_models(folder):
            ways: dict[str, list[tuple[float, float, bool | None]]] = {}
            for _ in range(options.ladders):
                ladder = es.ladder(
                    model, on=options.on, rounds=options.rounds, store=folder / "store"
                )
                for way in ladder.sums:
                    figures = (way.steps_ms, way.whole.value_ms, way.is_consistent)
                    ways.setdefault(way.whole.to.value, []).append(figures)
            for way_up, sums in ways.items():
                steps, wholes, agree = zip(*sums, strict=True)
                known = [one for one in agree if one is not None]
                wrong, every = wrong + known.count(False), every + len(known)
                print(
                    f"{model.name}, to {way_up}: steps {np.median(steps):+.4f} ms, whole "
                    f"{np.median(wholes):+.4f} ms, agree in {known.count(True)} of {len(known)}",
                    flush=True,
                )
    print(f"disagree: {wrong} of {every}")
    return int(wrong > max(1, MOST_WRONG * every))


if __name__ == "__main__":
    sys.exit(main())
