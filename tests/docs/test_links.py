"""Every link between files of this repository leads somewhere, on the site and on GitHub."""

import os
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "benchmarks" / "README.md"]
#: Where the forge shows the files of the main branch.
FORGE = re.compile(r"https://github\.com/enginescope/enginescope/(?:blob|tree|raw)/main/")
_FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2\s*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")
_ATTRIBUTE = re.compile(r"\b(?:href|src)=\"([^\"]+)\"")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_ID = re.compile(r"\bid=\"([^\"]+)\"|\{[^}]*#([\w-]+)[^}]*\}")


def prose(path: Path) -> str:
    return _COMMENT.sub("", _FENCE.sub("", path.read_text(encoding="utf-8")))


def slug(heading: str) -> str:
    """Return a heading's anchor as GitHub and the site's slugifier make it."""
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.replace("`", "")).strip().lower().replace(" ", "-")


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return the anchors of a page; of equal headings all but the first have a number."""
    text, found = prose(path), []
    for heading in _HEADING.findall(text):
        name = slug(heading)
        repeats = sum(one == name for one in map(slug, _HEADING.findall(text)))
        found += [name] if repeats == 1 else []  # a repeated one is not a safe target
    found += [one or two for one, two in _ID.findall(text)]
    return frozenset(found)


def targets(path: Path) -> list[str]:
    text = prose(path)
    return [*_LINK.findall(_CODE.sub("``", text)), *_ATTRIBUTE.findall(text)]


def problem(page: Path, target: str) -> str | None:
    """Return why a link leads nowhere; ``None`` for one that works, or leaves the repository."""
    on_forge = FORGE.match(target)
    if not on_forge and re.match(r"[a-z][a-z+.-]*:", target):
        return None
    base, rest = (ROOT, target[on_forge.end() :]) if on_forge else (page.parent, target)
    file, _, anchor = unquote(rest).partition("#")
    found = Path(os.path.normpath(base / file)) if file else page
    if not found.exists():
        return "there is no such file"
    if page.is_relative_to(DOCS) and not on_forge and not found.is_relative_to(DOCS):
        return "the site has no files outside docs/: link to the forge"
    if anchor and found.suffix == ".md" and anchor not in anchors(found):
        return "the page has no such heading, or has it twice"
    return None


def test_links_lead_somewhere() -> None:
    found = {(page, target): problem(page, target) for page in PAGES for target in targets(page)}
    assert {link: why for link, why in found.items() if why} == {}


def test_every_page_of_these_parts_is_linked_to() -> None:
    linked = {
        Path(os.path.normpath(page.parent / unquote(target).partition("#")[0]))
        for page in PAGES
        for target in targets(page)
    }
    lone = [
        str(page.relative_to(DOCS))
        for part in ("get-started", "how-to", "reference", "explanation", "contributing")
        for page in sorted((DOCS / part).rglob("*.md"))
        if page not in linked and page.name != "index.md"
    ]
    assert lone == []


def test_every_page_is_in_the_navigation() -> None:
    for navigation in DOCS.glob("*/.nav.yml"):
        named = navigation.read_text(encoding="utf-8")
        pages = {page.name for page in navigation.parent.glob("*.md")}
        assert '"*"' in named or {name for name in pages if name not in named} == set()


def test_slugs() -> None:
    assert slug("Cold and warm") == "cold-and-warm"
    assert slug("Heat: `--cooldown TEMP[,LIMIT]`") == "heat---cooldown-templimit"
    assert slug("See [the page](page.md)") == "see-the-page"


def test_what_is_wrong_with_a_link_is_told() -> None:
    page = DOCS / "explanation" / "intervals.md"
    assert problem(page, "measurement.md#the-timed-loop") is None
    assert problem(page, "https://doi.org/10.1214/ss/1177011137") is None
    assert problem(page, "measurement.md#no-such-heading") is not None
    assert problem(page, "no-such-page.md") is not None
    assert problem(page, "../../README.md") is not None
    assert problem(page, "https://github.com/enginescope/enginescope/blob/main/no.md") is not None


def test_a_picture_of_a_terminal_is_small_and_loads_nothing() -> None:
    """`python benchmarks/terminal_pictures.py` makes them."""
    for name in ("compare", "gate", "lint"):
        picture = (DOCS / "images" / f"terminal-{name}.svg").read_text(encoding="utf-8")
        assert len(picture) < 40_000
        assert "@font-face" not in picture
        assert f"enginescope&#160;{name}" in picture
