"""Pages whose generated parts stand between marks; the prose around them is written by hand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference"


@dataclass(frozen=True)
class Page:
    """A page of the reference.

    Attributes:
        name: Path below ``docs/reference``.
        parts: Name of a mark to the function that makes the Markdown there.
        whole: Makes the whole file, which then has no marks.
        library: Package whose version changes the text; the page has that of requirements.lock.
    """

    name: str
    parts: Mapping[str, Callable[[], str]]
    whole: Callable[[], str] | None = None
    library: str | None = None

    @property
    def path(self) -> Path:
        return REFERENCE / self.name

    def rendered(self) -> str:
        """Return the page with its parts as the code has them."""
        if self.whole is not None:
            return self.whole()
        text = self.path.read_text(encoding="utf-8")
        for part, make in self.parts.items():
            begin, end = f"<!-- begin of the {part} -->", f"<!-- end of the {part} -->"
            head, has_begin, rest = text.partition(begin)
            _, has_end, tail = rest.partition(end)
            assert has_begin, f"{self.name} has no place for the {part}"
            assert has_end, f"{self.name} does not mark the end of the {part}"
            text = f"{head}{begin}\n{make()}\n{end}{tail}"
        return text


def table(headers: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table; pipes inside cells are escaped."""
    lines = [headers, tuple("---" for _ in headers), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
