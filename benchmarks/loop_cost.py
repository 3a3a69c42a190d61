"""What the measurement loop adds: enginescope against a hand-written loop, paired.

Each round runs both on the same model, each in a fresh process, in random order. The figure is the
ratio of the two medians, round by round; its median over the rounds should be within 2 % of 1.

python benchmarks/loop_cost.py [--rounds N] [MODEL.onnx …]   by default: the two sample models
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
from pathlib import Path

import enginescope as es
from enginescope.records.run.job import StopRule, WarmUp, Workload
from enginescope.runner.inputs.sample_models import sample_models

HAND = Path(__file__).with_name("hand_written_loop.py")
WARMUP = 200


def ours(model: Path, iterations: int) -> float:
    workload = Workload(
        warmup=WarmUp(time_ms=0, iterations=WARMUP), stop=StopRule(iterations=iterations)
    )
    run = es.bench(model, workload=workload, layer_profile=False, data="none")
    assert run.latency is not None
    return run.latency.median_ms


def by_hand(model: Path, iterations: int) -> float:
    command = [sys.executable, str(HAND), str(model), str(iterations), str(WARMUP)]
    return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def compare(model: Path, rounds: int) -> float:
    pilot = by_hand(model, 50)
    iterations = max(50, min(20_000, int(1_500 / pilot)))
    print(f"\n{model.name}: {iterations} iterations a side, {rounds} rounds")
    print("round   ours ms   by hand ms   ratio")
    ratios = []
    for index in range(rounds):
        sides = [ours, by_hand]
        random.Random(index).shuffle(sides)
        found = {side: side(model, iterations) for side in sides}
        ratios.append(found[ours] / found[by_hand])
        print(f"{index:5} {found[ours]:9.4f} {found[by_hand]:12.4f} {ratios[-1]:7.4f}")
    middle = statistics.median(ratios)
    print(f"median ratio {middle:.4f} (range {min(ratios):.4f} … {max(ratios):.4f})")
    return middle


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    models = options.models or sample_models(Path(".cache/samples"))
    worst = max(abs(compare(model, options.rounds) - 1) for model in models)
    verdict = "within" if worst <= 0.02 else "NOT within"
    print(f"\nlargest difference {100 * worst:.2f} %: {verdict} 2 %")
    return 0 if worst <= 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())
