"""Headless Chromium over the DevTools protocol, with the standard library alone."""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import missing

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-quic", "--window-size=1280,800", "--remote-debugging-pipe"),
)
LIMIT_S = 60.0

#: The browser wants its pipes as descriptors 3 and 4.
_EXEC = """
import fcntl, os, sys
high = [fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3]]
for one, wanted in zip(high, (3, 4)):
    os.dup2(one, wanted)
os.execv(sys.argv[3], sys.argv[3:])
"""


class CommandError(AssertionError):
    """What the browser says of a command it does not carry out."""


#: Its words when one page gives way to the next while a command waits for its answer.
BETWEEN_PAGES = (
    "Inspected target navigated or closed",
    "Execution context was destroyed.",
    "Cannot find default execution context",
    "Cannot find context with specified id",
)


class Tab:
    """One page: commands go in, events are kept."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._buffer = b""
        self._next = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._next:
                if "error" in answer:
                    raise CommandError(answer["error"]["message"])
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression: str, *, awaits: bool = False) -> Any:
        result = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=awaits
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def reset(self) -> None:
        """Go to a blank page: with the usual size and media, nothing stored, no events."""
        self.send("Page.navigate", url="about:blank")
        self.send("Emulation.clearDeviceMetricsOverride")
        self.send("Emulation.setScriptExecutionDisabled", value=False)
        self.send("Emulation.setEmulatedMedia", media="", features=[])
        self.send("Storage.clearDataForOrigin", origin="file://", storageTypes="all")
        self.events.clear()

    def visit(self, url: str) -> None:
        """Open `url` as a new page, also where it differs from the last in its fragment alone."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=url)

    def open(self, path: Path, fragment: str = "") -> None:
        self.visit(path.as_uri() + fragment)
        self.until("document.documentElement?.dataset.charts === 'drawn'")

    def resize(self, width: int, height: int = 800, scale: int = 1) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def reduce_motion(self) -> None:
        """Motion would have to be waited for."""
        features = [{"name": "prefers-reduced-motion", "value": "reduce"}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def press(self, *keys: str) -> None:
        for key in keys:
            text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
            self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def fits(self, *widths: int) -> None:
        """Wait until the page is as wide as the window, at each width."""
        for width in widths:
            self.resize(width)
            self.until(f"innerWidth === {width} && document.documentElement.scrollWidth <= {width}")

    def draw_all(self) -> None:
        """Draw the charts that are out of sight too, as printing does."""
        self.evaluate("dispatchEvent(new Event('beforeprint'))")
        self.until("document.documentElement.dataset.charts === 'drawn'")

    def until(self, expression: str) -> None:
        """Wait until `expression` is true, on this page or on the one that follows."""
        limit = time.monotonic() + LIMIT_S
        while True:
            try:
                if self.evaluate(expression):
                    return
            except CommandError as refused:
                if str(refused) not in BETWEEN_PAGES:
                    raise
            assert time.monotonic() < limit, f"never came true: {expression}"
            time.sleep(0.05)

    def requests(self) -> list[str]:
        """Addresses the page asked for, but those it carries in itself."""
        asked = [
            one["params"]["request"]["url"]
            for one in self.events
            if one.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in asked if not url.startswith(("data:", "blob:", "about:"))]

    def complaints(self) -> list[Any]:
        """Exceptions, errors and warnings on the console, policy violations."""
        found = []
        for one in self.events:
            method, params = one.get("method"), one.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"])
            if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(params["args"])
            if method == "Log.entryAdded":
                found.append(params["entry"])
        return found

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], LIMIT_S)
            assert ready, "the browser does not answer"
            block = os.read(self._read, 1 << 20)
            assert block, "the browser went away"
            self._buffer += block
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


def find_chromium() -> str:
    found = next(
        filter(
            None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))
        ),
        None,
    )
    if found is None:
        missing("Chromium is not installed")
    assert found is not None
    return found


@contextmanager
def chromium_tab(profile: Path):
    """A fresh tab in a fresh browser; both are gone afterwards."""
    browser_reads, we_write = os.pipe()
    we_read, browser_writes = os.pipe()
    pipes = [str(browser_reads), str(browser_writes)]
    command = [find_chromium(), *FLAGS, f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", _EXEC, *pipes, *command],
        pass_fds=(browser_reads, browser_writes),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(browser_reads)
    os.close(browser_writes)
    try:
        yield Tab(we_write, we_read)
    finally:
        process.terminate()
        process.wait(timeout=LIMIT_S)
        os.close(we_write)
        os.close(we_read)
