"""How runs may be called: ids, tags, ``latest``."""

from __future__ import annotations

import re

from enginescope.core.errors import StoreError

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TAG = re.compile(r"[^\s/\\-][^\s/\\]{0,127}")
_LATEST = re.compile(r"latest(?:~(\d{1,9}))?")


def is_id(name: str) -> bool:
    """Whether `name` can be the id of a run, and so the name of a folder."""
    return _ID.fullmatch(name) is not None


def check_id(run_id: str) -> None:
    """Raise `StoreError` unless `run_id` can be the id of a run."""
    if not is_id(run_id):
        raise StoreError(
            f"run id {run_id!r}", why="an id is up to 64 letters, digits, '.', '_' and '-'"
        )


def is_tag(name: str) -> bool:
    """Whether `name` can be a tag: no blanks, no slashes, no option, not ``latest``."""
    return _TAG.fullmatch(name) is not None and not name.startswith("latest")


def check_tag(tag: str) -> None:
    """Raise `StoreError` unless `tag` can be a tag."""
    if not is_tag(tag):
        raise StoreError(
            f"tag {tag!r}",
            why="a tag has no blanks and no slashes, and begins neither with '-' nor 'latest'",
        )


def steps_back(name: str) -> int | None:
    """Return 0 for ``latest``, 2 for ``latest~2``, ``None`` for other names."""
    match = _LATEST.fullmatch(name)
    return int(match[1] or 0) if match else None
