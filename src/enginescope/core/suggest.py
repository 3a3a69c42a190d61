"""Did you mean …?"""

import difflib
from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, or ``None`` when nothing is near."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the nearest choice, or all of them in quotes."""
    choices = sorted(known)
    near = closest(name, choices)
    return f"did you mean {near}?" if near else f"one of: {', '.join(map(repr, choices))}"
