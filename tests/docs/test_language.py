"""The documentation follows the style sheet, and stays short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.language import banned_in, long_sentences, prose_of, words_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CHANGELOG.md"]
#: Pages that `make reference` writes as a whole.
GENERATED = {"cli.md", "python.md", "json.md", "rules.md"}
#: Words of prose in all other pages together.
MOST_WORDS = 30_000
_GENERATED_PART = re.compile(r"<!-- begin of .*?<!-- end of [^>]*>", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_phrase_that_the_style_sheet_replaces(page: Path) -> None:
    assert banned_in(prose_of(page.read_text(encoding="utf-8"))) == []


def test_the_prose_has_a_limit() -> None:
    texts = (page.read_text(encoding="utf-8") for page in PAGES if page.name not in GENERATED)
    assert sum(words_of(_GENERATED_PART.sub("", text)) for text in texts) <= MOST_WORDS


def test_what_counts_as_prose() -> None:
    assert words_of("# Title\n\n| a | table |\n\n`code` and two\nlines <!-- note -->") == 4


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("outputs are held against the reference", 1),
        ("Optimisation in turn, in colour", 3),
        ("interleaved processes compared with a baseline", 0),
    ],
)
def test_what_is_banned(text, count) -> None:
    assert len(banned_in(text)) == count


def test_code_and_links_are_not_prose() -> None:
    text = "`--normalise` and [x](colours.md)\n```\nknown depth\n```\nhttps://a/colour"
    assert banned_in(prose_of(text)) == []


def test_a_long_sentence() -> None:
    assert long_sentences("word " * 26) != []
    assert long_sentences("word " * 20 + "end. " + "word " * 20) == []
