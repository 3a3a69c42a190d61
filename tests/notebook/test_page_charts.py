"""Every chart of a page is on the result that Python returns, under the same key."""

from __future__ import annotations

import json
import re

from tests.suites.made import cell, result, timed

SUITE = result([timed(cell("net"), 8.0), timed(cell("net", "ort-cuda"), 2.0)])


def keys_of(page: bytes) -> set[str]:
    """Return the keys of the charts that a page draws."""
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.decode())
    assert data is not None
    return {name.removeprefix("chart-") for name in json.loads(data[1])["charts"]}
