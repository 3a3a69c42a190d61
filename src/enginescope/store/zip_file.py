"""A run's folder as a zip file, and back."""

from __future__ import annotations

import secrets
import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from enginescope.core.errors import FormatError, StoreError
from enginescope.store.run_folder import DOCUMENT

_UNREADABLE = (OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error)


def pack(folder: Path, destination: Path) -> Path:
    """Write `folder` as one top folder of a zip file, and return the file's path.

    Raises
    ------
    StoreError
        There is a file of that name, it cannot be written, or the run is deleted meanwhile.
    """
    if destination.suffix != ".zip":
        destination = destination.with_name(f"{destination.name}.zip")
    if destination.exists():
        raise StoreError(f"cannot write {destination}", why="there is a file of that name")
    part = destination.with_name(f".{destination.name}.{secrets.token_hex(4)}")
    try:
        with zipfile.ZipFile(
            part, "x", compression=zipfile.ZIP_DEFLATED, strict_timestamps=False
        ) as made:
            for file in sorted(folder.rglob("*")):
                if file.is_file() and not file.is_symlink():
                    made.write(file, f"{folder.name}/{file.relative_to(folder).as_posix()}")
            if f"{folder.name}/{DOCUMENT}" not in made.namelist():
                raise StoreError(f"run {folder.name}", why=f"it has no {DOCUMENT}")
        part.replace(destination)
    except OSError as error:
        raise StoreError(f"cannot write {destination}", why=str(error)) from error
    finally:
        _discard(part)
    return destination


def unpack(file: Path, folder: Path) -> None:
    """Write what `pack` packed into `folder`, without the top folder.

    Raises
    ------
    FormatError
        It is no zip file of one run, it is damaged, or a path in it leads out of its folder.
    StoreError
        There is no space for it.
    """
    try:
        with zipfile.ZipFile(file) as packed:
            members = _members(packed, file)
            needed = sum(info.file_size for info, _ in members)
            free = shutil.disk_usage(folder).free
            if needed > free:
                raise StoreError(f"cannot unpack {file}", why=f"{needed} bytes; {free} are free")
            for info, path in members:
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(info) as source, target.open("xb") as out:
                    shutil.copyfileobj(source, out)
    except _UNREADABLE as error:
        raise FormatError(str(file), why=str(error), expected="a zip file of one run") from error


def _members(packed: zipfile.ZipFile, file: Path) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Return the files to write and where, each path below the one top folder."""
    tops, members = set(), []
    for info in packed.infolist():
        path = PurePosixPath(info.filename)
        kind = stat.S_IFMT(info.external_attr >> 16)
        is_plain = kind in (0, stat.S_IFREG, stat.S_IFDIR)
        if path.is_absolute() or ".." in path.parts or "\\" in info.filename or not is_plain:
            why = "a link or a path that may lead out of its folder"
            raise FormatError(str(file), where=info.filename, why=why)
        tops.add(path.parts[0] if path.parts else "")
        if not info.is_dir():
            members.append((info, PurePosixPath(*path.parts[1:])))
    if len(tops) != 1 or PurePosixPath(DOCUMENT) not in [path for _, path in members]:
        why = f"not one folder with a {DOCUMENT} in it"
        raise FormatError(str(file), why=why, expected="a zip file of one run")
    return members


def _discard(part: Path) -> None:
    try:
        part.unlink(missing_ok=True)
    except OSError:  # its folder was not there to begin with
        return
