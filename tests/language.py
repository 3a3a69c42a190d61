"""The style of all text that people read: what the tests can hold of it."""

import re

MOST_WORDS = 25

#: Phrases that nobody says, and what to write.
BANNED = {
    r"what came of it": "name the thing",
    r"who answers": "name the thing",
    r"what is beside": "name the thing",
    r"(?:held?|holds|holding) against": "compare with",
    r"(?:held?|holds|holding) to a ": "compare with",
    r"known depth": "ground truth",
    r"(?:cannot|can) be told": "inconclusive",
    r"nothing can be said": "inconclusive",
    r"in turn\b": "interleaved",
    r"independent ones": "effective sample size",
    r"models? of depth": "depth-estimation model",
    r"errands?": "remote task",
    r"sittings?": "suite session",
    r"wait(?:s|ing)? busily": "busy-wait",
    r"what weakens": "warning",
    r"good to know": "note",
    r"build's story": "build log summary",
    r"artefacts?": "files, artifacts",
    r"optimis(?:e|ed|ation)": "optimize",
    r"normalis(?:e|ed|ation)": "normalize",
    r"colours?": "color",
    r"quantis(?:e|ed|ation)": "quantize",
    r"(?<!there )is no (?:model|tag|name|number|list|clock)\b": "is not a …",
}
_BANNED = {re.compile(rf"\b{pattern}", re.IGNORECASE): hint for pattern, hint in BANNED.items()}
#: All at once: most texts have none of them.
_ANY = re.compile(rf"\b(?:{'|'.join(BANNED)})", re.IGNORECASE)
_CODE = re.compile(
    r"```.*?```|`[^`\n]*`|<code>.*?</code>|https?://\S+|\]\([^)]*\)|<!--.*?-->", re.DOTALL
)
#: A full stop, colon or semicolon ends a thought; one inside a file name or a number does not.
_ENDS = re.compile(r"[.:;!?](?=\s|$)|  ")


def banned_in(text: str) -> list[str]:
    """Return the phrases of a text that the style sheet replaces, each with what to write."""
    return [
        f"{match[0]!r}: write {hint!r}"
        for pattern, hint in (_BANNED.items() if _ANY.search(text) else ())
        for match in pattern.finditer(text)
    ]


def prose_of(markdown: str) -> str:
    """Return Markdown without code, links' targets and comments."""
    return _CODE.sub(" ", markdown)


def words_of(markdown: str) -> int:
    """Return the number of words of prose: without code, comments, and tables, which are data."""
    lines = prose_of(markdown).splitlines()
    prose = " ".join(line for line in lines if not line.lstrip().startswith("|"))
    return sum(any(map(str.isalnum, word)) for word in prose.split())


def long_sentences(text: str) -> list[str]:
    """Return the sentences with more words than one reading takes."""
    return [one.strip() for one in _ENDS.split(text) if len(one.split()) > MOST_WORDS]
