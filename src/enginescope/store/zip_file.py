"""A run's folder as a zip file, and back."""

from __future__ import annotations

import secrets
import shutil
import zipfile
from pathlib import Path, PurePosixPath

from enginescope.core.errors import FormatError, StoreError
from enginescope.core.packed_files import Member, copy_member, opened_zip, safe_members
from enginescope.store.run_folder import DOCUMENT


def pack(folder: Path, destination: Path) -> Path:
    """Write `folder` as one top folder of a zip file, and return the file's path.

    Raises:
        StoreError: There is a file of that name, it cannot be written, or the run is deleted
            meanwhile.
    """
    if destination.suffix != ".zip":
        destination = destination.with_name(f"{destination.name}.zip")
    if destination.exists():
        raise StoreError(f"cannot write {destination}", why="a file of this name exists")
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


def unpack(file: Path, folder: Path, *, most_bytes: int | None = None) -> None:
    """Write what `pack` packed into `folder`, without the top folder.

    Args:
        most_bytes: What all files together may take.

    Raises:
        FormatError: It is not a zip file of a run, it is damaged, or a path in it leads out of its
            folder.
        StoreError: There is no space for it.
    """
    with opened_zip(file, expected="a zip file of one run") as packed:
        members = _below_top(safe_members(packed, str(file)), file)
        needed = sum(member.info.file_size for member in members)
        if most_bytes is not None and needed > most_bytes:
            why = f"it would take {needed:,} bytes; at most {most_bytes:,} are accepted"
            raise FormatError(str(file), why=why)
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise StoreError(f"cannot unpack {file}", why=f"{needed} bytes; {free} are free")
        for member in members:
            target = folder / member.path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as out:
                copy_member(packed, member, out)


def _below_top(members: list[Member], file: Path) -> list[Member]:
    """Return the files by their paths below the one top folder."""
    tops = {member.path.parts[0] for member in members}
    below = [Member(member.info, PurePosixPath(*member.path.parts[1:])) for member in members]
    if len(tops) != 1 or PurePosixPath(DOCUMENT) not in {one.path for one in below}:
        why = f"not one folder with a {DOCUMENT} in it"
        raise FormatError(str(file), why=why, expected="a zip file of one run")
    return below


def _discard(part: Path) -> None:
    try:
        part.unlink(missing_ok=True)
    except OSError:  # its folder was not there to begin with
        return
