"""Every flag of trtexec 8.0 to 11.1: since when, until when, and what becomes of it here."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import closest
from enginescope.formats.trtexec_release import newer_release_text
from enginescope.trtexec.version import Version

#: Ours, beside trtexec's own.
STORE_FLAG = "--es-store"


class Flag(Record, frozen=True, kw_only=True):
    """One flag.

    Attributes
    ----------
    name : str
        ``--fp16``.
    group : str
        Section of the help.
    first, last : tuple of int, or None
        First and last release (major, minor) that has it; ``None`` as the last: not gone.
    kind : {"flag", "int", "float", "text", "file", "shapes"}
        What stands behind the equals sign; ``flag``: nothing does.
    repeatable : bool
    default : str or None
    to : str
        ``setting``: read by `settings`; ``option KEY`` or ``option KEY=VALUE``: an option of the
        backend; ``precision NAME``; ``alias NAME``; ``nothing``: accepted without effect;
        ``refused``.
    meaning : str or None
        What it does; of a refused flag, why not.
    instead : str or None
        What to use where it is gone.
    """

    name: str
    group: str
    first: tuple[int, int]
    last: tuple[int, int] | None = None
    kind: str = "flag"
    repeatable: bool = False
    default: str | None = None
    to: str = "setting"
    meaning: str | None = None
    instead: str | None = None

    @property
    def is_refused(self) -> bool:
        """Whether it cannot be honoured, whatever the version."""
        return self.to == "refused"

    @property
    def alias_of(self) -> str | None:
        """The flag it is another name of."""
        word, _, name = self.to.partition(" ")
        return name if word == "alias" else None

    def is_in(self, version: Version) -> bool:
        """Whether that TensorRT's trtexec has it."""
        release = version.release
        return self.first <= release and (self.last is None or release <= self.last)


@lru_cache(maxsize=1)
def all_flags() -> dict[str, Flag]:
    """Return the flags by name, in the order of the help."""
    text = resources.files("enginescope.trtexec").joinpath("flag_table.tsv").read_text("utf-8")
    header, *lines = text.splitlines()
    columns = header.split("\t")
    rows = (dict(zip(columns, line.split("\t"), strict=True)) for line in lines)
    return {one.name: one for one in map(_flag, rows)}


def flag_for(name: str, version: Version) -> Flag:
    """Return the flag `name` as trtexec of `version` has it.

    Raises
    ------
    UsageError
        There is none, another version has it, or it cannot be honoured here.
    """
    flags = all_flags()
    flag = flags.get(name)
    if flag is None:
        known = [one.name for one in flags.values() if one.is_in(version)]
        near = closest(name, [*known, STORE_FLAG])
        hint = f"did you mean {near}?" if near else "enginescope trtexec --help lists the flags"
        raise UsageError(
            f"trtexec has no flag {name}", why=newer_release_text(version.parts), hint=hint
        )
    if flag.first > version.release:
        raise UsageError(
            f"{name} came with TensorRT {_text(flag.first)}", why=f"installed is {version}"
        )
    if not flag.is_in(version):
        assert flag.last is not None
        raise UsageError(
            f"{name} is gone in TensorRT {version}",
            why=f"TensorRT {_text(flag.last)} was the last to have it",
            hint=flag.instead,
        )
    if flag.is_refused:
        raise UsageError(f"{name} is not honoured", why=flag.meaning)
    return flag


def _flag(row: dict[str, str]) -> Flag:
    known = {key: None if value == "-" else value for key, value in row.items()}
    kind = row["kind"]
    last = known["last"]
    return Flag(
        name=row["flag"],
        group=row["group"],
        first=_release(row["first"]),
        last=_release(last) if last else None,
        kind=kind.rstrip("*"),
        repeatable=kind.endswith("*"),
        default=known["default"],
        to=row["to"],
        meaning=known["meaning"],
        instead=known["instead"],
    )


def _release(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def _text(release: tuple[int, int]) -> str:
    return f"{release[0]}.{release[1]}"
