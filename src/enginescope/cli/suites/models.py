"""``enginescope models``: what a suite's words stand for, and downloads of a user's own list."""

from pathlib import Path
from typing import Any

import click
from rich.live import Live
from rich.text import Text

from enginescope.cli.messages import note, warn
from enginescope.cli.options import FOLDER, PATH, json_option, option, store_option
from enginescope.cli.progress import Shown, error_console, live_lines
from enginescope.cli.report_output import print_data, print_paths
from enginescope.cli.verb import EXIT_RUN_FAILED, verb_of_verbs
from enginescope.core.units import format_bytes
from enginescope.formats.onnx.onnx_copies import Fetched
from enginescope.services.suites.models import DownloadObserver


class DownloadProgress(Shown[Live], DownloadObserver):
    """Shows how much of a file is there, between ``with`` and its end."""

    def __init__(self) -> None:
        super().__init__(live_lines(error_console()))

    def warn(self, text: str) -> None:
        warn(text)

    def download_progressed(self, place: str, have: int, size: int | None) -> None:
        if self._live:
            of_all = f" of {format_bytes(size)}" if size is not None else ""
            self._live.update(Text(f"{place}: {format_bytes(have)}{of_all}"))

    def download_ended(self, place: str, fetched: Fetched) -> None:
        note(f"{place}: {'already downloaded' if fetched.was_there else fetched.folder}")
        if fetched.link.sha256 is None:
            note(f"  the list has no SHA-256 for it; it is {fetched.sha256}")


@verb_of_verbs(
    "models",
    "List the bundled models",
    "enginescope models list",
    "Download the models of a list",
    "enginescope models fetch list.txt --to models",
)
def command() -> None:
    """List models for suites, and download models from your own list."""


@command.verb(
    "list",
    "List the bundled models",
    "enginescope models list",
    "List the models of a folder",
    "enginescope models list models/",
)
@click.argument("words", nargs=-1)
@store_option
@json_option
def list_command(words: tuple[str, ...], store_folder: Any, as_json: bool) -> None:
    """List the models that WORDS name: files, folders, patterns, onnx:light, samples.

    Without WORDS, list the bundled models.
    """
    from enginescope.services.suites.models import list_models

    listed = list_models(words, store_folder)
    if as_json:
        print_data(listed)
        return
    from enginescope.render.base.text import show
    from enginescope.render.base.text_table import table

    rows = [
        (model.name, word, format_bytes(Path(model.path).stat().st_size), model.path)
        for word, models in listed.items()
        for model in models
    ]
    show(table(("name", "word", "size", "file"), rows, right=("size",)))


@command.verb(
    "samples",
    "Write the samples to the store",
    "enginescope models samples",
    "Write them to a folder",
    "enginescope models samples --to samples/",
)
@option("--to folder", "Folder to write to.  [default: the store's samples]", FOLDER)
@store_option
@json_option
def samples_command(folder: Path | None, store_folder: Any, **options: bool) -> None:
    """Write the bundled models and recorded plans, for the notebooks and to try things.

    Skips files that exist.
    """
    from enginescope.services.suites.models import write_samples

    target = write_samples(folder, store_folder)
    print_paths(sorted(path for path in target.rglob("*") if path.is_file()), options)


@command.verb(
    "fetch",
    "Download the models of a list",
    "enginescope models fetch list.txt",
    "Download to another folder",
    "enginescope models fetch list.txt --to folder/",
)
@click.argument("links", type=PATH, metavar="LIST")
@option(
    "--to folder", "Folder to download to; each model gets a subfolder.", FOLDER, default="models"
)
@json_option
def fetch_command(links: Path, folder: Path, as_json: bool) -> int:
    """Download the models of LIST, a text file with URL [SHA256] [NAME] per line.

    Skips models that exist, and resumes interrupted downloads. Extracts archives (tar.gz, zip).
    Pass the folder to enginescope suite.
    """
    from enginescope.services.suites.models import fetch_models

    with DownloadProgress() as progress:
        downloads = fetch_models(links, folder, progress)
    count = len(downloads.fetched)
    if as_json:
        print_data(downloads.fetched)
    else:
        print(f"{count:,} of {len(downloads.links):,} models in {folder}")
        print(f"run them with  enginescope suite {folder}" if count else "none of them is there")
    return 0 if downloads.is_complete else EXIT_RUN_FAILED
