"""One piece of work on files of plans, in a process of its own: seconds, CPU seconds, peak memory.

As the verbs do it: the cycle collector waits until the work is done. Imports, and the reading of
plans where something else is measured, come before the clock starts.

python benchmarks/explore/measure.py load|lint|graph PLAN.graph.json PROFILE.json
python benchmarks/explore/measure.py align A.graph.json B.graph.json
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from enginescope.analysis.graph.plan_graph import plan_graph
from enginescope.analysis.layers.layer_table import attribute
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.core.process_control import gc_paused
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.environment import Device
from enginescope.records.plan.plan import Plan, Profile
from enginescope.render.graph.write.svg import draw, svg
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput

#: Does the work and returns how many of its results there are.
Work = Callable[[], int]


def plan(file: Path) -> Plan:
    return parse_plan(file.read_bytes(), file.name)[0]


def profile(file: Path) -> Profile:
    return parse_profile(file.read_bytes(), file.name)[0]


def load_work(plan_file: Path, profile_file: Path) -> Work:
    return lambda: len(attribute(plan(plan_file), profile(profile_file)).layers)


def lint_work(plan_file: Path, profile_file: Path) -> Work:
    given = LintInput(
        plan=plan(plan_file), profile=profile(profile_file), device=Device(name="RTX 3090")
    )
    return lambda: len(lint(given).findings)


def graph_work(plan_file: Path, profile_file: Path) -> Work:
    drawn, times = plan(plan_file), profile(profile_file)
    return lambda: len(svg(draw(plan_graph(drawn), attribute(drawn, times))))


def align_work(file_a: Path, file_b: Path) -> Work:
    a, b = plan(file_a), plan(file_b)
    return lambda: len(align(a, b).pairs)


WORKS: dict[str, Callable[[Path, Path], Work]] = {
    "load": load_work,
    "lint": lint_work,
    "graph": graph_work,
    "align": align_work,
}


def main() -> None:
    name, *files = sys.argv[1:]
    work = WORKS[name](*map(Path, files))
    start, cpu = time.perf_counter(), time.process_time()
    with gc_paused():
        made = work()
    figures = {
        "wall_s": time.perf_counter() - start,
        "cpu_s": time.process_time() - cpu,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "made": made,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
