"""``enginescope models``: what a suite's words stand for, and downloads of a user's own list."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.options import json_option, note, store_option
from enginescope.core.errors import EnginescopeError
from enginescope.core.units import format_bytes

if TYPE_CHECKING:
    from enginescope.runner.model_fetch import Fetched

EXIT_RUN_FAILED = 3


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
    from enginescope.runner.suite_models import LIGHT, SAMPLES, models_named
    from enginescope.store.archive import Store

    samples = Store(store_folder).path / "samples"
    found = {
        word: models_named(word, Path.cwd(), samples=samples) for word in words or (LIGHT, SAMPLES)
    }
    if as_json:
        from enginescope.core.jsonio import encode

        sys.stdout.buffer.write(encode(found))
        return 0
    from enginescope.render.text import show
    from enginescope.render.text_table import table

    rows = [
        (one.name, word, format_bytes(Path(one.path).stat().st_size), one.path)
        for word, models in found.items()
        for one in models
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
    help="Folder that gets one of its own for each model.",
)
@json_option
def fetch_command(links: Path, folder: Path, as_json: bool) -> int:
    """Download the models of LIST, a text file: URL [SHA256] [NAME] a line.

    What is there already is not asked for again; what was cut off goes on. Archives (tar.gz, zip)
    are taken out. The folder then is one that enginescope suite takes.
    """
    from enginescope.cli.download_progress import DownloadProgress
    from enginescope.cli.termination import ending_in_order
    from enginescope.formats.link_list import read_links
    from enginescope.runner.model_fetch import fetch

    done: list[Fetched] = []
    found = read_links(links)
    with ending_in_order(), DownloadProgress() as progress:
        for number, link in enumerate(found, 1):
            place = f"[{number}/{len(found)}] {link.name}"
            try:
                fetched = fetch(link, folder, progress.of(place))
            except EnginescopeError as error:
                note(f"{place}: {error}{f' (try: {error.hint})' if error.hint else ''}")
                continue
            done.append(fetched)
            if as_json:
                continue
            how = "there already" if fetched.was_there else fetched.folder
            note(f"{place}: {how}")
            if link.sha256 is None:
                note(f"  the list has no SHA-256 for it; it is {fetched.sha256}")
    if as_json:
        from enginescope.core.jsonio import encode

        sys.stdout.buffer.write(encode(done))
        sys.stdout.flush()
    else:
        print(f"{len(done):,} of {len(found):,} models in {folder}")
        print(f"run them with  enginescope suite {folder}" if done else "none of them is there")
    return EXIT_RUN_FAILED if len(done) < len(found) else 0
