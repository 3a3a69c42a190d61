"""The help of the verb, from the table of flags.

A TensorRT version, as a number line and as trtexec prints it.
Look up a flag of trtexec as one version has it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import closest
from enginescope.formats.trtexec.trtexec_flags import Flag, all_flags, newer_release_text


class Version(Record, frozen=True, kw_only=True):
    """A TensorRT version."""

    major: int
    minor: int
    patch: int = 0
    build: int | None = None

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor."""
        return self.major, self.minor

    @property
    def parts(self) -> tuple[int, int, int]:
        """Major, minor and patch."""
        return self.major, self.minor, self.patch

    @property
    def number(self) -> int:
        """As trtexec prints it: 8601, 101600."""
        base = 10_000 if self.major >= 10 else 1_000
        return self.major * base + self.minor * 100 + self.patch

    def at_least(self, major: int, minor: int = 0, patch: int = 0) -> bool:
        return (self.major, self.minor, self.patch) >= (major, minor, patch)


def parse_version(text: str) -> Version | None:
    """Return the version in ``10.16.1.11``; ``None`` if it does not begin with two numbers."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?(?:\.(\d+))?", text)
    if match is None:
        return None
    return Version(
        major=int(match[1]),
        minor=int(match[2]),
        patch=int(match[3] or 0),
        build=int(match[4]) if match[4] else None,
    )


#: Ours, beside trtexec's own.
STORE_FLAG = "--es-store"
CHECK_FLAG, VERSION_FLAG = "--check", "--for"


def flag_for(name: str, version: Version) -> Flag:
    """Return the flag `name` as trtexec of `version` has it.

    Raises:
        UsageError: There is none, another version has it, or it cannot be honoured here.
    """
    flags = all_flags()
    flag = flags.get(name)
    if flag is None:
        known = [one.name for one in flags.values() if one.is_in(version.release)]
        near = closest(name, [*known, STORE_FLAG])
        hint = f"did you mean {near}?" if near else "enginescope trtexec --help lists the flags"
        raise UsageError(
            f"trtexec has no flag {name}", why=newer_release_text(version.parts), hint=hint
        )
    if flag.first > version.release:
        raise UsageError(
            f"{name} was added in TensorRT {_text(flag.first)}", why=f"installed is {version}"
        )
    if not flag.is_in(version.release):
        assert flag.last is not None
        raise UsageError(
            f"{name} is gone in TensorRT {version}",
            why=f"TensorRT {_text(flag.last)} was the last to have it",
            hint=flag.instead,
        )
    if flag.is_refused:
        raise UsageError(f"{name} is not supported", why=flag.meaning, hint=flag.instead)
    return flag


def _text(release: tuple[int, int]) -> str:
    return f"{release[0]}.{release[1]}"


_TITLES = {
    "model": "Model Options",
    "build": "Build Options",
    "tuning": "Tuning Options",
    "system": "System Options",
    "inference": "Inference Options",
    "reporting": "Reporting Options",
    "help": "Help",
}
_PLACES = {"int": "N", "float": "N", "text": "spec", "file": "<file>", "shapes": "spec"}
_STORE = "folder of runs, as --store of the other verbs (enginescope's own flag)"


def help_text(version: Version | None) -> str:
    """Return the help: the flags of a version that are honoured, then those that are not.

    Args:
        version: ``None``: no TensorRT is installed; flags of all versions are listed.
    """
    flags = [one for one in all_flags().values() if version is None or one.is_in(version.release)]
    whose = f"TensorRT {version}" if version else "all versions: TensorRT is not installed"
    lines = [
        "Usage: enginescope trtexec --onnx=<file> | --loadEngine=<file> [--flag[=value] ...]",
        "",
        f"trtexec's command line on TensorRT's Python API. Flags of {whose}.",
    ]
    newer = newer_release_text(version.parts) if version else None
    lines += textwrap.wrap(f"{newer}.", 100) if newer else []
    for group, title in _TITLES.items():
        mine = [one for one in flags if one.group == group and not one.is_refused]
        if mine:
            lines += ["", f"=== {title} ===", *_listed(mine)]
    lines += ["", "=== enginescope ===", f"  {STORE_FLAG + '=<dir>':<36} {_STORE}"]
    lines += [
        f"  {CHECK_FLAG:<36} check the command line, and write it for a version; needs no TensorRT",
        f"  {VERSION_FLAG + '=V':<36} with {CHECK_FLAG}: the version of TensorRT, such as 11.1",
    ]
    refused = [one.name for one in flags if one.is_refused]
    lines += ["", "Not supported; each names the reason when it is used:", *_wrapped(refused)]
    return "\n".join(lines) + "\n"


def _listed(flags: Iterable[Flag]) -> Iterator[str]:
    for one in flags:
        spelled = one.name if one.kind == "flag" else f"{one.name}={_PLACES[one.kind]}"
        default = f" (default {one.default})" if one.default not in (None, "off") else ""
        yield f"  {spelled:<36} {_meaning(one)}{default}"


def _meaning(flag: Flag) -> str:
    return f"same as {flag.alias_of}" if flag.alias_of else flag.meaning or ""


def _wrapped(names: Iterable[str]) -> Iterator[str]:
    line = " "
    for name in names:
        if len(line) + 1 + len(name) > 80:
            yield line
            line = " "
        line += f" {name}"
    yield line
