"""What an HTML fragment consists of, read by a parser."""

import re
from html.parser import HTMLParser

from enginescope.render.html.page_frame import live_script

#: Elements that bring something from elsewhere, or run.
ACTIVE = {"script", "iframe", "object", "embed", "link", "style", "form", "input", "button"}


class Fragment(HTMLParser):
    """Elements, attributes and text of a fragment; asserts that it is well formed."""

    VOID = frozenset({"img", "br"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f" {data}"


def checked(html: str) -> Fragment:
    """Return the parts of plain HTML: nothing active, nothing from elsewhere."""
    found = Fragment(html)
    assert not ACTIVE & set(found.elements)
    for name, value in found.attributes:
        assert not name.startswith("on"), name
        if name in ("src", "href"):
            assert (value or "").startswith("data:"), value
    return found


def checked_live(html: str) -> Fragment:
    """Return the parts of a fragment beside its scripts, which are ours and load nothing."""
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert scripts
    for script in scripts:
        assert script.startswith(live_script().text)
        assert not re.search(r"fetch\(|XMLHttpRequest|import\(|\bsrc=", script)
    return checked(re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL))
