"""Models for suites: the files that words stand for, and downloads of a user's own list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from enginescope.core.errors import EnginescopeError
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_unfold import Fetched, ModelLink, read_links
from enginescope.runner.suites.suite_models import LIGHT, SAMPLES, FoundModel, models_named
from enginescope.services.observer import Observer
from enginescope.services.suites.model_download import fetch
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace


def list_models(
    words: Sequence[str] = (), store: StorePlace | None = None
) -> dict[str, tuple[FoundModel, ...]]:
    """Return the models of each word: a file, folder, pattern, ``onnx:light`` or ``samples``.

    Args:
        words: By default the words of bundled models.

    Raises:
        UsageError: A word stands for no model.
    """
    samples = Store(store).path / "samples"
    return {
        word: models_named(word, Path.cwd(), samples=samples) for word in words or (LIGHT, SAMPLES)
    }


class DownloadObserver(Observer):
    """Receives the reports of downloads; every method does nothing until a subclass overrides it.

    ``place`` is ``[2/3] name``.
    """

    def download_progressed(self, place: str, have: int, size: int | None) -> None:
        """Report the bytes of a file so far, and its size if the server tells it."""

    def download_ended(self, place: str, fetched: Fetched) -> None:
        """Report a model that is on the disk."""


class Downloads(Record, frozen=True, kw_only=True):
    """Result of `fetch_models`; models that cannot be had are missing from `fetched`."""

    links: tuple[ModelLink, ...]
    fetched: tuple[Fetched, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every link was fetched."""
        return len(self.fetched) == len(self.links)


def fetch_models(links: Path, folder: Path, observer: DownloadObserver) -> Downloads:
    """Download the models of a list into a folder, each into a folder of its own.

    The observer gets a warning for each model that cannot be had.

    Args:
        links: A text file with ``URL [SHA256] [NAME]`` on each line.

    Raises:
        FormatError: The list cannot be read.
    """
    listed = tuple(read_links(links))
    fetched: list[Fetched] = []
    for number, link in enumerate(listed, 1):
        observer.check_cancelled()
        place = f"[{number}/{len(listed)}] {link.name}"

        def report(have: int, size: int | None, place: str = place) -> None:
            observer.download_progressed(place, have, size)

        try:
            model = fetch(link, folder, report)
        except EnginescopeError as error:
            observer.warn(f"{place}: {error}{f' (try: {error.hint})' if error.hint else ''}")
            continue
        fetched.append(model)
        observer.download_ended(place, model)
    return Downloads(links=listed, fetched=tuple(fetched))
