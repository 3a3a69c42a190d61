"""Plans to pictures: the graph, its layout and its SVG, each step in milliseconds of CPU time.

CPU time, because other load on the machine counts in any other, and nothing here waits. The best of
three for each plan, from a plan that is already read; and what ten times the layers
cost. Without plans given: synthetic ones of about 100, 5,000 and 50,000 layers, and before them the
whole process ``enginescope explore --svg`` for a plan of 73 layers, by each layout, as the median
of five.

python benchmarks/explore/graph.py [PLAN.graph.json …]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import synthetic_plans

from enginescope.analysis.graph.plan_graph import plan_graph
from enginescope.analysis.layers.layer_table import attribute
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.plan.plan import Attribution
from enginescope.render.graph.write.svg import draw, svg

SIZES = (100, 5_047, 50_058)
T = TypeVar("T")


def best_of(work: Callable[[], T], rounds: int = 3) -> tuple[float, T]:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        made = work()
        times.append(1e3 * (time.process_time() - start))
    return min(times), made


def measure(name: str, data: bytes, profile: bytes | None) -> float:
    plan, _ = parse_plan(data, name)
    joined: Attribution | None = None
    if profile is not None:
        joined = attribute(plan, parse_profile(profile, name)[0])
    graph_ms, graph = best_of(lambda: plan_graph(plan))
    draw_ms, drawing = best_of(lambda: draw(graph, joined))
    svg_ms, text = best_of(lambda: svg(drawing))
    total_ms = graph_ms + draw_ms + svg_ms
    laid_out = drawing.laid_out
    print(
        f"{name:<32}{len(plan.layers):>7,}{len(graph.nodes):>8,}{len(graph.edges):>8,}"
        f"{graph_ms:>9.1f}{draw_ms:>9.1f}{svg_ms:>9.1f}{total_ms:>9.1f}"
        f"{len(text) / 1e6:>8.2f}{laid_out.crossings:>7,}{laid_out.width:>8,.0f}"
    )
    return total_ms


def _cpu_of_children() -> float:
    used = os.times()
    return used.children_user + used.children_system


def whole_process(rounds: int = 5) -> None:
    """A plan of 73 layers, from the start of Python to its end."""
    plan = synthetic_plans.chain(73, synthetic_plans.residual_network()[:73])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.graph.json"
        path.write_text(json.dumps(plan))
        profile = json.dumps(synthetic_plans.profile_of(plan))
        path.with_name("small.profile.json").write_text(profile)
        options = ["--svg", str(path.with_name("small.svg"))]
        command = [sys.executable, "-m", "enginescope", "explore", str(path), *options]
        walls, cpus = [], []
        for _ in range(rounds):
            start, before = time.perf_counter(), _cpu_of_children()
            subprocess.run(command, check=True, capture_output=True)
            walls.append(time.perf_counter() - start)
            cpus.append(_cpu_of_children() - before)
        print(
            f"{len(plan['Layers'])} layers to SVG, whole process: median "
            f"{statistics.median(walls):.2f} s, {min(walls):.2f} … {max(walls):.2f}; "
            f"CPU {statistics.median(cpus):.2f} s"
        )
    print()


def main() -> None:
    if len(sys.argv) == 1:
        whole_process()
    print(
        f"{'plan':<32}{'layers':>7}{'nodes':>8}{'edges':>8}{'graph':>9}{'layout':>9}{'svg':>9}"
        f"{'sum ms':>9}{'MB':>8}{'cross':>7}{'wide':>8}"
    )
    given = [Path(one) for one in sys.argv[1:]]
    for path in given:
        other = path.with_name(path.name.replace(".graph.", ".profile."))
        profile = other.read_bytes() if other != path and other.exists() else None
        measure(path.name.removesuffix(".graph.json")[:31], path.read_bytes(), profile)
    if given:
        return
    for make in (synthetic_plans.chain, synthetic_plans.transformer):
        sums = []
        for size in SIZES:
            plan = make(size)
            profile = json.dumps(synthetic_plans.profile_of(plan)).encode()
            name = f"{make.__name__}-{len(plan['Layers'])}"
            sums.append(measure(name, json.dumps(plan).encode(), profile))
        print(f"{'':<32}{SIZES[2] / SIZES[1]:.1f} × the layers cost {sums[2] / sums[1]:.1f} ×")


if __name__ == "__main__":
    main()
