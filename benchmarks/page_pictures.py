"""Photograph pages for the documentation, from recorded runs and plans.

`python benchmarks/page_pictures.py [NAME…]` writes docs/images/NAME.png: what a window of
1280 × 800 shows of a run's report, of a plan's page, of a comparison's first screen, and of the
graphs of two plans side by side in light and dark. It needs Chromium, and for the last two the
ResNet-18 of the examples of TensorRT's explorer, in the folder $ENGINESCOPE_SHARED_DATA.
"""

from __future__ import annotations

import argparse
import base64
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import enginescope as es

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.render.browser import Tab, chromium_tab

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
IMAGES = ROOT / "docs" / "images"
PLAN = DATA / "trt86-h200" / "resnet18.graph.json"
#: The vision transformer in FP16 on an H200, and a ResNet-18 in FP32 against FP16.
RUN = "ef884e"
COMPARISON = "cmp-c0dd8fe7"
#: The same network in FP32 and quantized, timed on an A100 by trtexec.
SIDES = ("resnet18-a100-fp32.engine", "resnet18-a100-qat-residual.engine")


def report(folder: Path) -> Path:
    """Write the report of a recorded run; return its page."""
    es.write_report(RUN, folder / "report", store=folder / "h200")
    return folder / "report" / "report.html"


def plan(folder: Path) -> Path:
    """Write the page of a recorded plan; return it."""
    page = folder / "plan.html"
    es.explore(PLAN, html=page)
    return page


def comparison(folder: Path) -> Path:
    """Write the page of a recorded comparison; return it."""
    page = folder / "compare.html"
    command = ["enginescope", "compare", COMPARISON, "--store", str(folder / "h200")]
    subprocess.run([*command, "--html", str(page)], check=False, capture_output=True)
    return page


def plans(folder: Path) -> Path:
    """Write the page that compares the explorer's plans; return it."""
    examples = Path(os.environ["ENGINESCOPE_SHARED_DATA"]) / "trex-examples"
    page = folder / "plans.html"
    both = [str(examples / f"{name}.graph.json") for name in SIDES]
    subprocess.run(
        ["enginescope", "compare", *both, "--html", str(page)], check=False, capture_output=True
    )
    return page


PAGES: dict[str, Callable[[Path], Path]] = {
    "report": report,
    "plan": plan,
    "comparison": comparison,
    "side-by-side": plans,
    "side-by-side-dark": plans,
}
#: The fifth pair of layers, which is of the network's body.
_PAIR = "#layers?pair=4"


def photograph(tab: Tab, page: Path, picture: Path) -> None:
    """Write what a window shows of a page as PNG, after its charts and graphs are drawn."""
    theme = "dark" if picture.stem.endswith("dark") else "light"
    features = {"prefers-color-scheme": theme, "prefers-reduced-motion": "reduce"}
    tab.send(
        "Emulation.setEmulatedMedia",
        features=[{"name": name, "value": value} for name, value in features.items()],
    )
    tab.send("Page.navigate", url="about:blank")
    tab.send(
        "Page.navigate",
        url=page.as_uri() + (_PAIR if picture.stem.startswith("side-by-side") else ""),
    )
    tab.until("document.documentElement?.dataset.charts === 'drawn'")
    waiting = "[...document.querySelectorAll('.graph[data-state]')]"
    tab.until(f"{waiting}.every((one) => one.dataset.state === 'ready')")
    frames = "new Promise((done) => setTimeout(done, 600))"
    tab.evaluate(frames, awaits=True)
    picture.write_bytes(base64.b64decode(tab.send("Page.captureScreenshot")["data"]))


def main() -> None:
    """Photograph the named pages, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*PAGES, []], default=[])
    names = parser.parse_args().names or list(PAGES)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place)
        with tarfile.open(DATA / "trt86-h200-runs" / "runs.tar.xz") as packed:
            packed.extractall(folder / "h200", filter="data")
        with chromium_tab(folder / "profile") as tab:
            tab.send(
                "Emulation.setDeviceMetricsOverride",
                width=1280,
                height=800,
                deviceScaleFactor=1,
                mobile=False,
            )
            for name in names:
                photograph(tab, PAGES[name](folder), IMAGES / f"{name}.png")
                print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
