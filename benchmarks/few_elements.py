"""Twelve single numbers: which errors pass and which honest runs fail, by the noise factor.

Prints visible errors of one number that pass, honest runs with independent noise that fail, and
honest runs that fail whose last layer accumulates in FP16, as half-precision matrix units do.

python benchmarks/few_elements.py [--seeds N] [--runs N]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.analysis.planted.kinds import KINDS, NOISE
from tests.analysis.planted.table import honest, is_visible, judged, outputs, planted
from tests.honest.runs import judged as judged_outputs

from enginescope.analysis.accuracy.output_diff import SideDiff

FACTORS = (4.0, 8.0)
ROWS = ("fp16", "bf16", "int8")
NUMBERS = 12
#: Products that a matrix unit adds exactly before it rounds the sum to FP16.
CHUNK = 16
LIMITS = frozenset({"error", "peak", "channel-error", "channel-peak"})


def with_factor(factor: float) -> Any:
    return patch("enginescope.analysis.accuracy.error_limits.NOISE_FACTOR", factor)


def print_passing(seeds: int) -> None:
    """Print how many visible errors of one number pass, and the largest of them."""
    kind = KINDS["scalars"]
    for row in ROWS:
        visible, passing = 0, [0.0]
        for seed in range(seeds):
            wrong = planted(kind, row, "one item wrong", seed)
            if wrong is None or not is_visible(kind, row, seed, wrong):
                continue
            visible += 1
            if judged("scalars", row, seed, wrong, with_noise=True).passes:
                reference = np.concatenate(outputs("scalars", seed)[1])
                error = np.abs(np.concatenate(wrong) - reference).max()
                passing.append(float(error / (NOISE[row] * reference.std())))
        print(
            f"  {row}: {len(passing) - 1} of {visible} visible errors of one number pass, "
            f"up to {max(passing):.0f} × the noise"
        )


def exceeds_limits(diff: SideDiff) -> bool:
    """Return whether an error is over its limits; other checks do not depend on the factor."""
    return any(reason.code in LIMITS for output in diff.outputs for reason in output.reasons)


def print_independent(runs: int) -> None:
    """Print how many honest runs with independent noise fail."""
    for row in ROWS:
        diffs = [
            judged("scalars", row, seed, honest("scalars", row, seed), with_noise=True)
            for seed in range(runs)
        ]
        failed, over = sum(not diff.passes for diff in diffs), sum(map(exceeds_limits, diffs))
        print(
            f"  {row}: {over} of {runs:,} honest runs with independent noise exceed a limit; "
            f"{failed - over} fail another check"
        )


def print_accumulated(runs: int, products: int) -> None:
    """Print how many honest runs fail whose sums are accumulated in FP16."""
    rng, failed = np.random.default_rng(products), 0
    for _ in range(runs):
        values = np.abs(rng.standard_normal((NUMBERS, products))).astype(np.float32)
        weights = (rng.standard_normal(products) / products**0.5).astype(np.float32)
        reference = values @ weights
        half = values.astype(np.float16).astype(np.float32) * weights.astype(np.float16)
        rounded = half.sum(1, dtype=np.float64).astype(np.float16)
        total = np.zeros(NUMBERS, np.float16)
        for begin in range(0, products, CHUNK):
            total = (total + half[:, begin : begin + CHUNK].sum(1)).astype(np.float16)
        samples = [
            [{"y": np.array([each], np.float32)} for each in side]
            for side in (reference, total, rounded)
        ]
        failed += exceeds_limits(judged_outputs(samples[0], samples[1], "fp16", samples[2]))
    print(f"  fp16: {failed} of {runs:,} honest runs fail, {products:,} products in FP16 each")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3000)
    options = parser.parse_args()
    for factor in FACTORS:
        print(f"noise factor {factor:g}")
        with with_factor(factor):
            print_passing(options.seeds)
            for products in (1024, 4096):
                print_accumulated(options.runs, products)
            print_independent(options.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
