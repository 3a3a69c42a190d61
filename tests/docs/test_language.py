"""The documentation follows the style sheet, and stays short."""

import re
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

from tests.language import banned_in, long_sentences, prose_of, words_of

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "enginescope"
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CHANGELOG.md"]
#: Pages that `make reference` writes as a whole.
GENERATED = {"cli.md", "python.md", "json.md", "rules.md"}
#: Words of prose in all other pages together.
MOST_WORDS = 30_000
_GENERATED_PART = re.compile(r"<!-- begin of .*?<!-- end of [^>]*>", re.DOTALL)


def test_no_phrase_that_the_style_sheet_replaces() -> None:
    found = {page: banned_in(prose_of(page.read_text(encoding="utf-8"))) for page in PAGES}
    assert {page: phrases for page, phrases in found.items() if phrases} == {}


def _texts(constants: object) -> Iterator[str]:
    """Yield the strings of three words or more, docstrings too."""
    if isinstance(constants, str):
        yield from [constants] if len(constants.split()) > 2 else []
    elif isinstance(constants, CodeType | tuple | frozenset):
        for part in getattr(constants, "co_consts", constants):
            yield from _texts(part)


def _code(path: Path) -> CodeType | None:
    """Return the code of a file, from its cache if that is fresh."""
    return SourceFileLoader("module", str(path)).get_code("module")


def test_no_string_of_the_code_has_such_a_phrase() -> None:
    """`ladder` said that a figure "cannot be told from" a rung, the server what to "hold against" a
    run, the graph "Quantisation"."""
    found = {
        str(path.relative_to(SOURCE)): phrases
        for path in SOURCE.rglob("*.py")
        if (phrases := [one for text in _texts(_code(path)) for one in banned_in(_plain(text))])
    }
    for path in (each for kind in ("*.j2", "*.js", "*.txt") for each in SOURCE.rglob(kind)):
        if "vendor" not in path.parts and ".min." not in path.name:
            phrases = banned_in(_plain(path.read_text(encoding="utf-8")))
            found |= {str(path.relative_to(SOURCE)): phrases} if phrases else {}
    assert found == {}


def _plain(text: str) -> str:
    """Return a text without code, flags and names of fields, which keep their spelling."""
    return prose_of(re.sub(r"``.*?``|--[\w-]+|\b\w*_\w+|^\s*\w+:", " ", text, flags=re.MULTILINE))


def test_the_prose_has_a_limit_without_code_and_links() -> None:
    texts = (page.read_text(encoding="utf-8") for page in PAGES if page.name not in GENERATED)
    assert sum(words_of(_GENERATED_PART.sub("", text)) for text in texts) <= MOST_WORDS
    assert words_of("# Title\n\n| a | table |\n\n`code` and two\nlines <!-- note -->") == 4
    text = "`--normalise` and [x](colours.md)\n```\nknown depth\n```\nhttps://a/colour"
    assert banned_in(prose_of(text)) == []
    assert long_sentences("word " * 26) != []
    assert long_sentences("word " * 20 + "end. " + "word " * 20) == []
    assert len(banned_in("outputs are held against the reference")) == 1
    assert len(banned_in("Optimisation in turn, in colour")) == 3
    assert banned_in("interleaved processes compared with a baseline") == []
