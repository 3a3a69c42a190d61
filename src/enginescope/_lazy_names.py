"""Names of a package that are imported when they are first used, as its stub lists them."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Args:
        package: Its ``__name__``.
        file: Its ``__file__``; lines ``from MODULE import NAME as NAME`` of the stub beside it are
            the public names.
    """
    with open(f"{file.rpartition('.')[0]}.pyi", encoding="utf-8") as stub:  # noqa: PTH123
        lines = stub.read().splitlines()
    homes = {words[3]: words[1] for words in map(str.split, lines) if words[:1] == ["from"]}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return load, lambda: sorted(homes), sorted(homes)
