"""What a verb says beside its results: always on standard error, as much as -q and -v let it."""

import os
import shlex
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import click

QUIET, USUAL, VERBOSE = 0, 1, 2

#: Folders whose files are the system's, Python's or our own: reading them says nothing.
_SILENT = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", sys.prefix, sys.base_prefix)
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
_SUFFIXES = (".py", ".pyc", ".so")


class _Messages:
    """How much is said, and which files were named already."""

    level = USUAL
    is_listening = False
    named: ClassVar[set[str]] = set()
    ours = ""


def set_level(level: int) -> None:
    """Say as much as `level` from now on; ``VERBOSE`` names files that are read and processes."""
    _Messages.level = level
    _Messages.named.clear()
    if level == VERBOSE and not _Messages.is_listening:
        from tempfile import gettempdir  # not in the hook, which hears that this is imported

        _Messages.ours = os.path.join(gettempdir(), "enginescope-")  # noqa: PTH118
        sys.addaudithook(_listen)  # nothing can remove a hook: it looks at the level itself
        _Messages.is_listening = True


def is_usual() -> bool:
    """Whether neither ``-q`` nor ``-v`` is on, so that lines can be shown and taken back."""
    return _Messages.level == USUAL


def is_verbose() -> bool:
    """Whether ``-v`` is on, so that screens are whole."""
    return _Messages.level == VERBOSE


def note(text: str) -> None:
    """Say something that is neither a result nor a warning, unless ``-q`` is on."""
    if _Messages.level != QUIET:
        warn(text)


def warn(text: str) -> None:
    """Say something that ``-q`` does not silence."""
    print(text, file=sys.stderr, flush=True)


def detail(text: str) -> None:
    """Say something that is for ``-v`` alone."""
    if _Messages.level == VERBOSE:
        warn(f"  {text}")


def next_steps(*steps: tuple[str, str]) -> None:
    """End a verb: what can be done next, and the command line or file for it."""
    from shutil import get_terminal_size

    width, lines = get_terminal_size().columns, [""]
    for purpose, what in steps:
        text = f"{purpose}: {what}"
        if lines[-1] and len(lines[-1]) + 3 + len(text) <= width:
            lines[-1] += f" · {text}"
        else:
            lines.append(f"  {text}")
    note("\n".join(lines[1:]))


def words(*parts: object) -> str:
    """Return a command line that a shell reads as `parts`; ``None`` is left out."""
    return shlex.join(str(part) for part in parts if part is not None)


def level_options() -> list[click.Parameter]:
    """Return ``--quiet`` and ``--verbose``, which every verb has."""
    more = "Show every figure and notice; name the files read and the processes started."
    less = "Print results, warnings and errors only."
    return [
        click.Option(
            (f"-{name[0]}", f"--{name}"),
            is_flag=True,
            expose_value=False,
            help=text,
            callback=_level_setter(level),
        )
        for name, level, text in (("quiet", QUIET, less), ("verbose", VERBOSE, more))
    ]


def _level_setter(level: int) -> Callable[[click.Context, click.Parameter, bool], None]:
    def set_it(context: click.Context, _param: click.Parameter, is_given: bool) -> None:
        if not is_given or context.resilient_parsing:
            return
        if _Messages.level not in (USUAL, level):
            raise click.UsageError("--quiet and --verbose exclude each other", context)
        set_level(level)

    return set_it


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    """Hear Python's audit events: https://docs.python.org/3/library/audit_events.html."""
    if _Messages.level != VERBOSE:
        return
    if event == "open":
        path, mode, flags = arguments
        is_read = "r" in mode if mode is not None else flags & os.O_ACCMODE == os.O_RDONLY
        if isinstance(path, (str, os.PathLike)) and is_read:
            _name_file(os.path.abspath(os.fsdecode(path)))  # noqa: PTH100 - what was opened
    elif event == "subprocess.Popen":
        command = arguments[1]
        line = command if isinstance(command, str) else shlex.join(map(os.fsdecode, command))
        detail(f"start {line}")


def _name_file(path: str) -> None:
    is_silent = path in _Messages.named or path.startswith((*_SILENT, _OWN, _Messages.ours))
    if is_silent or path.endswith(_SUFFIXES) or not os.path.isfile(path):  # noqa: PTH113 - often
        return
    _Messages.named.add(path)
    detail(f"read {path}")
