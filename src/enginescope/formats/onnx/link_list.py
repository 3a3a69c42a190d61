"""A user's list of models to download: a link on each line, its checksum and name behind it."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import read_bytes
from enginescope.core.record import Record

_SHA256 = re.compile(r"(?:sha256[:=])?([0-9a-fA-F]{64})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
_ARCHIVES = (".tar.gz", ".tgz", ".tar", ".zip")


class ModelLink(Record, frozen=True, kw_only=True):
    """A file to download.

    Attributes:
        name: Of the folder it goes into.
        file: Its own name.
        sha256: ``None``: nobody says what it should be.
        line: In the list, from 1.
    """

    url: str
    name: str
    file: str
    sha256: str | None
    line: int

    @property
    def is_archive(self) -> bool:
        """Whether it holds files that are to be taken out."""
        return self.file.lower().endswith(_ARCHIVES)


class Fetched(Record, frozen=True, kw_only=True):
    """What came of a link.

    Attributes:
        sha256: Of the file, whether anybody said what it should be or not.
        was_there: It was whole already, and nothing was asked of the network.
    """

    link: ModelLink
    folder: str
    sha256: str
    was_there: bool


def read_links(path: Path) -> tuple[ModelLink, ...]:
    """Return the links of a list: ``URL [SHA256] [NAME]`` a line; ``#`` begins a remark.

    Raises:
        FormatError: A line is none, there is none at all, or two links go into one folder.
    """
    found: list[ModelLink] = []
    text = read_bytes(path).decode("utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition(" #")[0].split() if not line.lstrip().startswith("#") else []
        if words:
            found.append(_link(words, number, str(path)))
    if not found:
        raise FormatError(str(path), why="it lists no model", expected="URL [SHA256] [NAME] a line")
    names = [one.name for one in found]
    twice = next((one for one in found if names.count(one.name) > 1), None)
    if twice is not None:
        raise FormatError(
            str(path),
            where=f"line {twice.line}",
            why=f"another line is called {twice.name} too",
            expected="a name of its own at the end of the line",
        )
    return tuple(found)


def _link(words: list[str], line: int, source: str) -> ModelLink:
    where = f"line {line}"
    parts = urlsplit(words[0])
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise FormatError(source, where=where, why=f"{words[0]!r} is no http or https link")
    file = unquote(PurePosixPath(parts.path).name)
    if not _NAME.fullmatch(file):
        raise FormatError(source, where=where, why=f"{words[0]!r} does not end in a file's name")
    sha256: str | None = None
    name: str | None = None
    for word in words[1:]:
        digest = _SHA256.fullmatch(word)
        if digest:
            sha256 = digest[1].lower()
        elif _NAME.fullmatch(word) and name is None:
            name = word
        else:
            raise FormatError(source, where=where, why=f"{word!r} is neither a SHA-256 nor a name")
    return ModelLink(url=words[0], name=name or _stem(file), file=file, sha256=sha256, line=line)


def _stem(file: str) -> str:
    for ending in (*_ARCHIVES, ".onnx"):
        if file.lower().endswith(ending):
            return file[: -len(ending)] or file
    return file
