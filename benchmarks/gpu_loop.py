"""Throughput and GPU compute time beside trtexec's, or beside a hand-written loop's, paired.

python benchmarks/gpu_loop.py [MODEL.onnx | ENGINE ...] [--pairs N] [--seconds S] [--on trt:fp16?…]

Where a trtexec binary is on PATH it is the other side, else ``bare_gpu_loop.py``. Each pair is one
run of either, one after the other, in alternating order, on the same engine: one stream, spinning
waits, no copies, with a CUDA graph and without.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from enginescope.analysis.runs.run_view import RunView
from enginescope.backends.registry import load_backend
from enginescope.records.run.job import Mode, StopRule, WarmUp, Workload
from enginescope.records.run.run import OutcomeKind
from enginescope.runner.inputs.sample_models import sample_models
from enginescope.runner.jobs import ENGINE_SUFFIXES, make_jobs
from enginescope.runner.session import build_engines, run_jobs

BARE = Path(__file__).with_name("bare_gpu_loop.py")
Figures = tuple[float, float]  # queries/s, median GPU compute ms


def ours(engine: Path, seconds: float, *, graph: bool) -> Figures:
    """Measure with enginescope."""
    workload = Workload(
        warmup=WarmUp(time_ms=200, limit_ms=200),
        stop=StopRule(duration_ms=seconds * 1e3),
        mode=Mode(kind="throughput", in_flight=2, cuda_graph=graph, transfers=False),
    )
    (job,) = make_jobs([engine], ["trt"], workload, layer_profile=False, data="none")
    (run,) = run_jobs([job], lambda _: None)
    view = RunView(run)
    if run.outcome.kind is not OutcomeKind.OK or view.throughput is None:
        sys.exit(f"{engine}: {run.outcome.message}")
    compute = view.summary("gpu_compute")
    assert compute is not None
    items = run.job.workload.batch or 1 if view.throughput.unit == "items" else 1
    return view.throughput.per_s / items, compute.median_ms


def of_trtexec(binary: str, engine: Path, seconds: float, *, graph: bool) -> Figures | None:
    """Measure with a trtexec of up to TensorRT 10; ``None`` if it died."""
    flags = ["--noDataTransfers", "--useSpinWait", f"--duration={seconds:g}", "--warmUp=200"]
    flags += ["--useCudaGraph"] if graph else []
    command = [binary, f"--loadEngine={engine}", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    throughput = re.search(r"Throughput: (\S+) qps", done.stdout)
    compute = re.search(r"GPU Compute Time:.*median = (\S+) ms", done.stdout)
    if throughput is None or compute is None:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        print(f"trtexec ended with {done.returncode}: {''.join(last)}", flush=True)
        return None
    return float(throughput[1]), float(compute[1])


def of_bare_loop(engine: Path, seconds: float, *, graph: bool) -> Figures:
    """Measure with the hand-written loop."""
    command = [sys.executable, str(BARE), str(engine), str(seconds), str(int(graph))]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(printed[0]), float(printed[1])


def compare(engine: Path, pairs: int, seconds: float, *, graph: bool) -> None:
    """Print the medians of both sides and of the paired ratios."""
    binary = shutil.which("trtexec")
    name = "trtexec" if binary else "bare loop"
    rows = []
    for number in range(pairs):
        sides = ["ours", "theirs"] if number % 2 == 0 else ["theirs", "ours"]
        found: dict[str, Figures | None] = {}
        for side in sides:
            if side == "ours":
                found[side] = ours(engine, seconds, graph=graph)
            elif binary:
                found[side] = of_trtexec(binary, engine, seconds, graph=graph)
            else:
                found[side] = of_bare_loop(engine, seconds, graph=graph)
        if found["ours"] and found["theirs"]:
            rows.append((*found["ours"], *found["theirs"]))
    if not rows:
        print(f"{engine.stem}: {name} gave no figures in {pairs} pairs", flush=True)
        return
    medians = [statistics.median(column) for column in zip(*rows, strict=True)]
    rates = [row[0] / row[2] for row in rows]
    rate = statistics.median(rates)
    compute = statistics.median(row[1] / row[3] for row in rows)
    print(
        f"{engine.stem:24} {'graph' if graph else 'eager':5}  "
        f"enginescope {medians[0]:10,.1f}/s {medians[1]:.6f} ms   "
        f"{name} {medians[2]:10,.1f}/s {medians[3]:.6f} ms   "
        f"throughput × {rate:.4f} ({min(rates):.4f} … {max(rates):.4f})  compute × {compute:.4f}  "
        f"{len(rows)} of {pairs} pairs",
        flush=True,
    )


def engine_of(model: Path, backend: str, cache: Path) -> Path:
    """Return an engine for a model; an engine stays as it is."""
    if model.suffix.lower() in ENGINE_SUFFIXES:
        return model
    jobs = make_jobs([model], [backend], Workload(), data="none", engine_cache=cache)
    (run,) = build_engines(jobs, lambda _: None)
    if run.build is None:
        sys.exit(f"{model}: {run.outcome.message}")
    return Path(run.build.engine)


def main() -> None:
    """Compare every model given, or the bundled ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--on", default="trt:fp16")
    parser.add_argument("--cache", type=Path, help="engines built before")
    parser.add_argument("--graph", choices=["on", "off", "both"], default="both")
    given = parser.parse_args()
    print(f"on {load_backend('trt').availability().detail}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        models = given.models or sample_models(Path(folder) / "models")
        for model in models:
            engine = engine_of(model, given.on, given.cache or Path(folder) / "engines")
            for graph in {"on": [True], "off": [False], "both": [True, False]}[given.graph]:
                compare(engine, given.pairs, given.seconds, graph=graph)


if __name__ == "__main__":
    main()
