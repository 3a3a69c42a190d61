"""``enginescope archive``: an engine and all that explains it, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.messages import note, warn
from enginescope.cli.options import EXISTING, FILE, FOLDER, json_option, option, store_option
from enginescope.cli.report_output import print_data, print_paths
from enginescope.cli.verb import verb_of_verbs
from enginescope.core.units import format_bytes
from enginescope.formats.archive.engine_archive import RUNS
from enginescope.judge.units import counted
from enginescope.render.base.data_table import inert_text

if TYPE_CHECKING:
    from enginescope.formats.archive.engine_archive import Manifest, TeaEntry, TeaSubject


@verb_of_verbs(
    "archive",
    "Pack the latest run and its engine",
    "enginescope archive create model.tea latest",
    "Check the files of an archive",
    "enginescope archive list model.tea --check",
)
def command() -> None:
    """Pack an engine and all files about it into one .tea archive.

    explore, lint, report, compare and import read an archive like a folder. They also read trex's
    archives.
    """


@command.verb(
    "create",
    "Pack the files of one folder",
    "enginescope archive create model.tea folder/",
    "Pack a run without its engine",
    "enginescope archive create run.tea latest --without engine",
    short_help="Write files, folders and runs to one file.",
)
@click.argument("archive", type=FILE)
@click.argument("what", metavar="FILE|FOLDER|RUN...", nargs=-1, required=True)
@option(
    "--without",
    "Exclude files of this kind: engine, timing_cache, model, …",
    multiple=True,
    metavar="KIND",
)
@option(
    "--only",
    "Add the named plan files alone, without the times and metadata next to them.",
    is_flag=True,
)
@option("--force", "Overwrite an existing file.", is_flag=True)
@store_option
@json_option
def create(archive: Path, what: tuple[str, ...], **options: Any) -> None:
    """Write ARCHIVE from files, folders and stored runs.

    A plan file brings the layer times and trex metadata of the same name. A RUN brings its engine
    if the engine file is unchanged. The manifest records each file's SHA-256, versions, GPU and
    command.
    """
    from enginescope.cli.terminal_observer import NotingObserver
    from enginescope.services.observer import PlanObserver
    from enginescope.services.plans.archive import ArchiveRequest, create_archive

    named = {name: options[name] for name in ("without", "only", "force")}
    store = options["store_folder"]
    request = ArchiveRequest(archive=archive, files=what, store=store, **named)
    created = create_archive(request, PlanObserver())
    if options["as_json"]:
        print_data(created.manifest)
    else:
        _show(archive, created.manifest, created.manifest.files)
    if created.companions:
        names = ", ".join(path.name for path in created.companions)
        note(f"also added, from the plan's folder: {names}; --only skips them")
    NotingObserver().file_written(archive)


@command.verb(
    "list",
    "List the files of an archive",
    "enginescope archive list model.tea",
    "Check every file",
    "enginescope archive list model.tea --check",
    short_help="List the files of an archive.",
)
@click.argument("archive", type=EXISTING)
@option("--check", "Check every file against its SHA-256.", is_flag=True)
@json_option
def list_files(archive: Path, check: bool, as_json: bool) -> int:
    """List the files in ARCHIVE; exit with 1 if --check finds a changed file."""
    from enginescope.formats.archive.engine_archive import check_tea, read_tea

    contents = read_tea(archive)
    changed = check_tea(archive) if check else ()
    if as_json:
        told = {"manifest": contents.manifest, "files": contents.entries}
        more = {"unlisted": contents.unlisted, "changed": changed if check else None}
        print_data({**told, **more})
    else:
        _show(archive, contents.manifest, contents.entries)
    for name in contents.unlisted:
        warn(f"not in the manifest: {name}")
    for name in changed:
        warn(f"differs from the manifest: {name}")
    if check and not changed:
        against = "the manifest's SHA-256" if contents.manifest else "the zip file's checksum"
        note(f"every file matches {against}")
    return int(bool(changed))


@command.verb(
    "extract",
    "Extract all files",
    "enginescope archive extract model.tea",
    "Extract to another folder",
    "enginescope archive extract model.tea -o folder/",
    short_help="Write its files to a folder.",
)
@click.argument("archive", type=EXISTING)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@option(
    "-o,--output",
    "Folder to write to.  [default: the archive's name without its extension]",
    FOLDER,
)
@json_option
def extract(archive: Path, names: tuple[str, ...], output: Path | None, **options: bool) -> None:
    """Extract ARCHIVE, or its files NAMES, and check their SHA-256."""
    from enginescope.services.plans.archive import extract_archive

    print_paths(extract_archive(archive, names, output), options)


def _show(archive: Path, manifest: Manifest | None, files: Sequence[TeaEntry]) -> None:
    whole = format_bytes(sum(one.size_bytes for one in files))
    print(f"{archive.name}: {counted(len(files), 'file')}, {whole}")
    if manifest is None:
        print("no manifest: written by trex or by hand")
    else:
        print(f"written {manifest.created[:10]} by enginescope {manifest.enginescope}")
        for one in manifest.subjects:
            print(_subject(one))
    print()
    rows = [(format_bytes(size), kind, inert_text(name)) for name, kind, size in _rows(files)]
    kinds = max((len(kind) for _, kind, _ in rows), default=0)
    for size, kind, name in rows:  # names whole, to be copied: neither cut nor broken
        print(f"{size:>9}  {kind:<{kinds}}  {name}")


def _rows(files: Sequence[TeaEntry]) -> list[tuple[str, str, int]]:
    """Return name, kind and bytes of each file; a run's files, of which it has dozens, in one."""
    sizes: dict[tuple[str, str], list[int]] = {}
    for one in files:
        name = one.name
        if name.startswith(f"{RUNS}/") and name.count("/") > 1:
            name = "/".join((*name.split("/")[:2], ""))
        sizes.setdefault((name, one.kind), []).append(one.size_bytes)
    return [
        (f"{name} {len(each):,} files" if len(each) > 1 else name, kind, sum(each))
        for (name, kind), each in sizes.items()
    ]


def _subject(one: TeaSubject) -> str:
    versions = (version for name, version in one.versions.items() if name.startswith("tensorrt"))
    tensorrt = next(versions, None)
    devices = ", ".join(dict.fromkeys(device.name for device in one.devices))
    parts = (one.name, f"TensorRT {tensorrt}" if tensorrt else None, devices)
    return inert_text(" · ".join(filter(None, parts)))
