"""``bench --on openvino`` beside OpenVINO's benchmark_app, in alternating pairs.

For each model, whose shapes are fixed, and each hint, both run so many times in turn, each in a
process of its own: the median latency under the hint ``latency``, requests a second under
``throughput``. Printed is the middle ratio of the pairs, ours ÷ theirs, with the range.

python benchmarks/openvino.py MODEL… [--pairs 10] [--seconds 3]
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

APP = "from openvino.tools.benchmark.main import main; main()"
#: What benchmark_app prints, by hint.
PRINTED = {
    "latency": re.compile(r"Median:\s+([\d.]+) (ms|us)"),
    "throughput": re.compile(r"Throughput:\s+([\d.]+) (FPS)"),
}
#: Its units in ours; a latency under a millisecond is printed in microseconds.
SCALE = {"ms": 1.0, "us": 1e-3, "FPS": 1.0}


def theirs(model: Path, hint: str, seconds: int) -> float:
    """Return benchmark_app's median latency in ms, or its requests a second."""
    command = [sys.executable, "-c", APP, "-m", str(model), "-hint", hint, "-t", str(seconds)]
    if all(one.type.tensor_type.elem_type == 1 for one in onnx.load(model).graph.input):
        command += ["-ip", "f32"]  # an input that looks like a picture is taken as bytes otherwise
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = PRINTED[hint].search(printed)
    assert found is not None, printed
    return float(found[1]) * SCALE[found[2]]


def ours(model: Path, hint: str, seconds: int, store: Path) -> float:
    """Return the same figure of ``enginescope bench``."""
    command = [sys.executable, "-m", "enginescope", "bench", str(model), "--on", "openvino"]
    command += ["--mode", hint, "--duration", f"{seconds}s", "--no-layers", "--json"]
    ended = subprocess.run(
        [*command, "--store", str(store)], capture_output=True, text=True, check=True
    )
    (run,) = json.loads(ended.stdout)["runs"]
    if hint == "latency":
        return float(run["summaries"][0]["median_ms"])
    return float(run["throughput"]["per_s"])


def compared(model: Path, hint: str, options: argparse.Namespace, store: Path) -> str:
    """Return the figures of all pairs in one line; the order of a pair alternates."""
    mine, app = [], []
    for number in range(options.pairs):
        if number % 2:
            app.append(theirs(model, hint, options.seconds))
        mine.append(ours(model, hint, options.seconds, store))
        if not number % 2:
            app.append(theirs(model, hint, options.seconds))
    ratios = sorted(a / b for a, b in zip(mine, app, strict=True))
    return (
        f"{model.stem}, {hint}: ours {statistics.median(mine):.3f}, benchmark_app "
        f"{statistics.median(app):.3f}; ratio {statistics.median(ratios):.3f} "
        f"({ratios[0]:.3f} … {ratios[-1]:.3f}), {len(ratios)} pairs"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=3, help="of each measurement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as store:
        for model in options.models:
            for hint in PRINTED:
                print(compared(model, hint, options, Path(store)), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
