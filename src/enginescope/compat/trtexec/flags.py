"""Look up a flag of trtexec as one version has it."""

from __future__ import annotations

from enginescope.compat.trtexec.version import Version
from enginescope.core.errors import UsageError
from enginescope.core.suggest import closest
from enginescope.formats.trtexec.log_lines import newer_release_text
from enginescope.formats.trtexec.trtexec_flags import Flag, all_flags

#: Ours, beside trtexec's own.
STORE_FLAG = "--es-store"


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
            f"{name} came with TensorRT {_text(flag.first)}", why=f"installed is {version}"
        )
    if not flag.is_in(version.release):
        assert flag.last is not None
        raise UsageError(
            f"{name} is gone in TensorRT {version}",
            why=f"TensorRT {_text(flag.last)} was the last to have it",
            hint=flag.instead,
        )
    if flag.is_refused:
        raise UsageError(f"{name} is not honoured", why=flag.meaning)
    return flag


def _text(release: tuple[int, int]) -> str:
    return f"{release[0]}.{release[1]}"
