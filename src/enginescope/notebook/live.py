"""Pictures that a notebook replaces by what they show, where scripts run."""

from __future__ import annotations

import base64
import gzip
import hashlib
import sys
from functools import cache
from typing import Any

from enginescope.render.base.data_table import xml_text
from enginescope.render.html.page_frame import live_script, script_json, vega_script

#: The cell that brought the library, and which execution of it.
_BROUGHT: list[tuple[Any, int]] = []


def picture(data: bytes, words: str, *, width: int | None = None) -> str:
    """Return a PNG as an image of a fragment.

    Args:
        words: What is seen.
        width: In pixels of the page; by default the picture's own.
    """
    size = f" width='{width}'" if width else ""
    packed = base64.b64encode(data).decode()
    return (
        f"<img alt='{xml_text(words)}'{size} style='max-width:100%;max-height:60em' "
        f"src='data:image/png;base64,{packed}'>"
    )


def svg_picture(text: str, words: str) -> str:
    """Return an SVG as an image, so that ids and styles of several in a page cannot meet."""
    packed = base64.b64encode(text.encode()).decode()
    style = "max-width:100%;max-height:60em"
    return f"<img alt='{xml_text(words)}' style='{style}' src='data:image/svg+xml;base64,{packed}'>"


def live_chart(still: str, spec: dict[str, Any]) -> str:
    """Return a picture with the chart that replaces it: hover, zoom.

    Args:
        still: From `picture`.
        spec: In Vega.
    """
    return _live(still, "chart", spec, library=_library() if _brings_library() else "")


def live_graph(still: str, page: bytes) -> str:
    """Return a picture with the graph that replaces it.

    Args:
        page: Of the graph alone.
    """
    return _live(still, "graph", page.decode())


def _live(still: str, kind: str, content: Any, library: str = "") -> str:
    data = script_json(content)
    key = hashlib.sha256(f"{kind}{data}".encode()).hexdigest()[:16]
    return (
        f"<div data-enginescope='{key}'>{still}</div>"
        f"<script>{live_script().text}{library}enginescopeLive.{kind}('{key}', {data});</script>"
    )


@cache
def _library() -> str:
    """Return what makes Vega known to the outputs of a notebook, apart from any other Vega."""
    packed = base64.b64encode(gzip.compress(vega_script().text.encode(), 9, mtime=0)).decode()
    return (
        "window.enginescopeVega ??= (async () => {"
        f"const bytes = Uint8Array.from(atob('{packed}'), (one) => one.charCodeAt(0));"
        "const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));"
        "const text = await new Response(inflated).text(), before = globalThis.vega;"
        "new Function('define', 'module', 'exports', text)();"
        "const ours = globalThis.vega; globalThis.vega = before; return ours; })();"
        "document.dispatchEvent(new Event('enginescope-vega'));"
    )


def _brings_library() -> bool:
    """Return whether an output brings Vega: the first of a kernel, and of that cell run again.

    Outputs outside a notebook stand alone, so each brings it.
    """
    shell: Any = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        return True
    metadata = shell.get_parent().get("metadata", {}) if hasattr(shell, "get_parent") else {}
    now = metadata.get("cellId"), shell.execution_count
    is_again = bool(_BROUGHT) and now[0] == _BROUGHT[0][0] is not None and now != _BROUGHT[0]
    if _BROUGHT and not is_again:
        return False
    _BROUGHT[:] = [now]
    return True
