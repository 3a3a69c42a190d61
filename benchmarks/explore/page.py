"""Pages of large plans: bytes against their data, seconds to write them, seconds in Chromium.

Writes the page of synthetic plans of three sizes, opens it in headless Chromium at its graph, and
notes when the first paint, the icicle and the graph are there, all since the navigation began; then
unfolds all of the graph and zooms. Every figure is the median of several openings, each in a
browser of its own. What a page holds of its own is without the scripts and styles of all pages.
Ends with 1 if a limit is passed.

python benchmarks/explore/page.py [--rounds N] [--layers N …] [--kind chain|transformer]
"""

from __future__ import annotations

import argparse
import json
import re
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
SIZES = (5_047, 50_058, 500_000)
#: At least so many layers -> limits that the project holds itself to: seconds, megabytes.
LIMITS = {
    500_000: {"written": 40.0, "page, MB": 60.0, "icicle": 12.0, "graph": 12.0},
    50_000: {"first paint": 1.5, "page, MB": 9.0, "icicle": 2.0, "graph": 2.0},
    0: {"first paint": 1.0, "icicle": 1.0, "graph": 1.0},
}
#: A page's own bytes for each byte of its data.
MOST_OF_DATA = 1.5
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
_TIMED = "(() => {{ const start = performance.now(); {}; return performance.now() - start; }})()"
_SHARED = re.compile(rb"<(script|style)>.*?</\1>", re.DOTALL)


def opened(tab: Tab, path: Path) -> dict[str, float]:
    """Open the page at its graph and return its seconds."""
    start = time.perf_counter()
    tab.send("Page.navigate", url=f"{path.as_uri()}#graph")
    found = {}
    ready = {"icicle": ".icicle[data-focus]", "graph": ".graph[data-state=ready]"}
    for name, place in ready.items():
        tab.until(f"document.querySelector('{place}') !== null")
        found[name] = time.perf_counter() - start
    found["first paint"] = tab.evaluate(_PAINT) / 1e3
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


def measure(kind: str, layers: int, rounds: int, folder: Path) -> bool:
    """Print the figures of one page; return whether all are within their limits."""
    plan = getattr(synthetic_plans, kind)(layers)
    stem = folder / f"{kind}-{len(plan['Layers'])}"
    graph, profile = stem.with_suffix(".graph.json"), stem.with_suffix(".profile.json")
    graph.write_text(json.dumps(plan))
    profile.write_text(json.dumps(synthetic_plans.profile_of(plan)))
    del plan
    page = stem.with_suffix(".html")
    command = [sys.executable, "-m", "enginescope", "explore", str(graph), "--html", str(page)]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    figures = {"written": [time.perf_counter() - start], "page, MB": [page.stat().st_size / 1e6]}
    data = graph.stat().st_size + profile.stat().st_size
    own = len(_SHARED.sub(b"", page.read_bytes()))
    print(f"{stem.name}: its own {own / 1e6:.2f} MB of {data / 1e6:.1f} MB of data")
    for number in range(rounds):
        with chromium_tab(folder / f"profile-{kind}-{layers}-{number}") as tab:
            for name, seconds in opened(tab, page).items():
                figures.setdefault(name, []).append(seconds)
    limits = next(some for least, some in LIMITS.items() if layers >= least)
    passed = own <= MOST_OF_DATA * data
    for name, values in figures.items():
        middle, limit = statistics.median(values), limits.get(name)
        passed &= limit is None or middle <= limit
        told = "" if limit is None else f"   limit {limit:g}"
        print(f"  {name:<18}{middle:>9.3f}   {min(values):.3f} … {max(values):.3f}{told}")
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layers", type=int, nargs="+", default=SIZES)
    parser.add_argument("--kind", choices=("chain", "transformer"), default="chain")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        every = [measure(given.kind, one, given.rounds, Path(folder)) for one in given.layers]
    return 0 if all(every) else 1


if __name__ == "__main__":
    sys.exit(main())
