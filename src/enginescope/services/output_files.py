"""Files that a verb writes: never over its inputs or over each other, and always whole."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from enginescope.core.errors import UsageError, os_errors_as, reason_of
from enginescope.core.jsonio import write_atomic
from enginescope.services.declared import File


def check_outputs(outputs: Iterable[File | None], inputs: Iterable[File | None]) -> None:
    """Raise if an output would overwrite an input or another output, or is ``-``; skip ``None``."""
    read = {Path(one).resolve() for one in inputs if one is not None}
    written: set[Path] = set()
    for output in outputs:
        if output is None:
            continue
        real = Path(output).resolve()
        if str(output) == "-":
            why = "results go into files; standard output has what --json prints"
            raise UsageError("cannot write -", why=why, hint="a file's name")
        if real in read:
            why = "it is a file that is read"
            raise UsageError(f"cannot write {output}", why=why, hint="another name")
        if real in written:
            raise UsageError(f"cannot write {output}", why="two results would go into it")
        written.add(real)


def write_file(path: Path, data: bytes) -> None:
    with os_errors_as(UsageError, f"cannot write {path}"):
        write_atomic(path, data)


def write_each(folder: Path, files: Mapping[str, bytes]) -> tuple[tuple[str, ...], str | None]:
    """Write files by their names; return those that could not be written, and a message on them."""
    lost, why = [], ""
    for name, data in files.items():
        try:
            write_atomic(folder / name, data)
        except OSError as error:
            lost.append(name)
            why = reason_of(error)
    message = (
        f"{', '.join(lost)} could not be stored in {folder}: {why}; "
        "make space or name a folder on another disk, and run it again"
    )
    return tuple(lost), message if lost else None
