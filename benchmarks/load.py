"""Service times of ``enginescope load`` at half the closed loop's rate, with the closed loop's.

A pair is one process: the warm-up is a closed loop, and the load test follows it at once, so that
a noisy machine disturbs both alike. It prints the median times of both, the median of the ratios of
all pairs with a 95 % interval, and the lateness of the generator.

python benchmarks/load.py [MODEL…] [--on ort-cpu?intra_op_num_threads=1] [--pairs 30] [--seconds 2]

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
from enginescope.store.archive import Store


def bootstrap_interval(ratios: list[float]) -> tuple[float, float]:
    """Return a 95 % interval of the median of `ratios`, by the percentile bootstrap."""
    draw = np.random.default_rng(0)
    medians = np.median(draw.choice(ratios, (10_000, len(ratios))), axis=1)
    low, high = np.quantile(medians, [0.025, 0.975])
    return float(low), float(high)


def pair(model: Path, on: str, seconds: float, store: Path) -> tuple[float, float, float]:
    """Return the medians of closed loop and service time, and p99 of the lateness; all in ms."""
    time_ms = 1e3 * seconds  # of the closed loop, the second half counts
    warm = es.WarmUp(time_ms=2 * time_ms, iterations=0, limit_ms=2 * time_ms)
    workload = es.Workload(warmup=warm)
    (trial,) = es.load(model, on=on, duration_ms=time_ms, workload=workload, store=store).trials
    closed_ms = Store(store).load(trial.run).load.closed_ms
    return closed_ms, trial.service.median_ms, trial.lateness.p99_ms


def main() -> int:
    """Measure and print; exit with 1 if a median ratio is not within 2 %."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--on", default="ort-cpu?intra_op_num_threads=1")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    is_within = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in options.models or sample_models(folder):
            pairs = [
                pair(model, options.on, options.seconds, folder / "store")
                for _ in range(options.pairs)
            ]
            closed, service, late = (list(column) for column in zip(*pairs, strict=True))
            ratios = [under / alone for alone, under in zip(closed, service, strict=True)]
            low, high = bootstrap_interval(ratios)
            ratio = float(np.median(ratios))
            is_within &= abs(ratio - 1) <= 0.02
            print(
                f"{model.name}: closed loop {np.median(closed):.4f} ms, service time "
                f"{np.median(service):.4f} ms, ratio {ratio:.4f} ({low:.4f} … {high:.4f}), each "
                f"{min(ratios):.3f} … {max(ratios):.3f}; lateness p99 {np.median(late):.4f} ms",
                flush=True,
            )
    return int(not is_within)


if __name__ == "__main__":
    sys.exit(main())
