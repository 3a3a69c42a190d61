"""The token of a server: from a file or the environment, never from the command line."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from enginescope.cli.options import FILE, option
from enginescope.core.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

VARIABLE = "ENGINESCOPE_TOKEN"
_PRIVATE = 0o600
_OTHERS = 0o077


def token_option(help_text: str) -> Callable[[F], F]:
    """Return what adds ``--token-file``."""
    return option("--token-file", f"{help_text}  [default: ${VARIABLE}]", FILE)


def given_token(file: Path | None) -> str | None:
    """Return the token in a file, else that of the environment."""
    if file is None:
        return os.environ.get(VARIABLE) or None
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"token file {file}", why=why) from error
    if not text:
        raise UsageError(f"token file {file}", why="it is empty")
    return text


def needed_token(file: Path | None) -> str:
    """Return the token in a file, else that of the environment."""
    token = given_token(file)
    if token is None:
        hint = f"--token-file FILE, or set {VARIABLE}"
        raise UsageError("the server's token is needed", hint=hint)
    return token


def made_token(file: Path) -> bool:
    """Write a fresh token to a file that is not there, for its owner's eyes; say whether it did."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    except FileExistsError:
        return False
    except OSError as error:
        raise UsageError(f"cannot write {file}", why=error.strerror) from error
    with os.fdopen(descriptor, "w") as out:
        out.write(f"{secrets.token_urlsafe(32)}\n")
    return True


def is_open_to_others(file: Path) -> bool:
    """Whether others on this machine may read a file."""
    return bool(file.stat().st_mode & _OTHERS)
