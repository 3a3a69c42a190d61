"""Count the runs whose first timed samples are slow (``W-FIRST-RUNS``), on real models.

``python benchmarks/statistics/first_runs.py [MODEL.onnx …] [--runs 6] [--warmup-ms 200]``. By
default the two sample models on ``ort-cpu``. The loop pauses between chunks: a pause is a gap
between the end of a sample and the start of the next.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from printed import print_table

import enginescope as es
from enginescope.judge.samples import Array
from enginescope.records.run.job import WarmUp, Workload
from enginescope.runner.inputs.sample_models import sample_models

#: A longer gap between two samples, in ms, is a pause.
PAUSE_MS = 0.05
HEADS = (
    "model",
    "median, ms",
    "W-FIRST-RUNS",
    "first sample ÷ median (largest)",
    "sample after a later pause ÷ median (90th percentile)",
)


def after_pauses(values_ms: Array, start_ms: Array) -> Array:
    """Return the samples that follow a later pause, divided by the median."""
    gaps = start_ms[1:] - start_ms[:-1] - values_ms[:-1]
    following: Array = values_ms[1:][gaps > PAUSE_MS] / np.median(values_ms)
    return following


def rows(models: list[Path], on: str, runs: int, warmup_ms: float) -> Iterator[str]:
    """Measure each model `runs` times and yield its row."""
    workload = Workload(warmup=WarmUp(time_ms=warmup_ms, iterations=3, limit_ms=10 * warmup_ms))
    for model in models:
        fired, medians, firsts, later = 0, [], [], [np.empty(0)]
        for _ in range(runs):
            view = es.bench(model, on=on, workload=workload, layer_profile=False)
            samples = view.run.samples[0]
            assert samples.start_ms is not None
            fired += any(notice.code == "W-FIRST-RUNS" for notice in view.notices)
            medians.append(float(np.median(samples.values_ms)))
            firsts.append(samples.values_ms[0] / medians[-1])
            later.append(after_pauses(samples.values_ms, samples.start_ms))
        ratios = np.concatenate(later)
        name = model.parent.name if model.stem == "model" else model.stem
        after = f"{np.median(ratios):.3f} ({np.quantile(ratios, 0.9):.2f})" if ratios.size else "–"
        cells = (
            name,
            f"{np.median(medians):.4g}",
            f"{fired} of {runs}",
            f"{np.median(firsts):.3f} ({max(firsts):.2f})",
            after,
        )
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--on", default="ort-cpu")
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--warmup-ms", type=float, default=200.0)
    options = parser.parse_args()
    models = options.models or list(sample_models(Path(".cache/samples")))
    title = f"{options.on}, warm-up {options.warmup_ms:g} ms, {options.runs} runs a model"
    print_table(title, HEADS, rows(models, options.on, options.runs, options.warmup_ms))


if __name__ == "__main__":
    main()
