"""Pages of large plans in Chromium: seconds to the first paint, to a drawn graph, for a zoom step.

Writes the page of a synthetic plan of about 50,000 layers, opens it in headless Chromium and asks
it for its own marks: first paint, the charts near the first screen drawn; then scrolls to the
graph, unfolds all of it and zooms. Every figure is the median of several openings, each in a
browser of its own. The time to write the page, and its memory, are in `table.py`.

python benchmarks/explore/page.py [--rounds N] [--layers N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import synthetic_plans

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.render.browser import Tab, chromium_tab

GRAPH = "document.querySelector('.graph')"
#: What is measured, and the limit that the project holds itself to.
LIMITS_S = {"first paint": 3.0}
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
_TIMED = "(() => {{ const start = performance.now(); {}; return performance.now() - start; }})()"


def opened(tab: Tab, path: Path) -> dict[str, float]:
    """Open the page and return its seconds."""
    start = time.perf_counter()
    tab.send("Page.navigate", url=path.as_uri())
    tab.until(f"({_PAINT}) !== null")
    found = {"first paint": tab.evaluate(_PAINT) / 1e3}
    tab.until("document.documentElement.dataset.charts === 'drawn'")
    found["first charts drawn"] = time.perf_counter() - start
    start = time.perf_counter()
    tab.evaluate(f"{GRAPH}.scrollIntoView({{behavior: 'instant'}})")
    tab.until(f"{GRAPH}.dataset.state === 'ready'")
    found["graph, from its data"] = time.perf_counter() - start
    steps = {
        "graph painted": "paint()",
        "all unfolded": "all(true)",
        "… painted": "paint()",
        "zoom step, near": "zoom(0.8); {view}.paint()",
        "whole in sight": "fit(true); {view}.look_at(0, {view}.scene.height / 2, 0, true)",
        "zoom step, far": "zoom(1.1); {view}.paint()",
        "search": "plan.search('layer1')",
    }
    view = f"{GRAPH}.view"
    for name, step in steps.items():
        found[name] = tab.evaluate(_TIMED.format(f"{view}.{step.format(view=view)}")) / 1e3
    return found


def measure(kind: str, layers: int, rounds: int, folder: Path) -> None:
    plan = getattr(synthetic_plans, kind)(layers)
    stem = folder / f"{kind}-{len(plan['Layers'])}"
    graph = stem.with_suffix(".graph.json")
    graph.write_text(json.dumps(plan))
    stem.with_suffix(".profile.json").write_text(json.dumps(synthetic_plans.profile_of(plan)))
    page = stem.with_suffix(".html")
    command = [sys.executable, "-m", "enginescope", "explore", str(graph), "--html", str(page)]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds, size = time.perf_counter() - start, page.stat().st_size / 1e6
    print(f"{stem.name}: written in {seconds:.2f} s, {size:.1f} MB")
    every: list[dict[str, float]] = []
    for number in range(rounds):
        with chromium_tab(folder / f"profile-{kind}-{number}") as tab:
            every.append(opened(tab, page))
    for name in every[0]:
        values = [one[name] for one in every]
        limit = f"   limit {LIMITS_S[name]:g} s" if name in LIMITS_S else ""
        spread = f"{min(values):.3f} … {max(values):.3f}"
        print(f"  {name:<22}{statistics.median(values):>8.3f} s   {spread}{limit}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layers", type=int, default=50_058)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for kind in ("chain", "transformer"):
            measure(kind, given.layers, given.rounds, Path(folder))


if __name__ == "__main__":
    main()
