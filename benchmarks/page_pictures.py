"""Photograph pages for the documentation, from recorded runs and plans.

`python benchmarks/page_pictures.py [NAME…]` writes what a window of 1280 × 800 shows of each page:
docs/images/NAME.png for pages of the text, and docs/images/pages/NAME.webp, smaller, of every kind
of page. It needs Chromium and Pillow. Some pages are of models that it measures. The two plans side
by side need the ResNet-18 of the examples of TensorRT's explorer, in the folder
$ENGINESCOPE_SHARED_DATA.
"""

from __future__ import annotations

import argparse
import base64
import io
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.docs.recipe_inputs import prepare
from tests.render.browser import Tab, chromium_tab

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
DATA = ROOT / "tests" / "data"
PLAN = DATA / "trt86-h200" / "resnet18.graph.json"
TREX = Path(os.environ.get("ENGINESCOPE_SHARED_DATA", ".")) / "trex-examples"
#: The same network in FP32 and quantized, timed on an A100 by trtexec.
SIDES = " ".join(
    str(TREX / f"resnet18-a100-{name}.engine.graph.json") for name in ("fp32", "qat-residual")
)
WIDTH, HEIGHT = 1280, 800
#: Width of a picture of every kind of page, in px, and its quality as WebP.
SMALL, QUALITY = 1000, 55
LIMIT_S = 60.0
#: The vision transformer in FP16 on an H200.
RUN = "ef884e"
COMPARISON = "compare cmp-c0dd8fe7 --store h200 --html page.html"
PAIR = f"compare {SIDES} --html page.html"
MANY = f"report 0f5f34 e3b2b1 {RUN} --store h200 -o report"
#: Commands that write a page, the page, and what of it is shown.
COMMANDS = {
    "plan": (f"explore {PLAN} --html page.html", "page.html"),
    "onnx": (
        "bench models/encoder.onnx --layers --max-time 5s && explore latest --html page.html",
        "page.html",
    ),
    "report": (f"report {RUN} --store h200 -o report", "report/report.html"),
    "reports": (MANY, "report/report.html"),
    "comparison": (COMPARISON, "page.html"),
    "gate": (
        "gate --baseline cmp-c0dd8fe7 --store h200 --max-regression 3% --html page.html",
        "page.html",
    ),
    "validate": ("validate depth-new.onnx --reference depth.onnx --html page.html", "page.html"),
    "history": ("history vit_b_16.onnx --store h200 --session 0 --html page.html", "page.html"),
    "bench-compare": (
        "bench old.onnx new.onnx --compare --max-time 60s --html page.html",
        "page.html",
    ),
    "side-by-side": (PAIR, "page.html#layers?pair=4"),
    "side-by-side-dark": (PAIR, "page.html#layers?pair=4"),
}
#: A page of `enginescope serve`.
SERVED = {"suite": "/suites/h200", "home": "/", "list": "/runs", "run": "/runs/"}
#: Pages that the text shows.
TEXT = ("report", "plan", "comparison", "side-by-side", "side-by-side-dark")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the folder's store of recorded runs; yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ["enginescope", "serve", "--store", "h200", "--port", str(port)]
    process = subprocess.Popen(command, cwd=folder)
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


def follow(folder: Path) -> None:
    """Measure a model at ten commits, of which the seventh makes it slower."""
    place = folder / "network"
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run((*git, "init", "--quiet", place), check=True)
    for at in range(10):
        shutil.copy(folder / ("new.onnx" if at < 6 else "old.onnx"), place / "network.onnx")
        (place / "step.txt").write_text(f"{at}\n", encoding="utf-8")
        subprocess.run((*git, "add", "."), cwd=place, check=True)
        subprocess.run(
            (*git, "commit", "--quiet", "--message", f"step {at}"), cwd=place, check=True
        )
        bench = ("enginescope", "bench", "network.onnx", "--max-time", "3s")
        subprocess.run(
            (*bench, "--store", folder / "h200"), cwd=place, check=True, stdout=subprocess.DEVNULL
        )


def photograph(tab: Tab, address: str, name: str) -> None:
    """Write what a window shows of a page, after its charts and graphs are drawn."""
    theme = "dark" if name.endswith("dark") else "light"
    features = {"prefers-color-scheme": theme, "prefers-reduced-motion": "reduce"}
    tab.send(
        "Emulation.setEmulatedMedia",
        features=[{"name": one, "value": value} for one, value in features.items()],
    )
    tab.send("Page.navigate", url="about:blank")
    tab.send("Page.navigate", url=address)
    tab.until("document.readyState === 'complete' && location.href !== 'about:blank'")
    tab.until(
        "!document.querySelector('.vis') || document.documentElement.dataset.charts === 'drawn'"
    )
    waiting = "[...document.querySelectorAll('.graph[data-state]')]"
    tab.until(f"{waiting}.every((one) => one.dataset.state === 'ready')")
    tab.until("!document.querySelector('#counts')?.textContent.includes('; reading')")
    tab.evaluate("new Promise((done) => setTimeout(done, 800))", awaits=True)
    shot = Image.open(io.BytesIO(base64.b64decode(tab.send("Page.captureScreenshot")["data"])))
    written = []
    if name in TEXT:
        written.append(IMAGES / f"{name}.png")
        flat = shot.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        flat.save(written[-1], optimize=True)
    if not name.startswith("side-by-side"):
        written.append(IMAGES / "pages" / f"{name}.webp")
        small = shot.convert("RGB").resize(
            (SMALL, SMALL * HEIGHT // WIDTH), Image.Resampling.LANCZOS
        )
        small.save(written[-1], quality=QUALITY, method=6)
    for path in written:
        print(path.relative_to(ROOT), path.stat().st_size)


def main() -> None:
    """Photograph the named pages, or all."""
    every = [*COMMANDS, *SERVED]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*every, []], default=[])
    names = parser.parse_args().names or every
    (IMAGES / "pages").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place)
        prepare(folder)
        shutil.copytree(DATA / "trt86-h200-suite", folder / "h200" / "suites" / "h200")
        os.environ["ENGINESCOPE_HOME"] = str(folder / "measured")
        with chromium_tab(folder / "profile") as tab:
            size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            tab.send("Emulation.setDeviceMetricsOverride", **size)
            for name in (one for one in names if one in COMMANDS):
                command, page = COMMANDS[name]
                for line in command.split(" && "):
                    words = ["enginescope", *line.split()]
                    subprocess.run(words, cwd=folder, check=False, capture_output=True)
                file, mark, anchor = page.partition("#")
                photograph(tab, (folder / file).as_uri() + mark + anchor, name)
            if {"home", "list"} & {*names}:
                follow(folder)
            with served(folder) as address:
                for name in (one for one in names if one in SERVED):
                    path = SERVED[name] + (_run_id(folder) if name == "run" else "")
                    photograph(tab, address + path, name)


def _run_id(folder: Path) -> str:
    return next(path.name for path in (folder / "h200" / "runs").glob(f"{RUN}*"))


if __name__ == "__main__":
    main()
