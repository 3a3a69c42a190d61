"""Requests of ONNX Runtime from C, through I/O binding from Python, and through `run()`, paired.

Each round runs one process of each, in an order that changes. It prints the medians of the medians
and of the ratios to I/O binding, round by round; then the lateness of ``load`` at 20,000 queries a
second. Ends with 1 if native ÷ I/O binding is above 0.70 on one node, or not within 2 % of 1 on a
model over 1 ms; or if the 99th percentile of the lateness is 20 µs or more.

python benchmarks/ort_loop.py [MODEL.onnx …] [--rounds 9] [--seconds 1]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import enginescope as es
from enginescope.records.run.job import Mode, StopRule, WarmUp, Workload
from enginescope.runner.inputs.sample_models import sample_models

ON = "ort-cpu?intra_op_num_threads=1"
WAYS = {
    "native": Mode(kind="latency", loop="native"),
    "bound": Mode(kind="latency", loop="python"),
    "run()": Mode(kind="latency", call="arrays"),
}
#: Most that native ÷ bound may be on one node, and how far from 1 it may be over 1 ms.
ONE_NODE, LONG, LONG_MS = 0.70, 0.02, 1.0
RATE_PER_S, MOST_LATE_MS = 20_000.0, 0.020


def chain(path: Path, nodes: int) -> Path:
    """Write a model of so many small nodes, one after another."""
    import onnx
    from onnx import TensorProto, helper

    names = ["x", *(f"t{index}" for index in range(1, nodes)), "y"]
    made = [
        helper.make_node("Neg" if index % 2 else "Relu", [names[index]], [names[index + 1]])
        for index in range(nodes)
    ]
    ends = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8]) for name in "xy")
    graph = helper.make_graph(made, path.stem, *([end] for end in ends))
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def median_ms(model: Path, mode: Mode, seconds: float) -> float:
    """Measure in a process of its own."""
    workload = Workload(
        warmup=WarmUp(time_ms=200, limit_ms=200),
        stop=StopRule(duration_ms=1e3 * seconds),
        mode=mode,
    )
    run = es.bench(model, on=ON, workload=workload, layer_profile=False, data="none")
    assert run.latency is not None
    return run.latency.median_ms


def compare(model: Path, rounds: int, seconds: float) -> bool:
    """Print the medians; return whether native ÷ bound is within its limit."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(rounds):
        order = list(WAYS) if number % 2 else list(reversed(WAYS))
        for way in order:
            found[way].append(median_ms(model, WAYS[way], seconds))
    medians = {way: statistics.median(times) for way, times in found.items()}
    text = "  ".join(f"{way} {1e3 * ms:9.3f} µs" for way, ms in medians.items())
    for way in ("native", "run()"):
        pairs = zip(found[way], found["bound"], strict=True)
        ratios = sorted(one / other for one, other in pairs)
        text += f"  {way} × {statistics.median(ratios):.3f} ({ratios[0]:.3f} … {ratios[-1]:.3f})"
        if way == "native":
            ratio = statistics.median(ratios)
    print(f"{model.stem:20} {text}", flush=True)
    if medians["bound"] >= LONG_MS:
        return abs(ratio - 1) <= LONG
    return ratio <= ONE_NODE or model.stem != "nodes_1"


def lateness_ms(model: Path, seconds: float) -> float:
    """Return the 99th percentile of the generator's lateness."""
    (trial,) = es.load(model, on=ON, rate=RATE_PER_S, duration_ms=1e3 * seconds).trials
    print(
        f"{model.stem:20} load at {RATE_PER_S:,.0f}/s: lateness p99 "
        f"{1e3 * trial.lateness.p99_ms:.3f} µs, service {1e3 * trial.service.median_ms:.3f} µs"
    )
    return trial.lateness.p99_ms


def main() -> int:
    """Measure and print; return 1 if a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = [chain(folder / f"nodes_{nodes}.onnx", nodes) for nodes in (1, 50)]
        models = [*small, *(given.models or sample_models(folder))]
        within = [compare(model, given.rounds, given.seconds) for model in models]
        late_ms = lateness_ms(small[1], given.seconds)
    return 0 if all(within) and late_ms < MOST_LATE_MS else 1


if __name__ == "__main__":
    sys.exit(main())
