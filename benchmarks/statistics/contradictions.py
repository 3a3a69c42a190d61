"""Count pairs of comparisons of the same work that contradict each other.

``python benchmarks/statistics/contradictions.py [--pairs 400] [--live-minutes 0]``. Two comparisons
contradict each other if one says faster or slower and the other says the opposite or the same.
Simulated: processes with two states for life, which both sides take equally often, one side alone
takes, or which last for some processes in a row. Live: a model of some 15 µs and a copy of it with
one more node, compared again and again; every two comparisons in a row are a pair.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from in_rounds import DIFFERENT
from onnx import TensorProto, helper, numpy_helper
from printed import print_table

from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS
from enginescope.judge.comparison.ratio import decide, ratio_of_rounds
from enginescope.judge.comparison.run_to_run import unsettled_states
from enginescope.judge.verdict import VerdictKind
from enginescope.records.run.job import StopRule, Workload
from enginescope.services.measurement.interleaved import bench_interleaved

THRESHOLD_PCT = 1.0
GAP = 0.05
NOISE = 0.004
Draw = Callable[[np.random.Generator, int], np.ndarray]


def contradict(first: VerdictKind, second: VerdictKind) -> bool:
    """Whether two verdicts on the same work cannot both be right."""
    decided = (*DIFFERENT, VerdictKind.SAME)
    return first in decided and second in decided and first is not second


def lasting(rng: np.random.Generator, rounds: int, dwell: float) -> np.ndarray:
    """Return states, 0 or 1, of processes in order; each lasts `dwell` processes on average."""
    switches = rng.random(2 * rounds) < 1 / dwell
    states = (np.cumsum(switches) + rng.integers(2)) % 2
    return states.reshape(rounds, 2)


KINDS: dict[str, Draw] = {
    "no states": lambda _rng, rounds: np.zeros((rounds, 2)),
    "both sides, by chance": lambda rng, rounds: rng.random((rounds, 2)) < 0.5,
    "both sides, one of five": lambda rng, rounds: rng.random((rounds, 2)) < 0.2,
    "one side alone": lambda rng, rounds: np.column_stack(
        (np.zeros(rounds), rng.random(rounds) < 0.5)
    ),
    "one side alone, four of five": lambda rng, rounds: np.column_stack(
        (np.zeros(rounds), rng.random(rounds) < 0.8)
    ),
    "both sides, for ten processes": lambda rng, rounds: lasting(rng, rounds, 10),
}


def compared(medians: np.ndarray, *, sees_states: bool) -> tuple[VerdictKind, int]:
    """Return the verdict of the first look that decides, and its rounds."""
    for rounds in LOOKS:
        a, b = medians[:rounds, 0], medians[:rounds, 1]
        estimate = ratio_of_rounds(a, b, confidence=LOOK_CONFIDENCE)
        kind, _ = decide(estimate, THRESHOLD_PCT)
        is_open = sees_states and kind in DIFFERENT
        if is_open and unsettled_states((a, b), estimate.ratio, THRESHOLD_PCT) is not None:
            kind = VerdictKind.INCONCLUSIVE
        if kind is not VerdictKind.INCONCLUSIVE:
            break
    return kind, rounds


def simulated(name: str, pairs: int) -> str:
    """Return one line of the table, in Markdown."""
    cells = []
    for sees_states in (False, True):
        rng = np.random.default_rng(41)
        contradictions, rounds = 0, []
        for _ in range(pairs):
            ended = []
            for _ in range(2):
                states = KINDS[name](rng, LOOKS[-1])
                noise = NOISE * rng.standard_normal(states.shape)
                ended.append(compared(np.exp(GAP * states + noise), sees_states=sees_states))
            contradictions += contradict(ended[0][0], ended[1][0])
            rounds += [one[1] for one in ended]
        cells.append(f"{100 * contradictions / pairs:.1f} | {np.mean(rounds):.0f}")
    return f"| {name} | {' | '.join(cells)} |"


def tiny_models(folder: Path) -> tuple[Path, Path]:
    """Return a model of some 15 µs, and one with a Relu more."""
    width = 128
    weight = np.random.default_rng(5).standard_normal((width, width)).astype(np.float32)
    made = []
    for name, last in (("tiny", ()), ("tiny_relu", ("Relu",))):
        ends = ["h", *(f"h{i}" for i, _ in enumerate(last))]
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="product")]
        nodes += [
            helper.make_node(kind, [ends[i]], [ends[i + 1]], name=f"more{i}")
            for i, kind in enumerate(last)
        ]
        shapes = [
            helper.make_tensor_value_info(one, TensorProto.FLOAT, [16, width])
            for one in ("x", ends[-1])
        ]
        weights = [numpy_helper.from_array(weight, "w")]
        graph = helper.make_graph(nodes, name, [shapes[0]], [shapes[1]], weights)
        opset = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=9)
        made.append(folder / f"{name}.onnx")
        onnx.save(model, made[-1])
    return made[0], made[1]


def live(minutes: float, rounds: int) -> None:
    """Compare the tiny models again and again, and print the verdicts and the contradictions."""
    kinds: list[VerdictKind] = []
    with tempfile.TemporaryDirectory() as folder:
        models = tiny_models(Path(folder))
        until = time.monotonic() + 60 * minutes
        while time.monotonic() < until:
            found = bench_interleaved(
                *models,
                workload=Workload(stop=StopRule(duration_ms=200, precision_pct=None)),
                layer_profile=False,
                rounds=rounds,
                store=Path(folder) / "store",
            )
            headline = found.pairs[0].headline
            kinds.append(headline.kind)
            estimate = headline.estimate
            ratio = f"{estimate.ratio:.4f}, {estimate.n_a} rounds" if estimate else "no ratio"
            print(f"{headline.a} ms, {headline.b} ms: {headline.kind.value} "
                  f"({headline.reason.value}), {ratio}", flush=True)  # fmt: skip
    pairs = list(pairwise(kinds))
    print(f"\n{len(pairs)} pairs, {sum(contradict(*pair) for pair in pairs)} contradict each other")


def main() -> None:
    """Print the table, and what live pairs say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=400, help="simulated, in each row")
    parser.add_argument("--live-minutes", type=float, default=0.0)
    parser.add_argument("--rounds", type=int, default=LOOKS[-1], help="of a live comparison")
    options = parser.parse_args()
    if options.pairs:
        print_table(
            f"{options.pairs} pairs of comparisons; states {100 * GAP:g} % apart",
            ("states", "contradict, % (no rule)", "rounds", "contradict, %", "rounds"),
            (simulated(name, options.pairs) for name in KINDS),
        )
    if options.live_minutes:
        live(options.live_minutes, options.rounds)


if __name__ == "__main__":
    main()
