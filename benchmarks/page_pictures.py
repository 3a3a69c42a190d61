"""Photograph the first screens of pages for the documentation, from recorded runs and plans.

`python benchmarks/page_pictures.py [NAME…]` writes docs/images/NAME.png: what a window of
1280 × 800 shows of a run's report, of a plan's page and of a comparison. It needs Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import enginescope as es

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
IMAGES = ROOT / "docs" / "images"
PLAN = DATA / "trt86-h200" / "resnet18.graph.json"
#: The vision transformer in FP16 on an H200, and a ResNet-18 in FP32 against FP16.
RUN = "ef884e"
COMPARISON = "cmp-c0dd8fe7"


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


PAGES: dict[str, Callable[[Path], Path]] = {
    "report": report,
    "plan": plan,
    "comparison": comparison,
}


def photograph(page: Path, picture: Path) -> None:
    """Write the first screen of a page as PNG, after its charts are drawn."""
    browser = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *("--window-size=1280,800", "--virtual-time-budget=8000"),
            *(f"--screenshot={picture}", page.as_uri()),
        ],
        check=True,
        capture_output=True,
    )


def main() -> None:
    """Photograph the named pages, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*PAGES, []], default=[])
    names = parser.parse_args().names or list(PAGES)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with tarfile.open(DATA / "trt86-h200-runs" / "runs.tar.xz") as packed:
            packed.extractall(folder / "h200", filter="data")
        for name in names:
            photograph(PAGES[name](folder), IMAGES / f"{name}.png")
            print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
