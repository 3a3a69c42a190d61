"""Service times of ``enginescope load`` at half the closed loop's rate, with the closed loop's.

Each pair runs the verb ``bench`` and then ``load`` without a rate on the same model, in an order that
alternates, so that a noisy machine disturbs both alike. It prints the median service time of both,
their ratio with a 95 % interval of its median over the pairs, and the generator's lateness.

python benchmarks/load.py [MODEL…] [--on ort-cpu?intra_op_num_threads=1] [--pairs 10] [--seconds 5]

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


def bootstrap_interval(ratios: list[float]) -> tuple[float, float]:
    """Return a 95 % interval of the median of `ratios`, by the percentile bootstrap."""
    draw = np.random.default_rng(0)
    medians = np.median(draw.choice(ratios, (10_000, len(ratios))), axis=1)
    low, high = np.quantile(medians, [0.025, 0.975])
    return float(low), float(high)


def pair(model: Path, on: str, seconds: float, *, load_first: bool) -> tuple[float, float, float]:
    """Return the medians of closed loop and service time, and p99 of the lateness; all in ms."""
    stop = es.StopRule(duration_ms=1e3 * seconds, precision_pct=None)

    def closed() -> float:
        run = es.bench(model, on=on, workload=es.Workload(stop=stop), layer_profile=False)
        return run.latency.median_ms

    def loaded() -> tuple[float, float]:
        (trial,) = es.load(model, on=on, duration_ms=1e3 * seconds).trials
        return trial.service.median_ms, trial.lateness.p99_ms

    if load_first:
        service, late = loaded()
        return closed(), service, late
    alone = closed()
    return alone, *loaded()


def main() -> int:
    """Measure and print; exit with 1 if a median ratio is not within 2 %."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--on", default="ort-cpu?intra_op_num_threads=1")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    is_within = True
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models or sample_models(Path(folder)):
            found = [
                pair(model, options.on, options.seconds, load_first=bool(number % 2))
                for number in range(options.pairs)
            ]
            closed, service, late = (list(column) for column in zip(*found, strict=True))
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
