"""The documentation follows the style sheet: phrases that it replaces become fewer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language import banned_in, long_sentences, prose_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CHANGELOG.md"]
#: Phrases of `language.BANNED` in all pages together. The count may only fall.
LEFT = 61


def test_banned_phrases_become_fewer() -> None:
    wrong = [
        f"{page.relative_to(ROOT)}: {phrase}"
        for page in PAGES
        for phrase in banned_in(prose_of(page.read_text(encoding="utf-8")))
    ]
    assert len(wrong) <= LEFT, "\n".join(wrong)


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
