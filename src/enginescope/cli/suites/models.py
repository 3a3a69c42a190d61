"""``enginescope models``: what a suite's words stand for, and downloads of a user's own list.

Progress of downloads on standard error: a live line on a terminal, and a line for each model.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from rich.live import Live
from rich.text import Text

from enginescope.cli.options import json_option, note, store_option
from enginescope.cli.progress import Shown, error_console, live_lines
from enginescope.cli.termination import EXIT_RUN_FAILED
from enginescope.core.units import format_bytes
from enginescope.formats.onnx.onnx_unfold import Fetched
from enginescope.services.suites.models import DownloadObserver


class DownloadProgress(Shown[Live], DownloadObserver):
    """Shows how much of a file is there, between ``with`` and its end.

    Args:
        quiet: Print no line for a model that was fetched.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        super().__init__(live_lines(error_console()))

    def warn(self, text: str) -> None:
        """Print a warning."""
        note(text)

    def download_progressed(self, place: str, have: int, size: int | None) -> None:
        """Show the bytes so far."""
        if self._live:
            of_all = f" of {format_bytes(size)}" if size is not None else ""
            self._live.update(Text(f"{place}: {format_bytes(have)}{of_all}"))

    def download_ended(self, place: str, fetched: Fetched) -> None:
        """Print where a model is."""
        if self._quiet:
            return
        note(f"{place}: {'there already' if fetched.was_there else fetched.folder}")
        if fetched.link.sha256 is None:
            note(f"  the list has no SHA-256 for it; it is {fetched.sha256}")


@click.group("models")
def command() -> None:
    """Models for suites: what is bundled, what lies in folders, what can be downloaded."""


@command.command("list")
@click.argument("words", nargs=-1)
@store_option
@json_option
def list_command(words: tuple[str, ...], store_folder: Any, as_json: bool) -> int:
    """List the models that WORDS stand for: files, folders, patterns, onnx:light, samples.

    Without WORDS: what is bundled.
    """
    from enginescope.services.suites.models import list_models

    listed = list_models(words, store_folder)
    if as_json:
        from enginescope.core.jsonio import encode

        sys.stdout.buffer.write(encode(listed))
        return 0
    from enginescope.render.base.text import show
    from enginescope.render.base.text_table import table

    rows = [
        (model.name, word, format_bytes(Path(model.path).stat().st_size), model.path)
        for word, models in listed.items()
        for model in models
    ]
    show(table(("name", "word", "size", "file"), rows, right=("size",)))
    return 0


@command.command("fetch")
@click.argument("links", type=click.Path(path_type=Path), metavar="LIST")
@click.option(
    "--to",
    "folder",
    default="models",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to download to; each model gets a subfolder.",
)
@json_option
def fetch_command(links: Path, folder: Path, as_json: bool) -> int:
    """Download the models of LIST, a text file: URL [SHA256] [NAME] a line.

    What is there already is not asked for again; what was cut off goes on. Archives (tar.gz, zip)
    are taken out. The folder then is one that enginescope suite takes.
    """
    from enginescope.cli.termination import ending_in_order
    from enginescope.services.suites.models import fetch_models

    with ending_in_order(), DownloadProgress(quiet=as_json) as progress:
        downloads = fetch_models(links, folder, progress)
    count = len(downloads.fetched)
    if as_json:
        from enginescope.core.jsonio import encode

        sys.stdout.buffer.write(encode(downloads.fetched))
        sys.stdout.flush()
    else:
        print(f"{count:,} of {len(downloads.links):,} models in {folder}")
        print(f"run them with  enginescope suite {folder}" if count else "none of them is there")
    return 0 if downloads.is_complete else EXIT_RUN_FAILED
