"""``enginescope archive``: an engine and all that explains it, in one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginescope.cli.options import json_option, note, store_option
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.store.location import StorePlace

_ARCHIVE = click.Path(dir_okay=False, exists=True, path_type=Path)


@click.group("archive")
def command() -> None:
    """Keep an engine and all that explains it in one file, a .tea.

    explore, lint, report, compare and import read it as they read a folder; so they read those of
    trex.
    """


@command.command("create", short_help="Write files, folders and runs to one file.")
@click.argument("archive", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("what", metavar="FILE|FOLDER|RUN...", nargs=-1, required=True)
@click.option(
    "--without", multiple=True, metavar="KIND", help="Leave out: engine, timing_cache, model, …"
)
@click.option("--only", is_flag=True, help="Of a plan's file no times or metadata beside it.")
@click.option("--force", is_flag=True, help="Overwrite a file of that name.")
@store_option
@json_option
def create(
    archive: Path,
    what: tuple[str, ...],
    without: tuple[str, ...],
    only: bool,
    force: bool,
    store_folder: StorePlace | None,
    as_json: bool,
) -> None:
    """Write ARCHIVE from files, folders of them, and stored runs.

    A plan's file brings the times and trex's metadata that are named like it.
    A RUN brings its engine along while that is still the file that was measured. The manifest
    has what every file is, its SHA-256, and versions, GPU and command as far as they are known.
    """
    from enginescope.cli.archive_files import gathered
    from enginescope.cli.archive_text import show_archive
    from enginescope.cli.outputs import check_outputs
    from enginescope.core.jsonio import encode
    from enginescope.formats.tea_writer import write_tea

    check_outputs([archive], what)
    if archive.exists() and not force:
        raise UsageError(f"{archive} is there already", hint="--force overwrites it")
    found = gathered(what, store_folder=store_folder, without=without, only=only, target=archive)
    # A neighbour is one more file that is read.
    check_outputs([archive], [str(one) for one in found.beside])
    manifest = write_tea(archive, found.files, found.subjects)
    if as_json:
        sys.stdout.buffer.write(encode(manifest))
    else:
        show_archive(archive, manifest, manifest.files)
    if found.beside:
        names = ", ".join(one.name for one in found.beside)
        note(f"taken too, beside a plan: {names}; --only leaves them out")
    note(f"written: {archive}")


@command.command("list", short_help="Say what is in one.")
@click.argument("archive", type=_ARCHIVE)
@click.option("--check", is_flag=True, help="Hold every file against its SHA-256.")
@json_option
def list_files(archive: Path, check: bool, as_json: bool) -> int:
    """Say what is in ARCHIVE; exit with 1 if --check finds a file changed."""
    from enginescope.cli.archive_text import show_archive
    from enginescope.core.jsonio import encode
    from enginescope.formats.tea_reader import check_tea, read_tea

    contents = read_tea(archive)
    changed = check_tea(archive) if check else ()
    if as_json:
        told = {
            "manifest": contents.manifest,
            "files": contents.entries,
            "unlisted": contents.unlisted,
            "changed": changed if check else None,
        }
        sys.stdout.buffer.write(encode(told))
    else:
        show_archive(archive, contents.manifest, contents.entries)
    for name in contents.unlisted:
        note(f"not in the manifest: {name}")
    for name in changed:
        note(f"not what the manifest says: {name}")
    if check and not changed:
        against = "the manifest's SHA-256" if contents.manifest else "the zip file's checksum"
        note(f"every file fits {against}")
    return int(bool(changed))


@command.command("extract", short_help="Write its files to a folder.")
@click.argument("archive", type=_ARCHIVE)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder.  [default: the archive's name, without its ending]",
)
@json_option
def extract(archive: Path, names: tuple[str, ...], output: Path | None, as_json: bool) -> None:
    """Write the files of ARCHIVE, or those with NAMEs, held against their SHA-256."""
    from enginescope.core.jsonio import encode
    from enginescope.core.suggest import did_you_mean
    from enginescope.formats.tea_reader import extract_tea, read_tea

    known = [one.name for one in read_tea(archive).entries]
    for name in names:
        if name not in known:
            hint = f"{did_you_mean(name, known)}; --output names a folder"
            raise UsageError(f"{archive} has no {name}", hint=hint)
    folder = output or archive.with_name(archive.stem if archive.suffix else f"{archive.name}.d")
    written = extract_tea(archive, folder, lambda one: not names or one.name in names)
    if as_json:
        sys.stdout.buffer.write(encode([str(path) for path in written]))
        return
    for path in written:
        print(path)
