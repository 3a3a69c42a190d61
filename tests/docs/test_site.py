"""The built site asks nothing of another server."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import missing

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.documentation, pytest.mark.slow]
#: Attributes that a browser loads at once; a link is only followed by its reader.
LOADED = {"src", "srcset", "poster", "data"}
LINKS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload"}
ELSEWHERE = re.compile(r"(?:https?:)?//")


class Loaded(HTMLParser):
    """What a page loads, and the components that fetch something by themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.components: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.addresses += [found[name] for name in LOADED & found.keys()]
        if tag == "link" and LINKS & set(found.get("rel", "").split()):
            self.addresses.append(found.get("href", ""))
        self.components.add(found.get("data-md-component", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if find_spec("material") is None:
        missing("the site is built with the packages of the group docs")
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(target)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)
    return target


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        assert loaded.addresses
        assert not [one for one in loaded.addresses if ELSEWHERE.match(one)], page
        # Material asks the forge for the stars of a repository that it shows
        assert "source" not in loaded.components, page


def test_no_style_sheet_loads_anything_from_elsewhere(site: Path) -> None:
    sheets = list(site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        text = sheet.read_text(encoding="utf-8")
        assert not re.findall(r"(?:@import\s+|url\()[\"']?(?:https?:)?//", text), sheet
