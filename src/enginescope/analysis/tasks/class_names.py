"""Classes by number and by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from enginescope.core.errors import FormatError, UsageError
from enginescope.core.suggest import did_you_mean


class ClassNames:
    """What the classes of a model are called.

    Args:
        file: A line for each class in the order of the model's output; a line's first word alone
            also names it (``n01440764 tench, Tinca tinca``).

    Raises:
        UsageError: There is no such file.
        FormatError: It holds no names.
    """

    def __init__(self, file: str | None) -> None:
        self._file = file
        self._names = _lines(Path(file)) if file else ()
        self._numbers = {one: at for at, one in enumerate(self._names)}
        for at, one in enumerate(self._names):
            self._numbers.setdefault(one.split()[0], at)

    def name(self, number: int) -> str:
        """Return a class's name; its number where none is known."""
        return self._names[number] if 0 <= number < len(self._names) else str(number)

    def number(self, label: str, others: Sequence[str] = ()) -> int:
        """Return the number of a class.

        Args:
            label: A name, where they are known; a number; or one of `others`.
            others: All labels there are: without names, and where they are no numbers, their
                alphabetical order is that of the model's output, as folders of classes are read
                elsewhere.

        Raises:
            UsageError: No class is called so.
        """
        if label in self._numbers:
            return self._numbers[label]
        if label.isdecimal():
            return int(label)
        if self._names:
            hint = did_you_mean(label, list(self._numbers)[:200])
            raise UsageError(f"no class in {self._file} is called {label!r}", hint=hint)
        if label in others:
            return sorted(others).index(label)
        raise UsageError(f"class {label!r}", why="it is no number", hint="names=FILE names them")


def _lines(path: Path) -> tuple[str, ...]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"names {path}", why=error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise FormatError(str(path), why="it is not UTF-8") from error
    found = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not found:
        raise FormatError(str(path), why="it holds no names", expected="a class a line")
    return found
