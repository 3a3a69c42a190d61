"""The help of the verb, and the flag list of its documentation: both from the table."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from enginescope.compat.trtexec.flags import STORE_FLAG
from enginescope.compat.trtexec.version import Version
from enginescope.formats.trtexec.log_lines import newer_release_text
from enginescope.formats.trtexec.trtexec_flags import Flag, all_flags

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
    refused = [one.name for one in flags if one.is_refused]
    lines += ["", "Not honoured; each says why when it is used:", *_wrapped(refused)]
    return "\n".join(lines) + "\n"


def flag_tables() -> str:
    """Return the flags as Markdown: one table of those honoured, one of those refused."""
    flags = list(all_flags().values())
    honoured = [one for one in flags if not one.is_refused]
    refused = [one for one in flags if one.is_refused]
    lines = [
        "### Honoured",
        "",
        "| flag | TensorRT | default | what it does | where it is gone |",
        "|---|---|---|---|---|",
        *(
            _row(_spelled(one), _range(one), one.default, _meaning(one), one.instead)
            for one in honoured
        ),
        "",
        "### Refused",
        "",
        "| flag | TensorRT | why |",
        "|---|---|---|",
        *(_row(f"`{one.name}`", _range(one), one.meaning) for one in refused),
    ]
    return "\n".join(lines) + "\n"


def _listed(flags: Iterable[Flag]) -> Iterator[str]:
    for one in flags:
        spelled = one.name if one.kind == "flag" else f"{one.name}={_PLACES[one.kind]}"
        default = f" (default {one.default})" if one.default not in (None, "off") else ""
        yield f"  {spelled:<36} {_meaning(one)}{default}"


def _meaning(flag: Flag) -> str:
    return f"same as {flag.alias_of}" if flag.alias_of else flag.meaning or ""


def _spelled(flag: Flag) -> str:
    value = "" if flag.kind == "flag" else f"={_PLACES[flag.kind]}"
    return f"`{flag.name}{value}`"


def _range(flag: Flag) -> str:
    last = f"{flag.last[0]}.{flag.last[1]}" if flag.last else ""
    return f"{flag.first[0]}.{flag.first[1]}–{last}"


def _row(*cells: str | None) -> str:
    return "| " + " | ".join((cell or "").replace("|", "\\|") for cell in cells) + " |"


def _wrapped(names: Iterable[str], width: int = 80) -> Iterator[str]:
    line = " "
    for name in names:
        if len(line) + 1 + len(name) > width:
            yield line
            line = " "
        line += f" {name}"
    yield line
