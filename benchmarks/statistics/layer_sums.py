"""Profile the layers of a model again and again, and print how far their sum wanders.

``python benchmarks/statistics/layer_sums.py [MODEL.onnx …] [--runs 12] [--on ort-cpu]``. By
default the two sample models. Two figures of the same passes, each with its range over the runs:
the sum of the layers' means, and the sum of their medians with its 95 % interval.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from printed import print_table, share

import enginescope as es
from enginescope.records.run.job import StopRule, Workload
from enginescope.runner.inputs.sample_models import sample_models

HEADS = (
    "model",
    "runs",
    "iterations",
    "sum of means, ms",
    "sum of medians, ms",
    "mean width of the interval",
    "intervals that cover the middle run, %",
)


def spread(values: list[float]) -> str:
    """Return the middle, the range, and the range as a percentage of the middle."""
    low, middle, high = np.quantile(values, [0, 0.5, 1])
    return f"{middle:.4g} ({low:.4g} … {high:.4g}, {100 * (high - low) / middle:.0f} %)"


def rows(models: list[Path], on: str, runs: int) -> Iterator[str]:
    """Profile each model `runs` times and yield its row."""
    workload = Workload(stop=StopRule(iterations=20))
    for model in models:
        means, medians, intervals, iterations = [], [], [], []
        for _ in range(runs):
            view = es.bench(model, on=on, workload=workload)
            profile, found = view.run.profile, view.layer_sum
            assert profile is not None
            assert found is not None
            means.append(profile.sum_mean_ms or 0.0)
            medians.append(found.sum_ms)
            iterations.append(profile.iterations or 0)
            if found.interval is not None:
                intervals.append(found.interval)
        middle = np.median(medians)
        covers = share(one.low <= middle <= one.high for one in intervals)
        widths = [one.high - one.low for one in intervals]
        width = f"{100 * np.mean(widths) / middle:.0f} %" if widths else "none"
        name = model.parent.name if model.stem == "model" else model.stem
        cells = (name, f"{runs}", f"{int(np.median(iterations))}", spread(means), spread(medians))
        yield f"| {' | '.join(cells)} | {width} | {covers} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--on", default="ort-cpu")
    parser.add_argument("--runs", type=int, default=12)
    options = parser.parse_args()
    models = options.models or list(sample_models(Path(".cache/samples")))
    print_table(f"Sum of the layers, {options.on}", HEADS, rows(models, options.on, options.runs))


if __name__ == "__main__":
    main()
