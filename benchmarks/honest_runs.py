"""Which honest runs of real models the comparison of outputs fails.

Runs eleven models at all optimization levels, with one and two threads, in FP16, with weights in
BF16, and in INT8. A run in INT8 is honest only if it keeps the figures of the model's task.

python benchmarks/honest_runs.py [--only NAME] [--without-noise]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.real_models import MODELS
from tests.honest.models import RealModel
from tests.honest.runs import honest_runs, judged, rounded_runs, run


def print_model(model: RealModel, folder: Path, *, without_noise: bool) -> tuple[int, int]:
    """Print a row of the table; return how many honest runs there are, and how many fail."""
    reference = run(model.path(folder), model.feeds())
    rounded = {} if without_noise else rounded_runs(model, folder)
    cells: dict[str, list[str]] = {row: [] for row in ("fp32", "fp16", "bf16", "int8")}
    honest, failed = 0, 0
    for one in honest_runs(model, folder):
        verdict = judged(reference, one.outputs, one.row, rounded.get(one.row))
        honest += one.holds
        failed += one.holds and not verdict.passes
        codes = {reason.code for output in verdict.outputs for reason in output.reasons}
        said = "passes" if verdict.passes else f"**{', '.join(sorted(codes))}**"
        if not one.holds:
            said = f"({'passes' if verdict.passes else 'fails'}; loses its figures)"
        cells[one.row].append(f"{one.name}: {said}")
    levels = [cell for cell in cells["fp32"] if not cell.endswith("passes")]
    cells["fp32"] = levels or [f"all {len(cells['fp32'])} pass"]
    print(
        f"| {model.name} | " + " | ".join("<br>".join(one) or "–" for one in cells.values()) + " |"
    )
    return honest, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a model's name")
    parser.add_argument(
        "--without-noise", action="store_true", help="the reference is an engine or stored outputs"
    )
    asked = parser.parse_args()
    print(
        "| model | fp32: optimization levels, threads | fp16 | bf16 | int8 |\n|---|---|---|---|---|"
    )
    sums = [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS.values():
            if asked.only in model.name:
                counts = print_model(model, Path(folder), without_noise=asked.without_noise)
                sums = [a + b for a, b in zip(sums, counts, strict=True)]
    print(f"\n{sums[0]} honest runs, {sums[1]} fail")
    return int(100 * sums[1] > sums[0])


if __name__ == "__main__":
    sys.exit(main())
