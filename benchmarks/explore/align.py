"""Time and memory of aligning two large plans of one network.

Plan A: a residual network of 72 working layers, end to end. Plan B: the same in FP16, with 11 of
the 16 additions of each copy fused into the convolution before. Once B has the names of A, once
every name of B is another, so that nothing but shapes and order is left.

python benchmarks/explore/align.py [--rounds N] [--sizes ACTIVE …]
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import statistics
import time
import tracemalloc

from synthetic_plans import FP16, Raw, chain

from enginescope.analysis.plan_comparison.alignment import align
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import Alignment, Plan

ACTIVE_OF_COPY, LAYERS_OF_COPY, FUSED_OF_COPY = 72, 103, 11


def plan(raw: Raw, name: str) -> Plan:
    return parse_plan(json.dumps(raw).encode(), name)[0]


def fused(raw: Raw) -> Raw:
    """FP16, and the first additions of each copy in the convolution that they add to."""
    layers: list[Raw] = []
    writer: dict[str, Raw] = {}
    done: dict[str, int] = {}
    for one in json.loads(json.dumps(raw["Layers"])):
        copy = one["Name"].split("/")[0]
        for each in (*one["Inputs"], *one["Outputs"]):
            each["Format/Datatype"] = FP16
        if one.get("ParameterType") == "PointWise" and done.get(copy, 0) < FUSED_OF_COPY:
            done[copy] = done.get(copy, 0) + 1
            before = writer[one["Inputs"][0]["Name"]]
            before["Name"] += f" + {one['Name']}"
            before["Inputs"] += one["Inputs"][1:]
            before["Outputs"] = one["Outputs"]
            layers.remove(before)
            layers.append(before)  # it now needs what the shortcut gives
        else:
            layers.append(one)
        writer.update((each["Name"], layers[-1]) for each in one["Outputs"])
    return {**raw, "Layers": layers}


def renamed(raw: Raw) -> Raw:
    """Every layer and tensor under a name that tells nothing."""

    def other(name: str) -> str:
        return hashlib.sha256(name.encode()).hexdigest()[:12]

    raw = json.loads(json.dumps(raw))
    for one in raw["Layers"]:
        one["Name"] = other(one["Name"])
        for each in (*one["Inputs"], *one["Outputs"]):
            each["Name"] = other(each["Name"])
    return {**raw, "Bindings": [other(name) for name in raw["Bindings"]]}


def measured(a: Plan, b: Plan, rounds: int) -> tuple[float, float, float, Alignment]:
    """Median seconds on the clock and of CPU, and the peak of MiB in a slower round of its own."""
    seconds, busy = [], []
    for _ in range(rounds):
        gc.collect()
        start, cpu = time.perf_counter(), time.process_time()
        found = align(a, b)
        seconds.append(time.perf_counter() - start)
        busy.append(time.process_time() - cpu)
    tracemalloc.start()
    align(a, b)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return statistics.median(seconds), statistics.median(busy), peak / 2**20, found


def sides(size: int, names: str) -> tuple[Plan, Plan, dict[str, str]]:
    """Both plans, and the true name of each layer of B."""
    raw = chain(size // ACTIVE_OF_COPY * LAYERS_OF_COPY)
    true = fused(raw)
    given = renamed(true) if names == "other" else true
    both = zip(given["Layers"], true["Layers"], strict=True)
    return plan(raw, "a"), plan(given, "b"), {one["Name"]: its["Name"] for one, its in both}


def by_sense(found: Alignment, truth: dict[str, str]) -> float:
    """Share of the pairs whose convolutions are the same; `truth`: name in B -> name in A."""
    names_a = {one.index: one.name for one in found.plan_a.layers}
    names_b = {one.index: one.name for one in found.plan_b.layers}
    right = 0
    for pair in found.pairs:
        whole = " + ".join(truth[names_b[one]] for one in pair.b).split(" + ")
        right += any(part in whole for one in pair.a for part in names_a[one].split(" + "))
    return right / len(found.pairs) if found.pairs else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the alignment of two large plans.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="*", default=[3_528, 35_280])
    given = parser.parse_args()
    print("A       B       names     s   CPU s     MiB   pairs  groups only A only B  same work")
    for size in given.sizes:
        for label in ("kept", "other"):
            a, b, truth = sides(size, label)
            seconds, busy, mib, found = measured(a, b, given.rounds)
            groups = sum(one.is_group for one in found.pairs)
            print(
                f"{len(a.active_layers):<8,}{len(b.active_layers):<8,}{label:<6}{seconds:6.3f}"
                f"{busy:8.3f}{mib:8.1f}{len(found.pairs):8,}{groups:8,}{len(found.only_a):7,}"
                f"{len(found.only_b):7,}{100 * by_sense(found, truth):9.1f} %"
            )


if __name__ == "__main__":
    main()
