"""Photograph seven pages as an earlier commit makes them and as they are, for the documentation.

`python benchmarks/page_pairs.py COMMIT [NAME…]` writes docs/images/pages/NAME-before.webp and
NAME-after.webp, the first screens of the same plan, runs and suite. It needs Git and Chromium.
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.render.browser import Tab, chromium_tab

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
IMAGES = ROOT / "docs" / "images" / "pages"
PLAN = DATA / "trt86-h200" / "resnet18.graph.json"
WIDTH, HEIGHT, PICTURE, QUALITY = 1280, 800, 1000, 55
LIMIT_S = 60.0
#: A command that writes a page, and the page.
FILES = {
    "plan": (f"explore {PLAN} --html plan.html", "plan.html"),
    "comparison": ("compare cmp-c0dd8fe7 --store store --html compare.html", "compare.html#layers"),
    "report": ("report ef884e --store store -o one", "one/report.html"),
    "reports": ("report 0f5f34 e3b2b1 ef884e --store store -o many", "many/report.html"),
}
#: A page of `enginescope serve`.
SERVED = {
    "suite": "/suites/h200/report",
    "list": "/runs",
    "history": "/history?model=vit_b_16.onnx",
}


def filled(folder: Path) -> Path:
    """Fill a folder with a store of recorded runs and a suite; return it."""
    with tarfile.open(DATA / "trt86-h200-runs" / "runs.tar.xz") as packed:
        packed.extractall(folder / "store", filter="data")
    shutil.copytree(DATA / "trt86-h200-suite", folder / "store" / "suites" / "h200")
    return folder


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Path]:
    """Yield a worktree of a commit, and remove it."""
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


@contextmanager
def served(environment: dict[str, str], folder: Path) -> Iterator[str]:
    """Serve the folder's store; yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "enginescope", "serve", "--store", "store"]
    process = subprocess.Popen([*command, "--port", str(port)], cwd=folder, env=environment)
    try:
        end = time.monotonic() + LIMIT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                if time.monotonic() > end or process.poll() is not None:
                    raise
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def photograph(tab: Tab, address: str, picture: Path) -> None:
    """Write what a window shows of a page, after its charts and graphs are drawn."""
    tab.send("Page.navigate", url="about:blank")
    tab.send("Page.navigate", url=address)
    tab.until("document.readyState === 'complete' && location.href !== 'about:blank'")
    tab.until(
        "!document.querySelector('.vis') || document.documentElement.dataset.charts === 'drawn'"
    )
    tab.evaluate("new Promise((done) => setTimeout(done, 1500))", awaits=True)
    top = tab.evaluate("scrollY")
    clip = {"x": 0, "y": top, "width": WIDTH, "height": HEIGHT, "scale": PICTURE / WIDTH}
    made = tab.send("Page.captureScreenshot", format="webp", quality=QUALITY, clip=clip)
    picture.write_bytes(base64.b64decode(made["data"]))
    print(picture, picture.stat().st_size)


def photograph_all(tab: Tab, sources: Path, folder: Path, names: list[str], when: str) -> None:
    """Photograph pages that the sources at a path make."""
    environment = {**os.environ, "PYTHONPATH": str(sources / "src")}
    for name in names:
        if name in FILES:
            command, page = FILES[name]
            subprocess.run(
                [sys.executable, "-m", "enginescope", *command.split()],
                cwd=folder, env=environment, check=False, capture_output=True,
            )  # fmt: skip
            name_of, _, anchor = page.partition("#")
            address = (folder / name_of).as_uri() + (f"#{anchor}" if anchor else "")
            photograph(tab, address, IMAGES / f"{name}-{when}.webp")
    with served(environment, folder) as address:
        for name in names:
            if name in SERVED:
                photograph(tab, address + SERVED[name], IMAGES / f"{name}-{when}.webp")


def main() -> None:
    """Photograph the named pages, or all, of a commit and of the working tree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", help="commit that makes the pages before")
    parser.add_argument("names", nargs="*", choices=[*FILES, *SERVED, []], default=[])
    asked = parser.parse_args()
    names = asked.names or [*FILES, *SERVED]
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place, chromium_tab(Path(place) / "profile") as tab:
        folder = Path(place)
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        tab.send("Emulation.setDeviceMetricsOverride", **size)
        with checked_out(asked.commit, folder / "earlier") as earlier:
            photograph_all(tab, earlier, filled(folder / "before"), names, "before")
        photograph_all(tab, ROOT, filled(folder / "after"), names, "after")


if __name__ == "__main__":
    main()
