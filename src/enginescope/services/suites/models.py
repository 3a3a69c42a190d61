"""Models: the samples of the package, the files that a suite's words stand for, and downloads.

Downloads resume where they were cut off, and are checked before use.
"""

from __future__ import annotations

import gzip
import importlib.util
import shutil
import tarfile
import zlib
from collections.abc import Callable, Sequence
from http import HTTPStatus
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.core.errors import EnginescopeError, FormatError, UsageError, os_errors_as
from enginescope.core.http_pool import http_pool, http_retries, reason_of_http
from enginescope.core.jsonio import sha256_of, write_atomic
from enginescope.core.packed_files import copy_member, opened_zip, safe_members, tar_files
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_copies import Fetched, ModelLink, read_links
from enginescope.runner.inputs.sample_models import SAMPLES as SAMPLE_MODELS
from enginescope.runner.inputs.sample_models import SLOWER_SAMPLE, sample_models
from enginescope.runner.suites.suite_plan import LIGHT, SAMPLES, FoundModel, models_named
from enginescope.services.declared import path_of
from enginescope.services.observer import Observer
from enginescope.services.store_access import place_of
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

_BLOCK = 1 << 18
_TIMEOUT_S = 60.0
#: Beside a file that is not whole yet: what the server said it is a part of.
_TAG = ".etag"
_RESUME = "the same command resumes the download"
#: Answers that asking again does not change.
_WRONG_LINK = frozenset({400, 401, 403, 404, 405, 410})
#: Of a download that is cut off again and again, each time with more of it there.
_MOST_RESUMES = 8
#: No model is larger; a server that never ends would fill the disk.
_MOST_BYTES = 64 << 30

#: Told how many bytes of how many are there; ``None``: the server does not say.
Told = Callable[[int, int | None], None]


def fetch(link: ModelLink, folder: Path, told: Told = lambda _have, _all: None) -> Fetched:
    """Download a link into ``folder/NAME``, and take an archive's files out.

    A file that is there and has the checksum is not asked for again; one that was cut off goes on,
    where the server still has the same one.
    """
    try:
        return _fetched(link, folder, told)
    except OSError as error:
        why = error.strerror or str(error)
        hint = "`to` FOLDER names another"
        raise UsageError(f"cannot write {error.filename or folder}", why=why, hint=hint) from error


def _fetched(link: ModelLink, folder: Path, told: Told) -> Fetched:
    home = folder / link.name
    home.mkdir(parents=True, exist_ok=True)
    file = home / link.file
    done = home / f".{link.file}.sha256"
    known = done.read_text().strip() if done.is_file() else None
    if known is not None and link.sha256 in (None, known) and (file.is_file() or link.is_archive):
        return Fetched(link=link, folder=str(home), sha256=known, was_there=True)
    part = home / f".{link.file}.part"
    _download(link, part, told)
    digest = sha256_of(part)
    if link.sha256 is not None and digest != link.sha256:
        part.unlink()
        part.with_name(part.name + _TAG).unlink(missing_ok=True)
        why = f"its SHA-256 is {digest}, the list says {link.sha256}"
        hint = "the download was deleted; correct the list, or ask its maker"
        raise UsageError(f"{link.url}", why=why, hint=hint)
    part.replace(file)
    part.with_name(part.name + _TAG).unlink(missing_ok=True)
    if link.is_archive:
        _take_out(file, home)
        file.unlink()
    done.write_text(digest + "\n")
    return Fetched(link=link, folder=str(home), sha256=digest, was_there=False)


def _download(link: ModelLink, part: Path, told: Told) -> None:
    tag = part.with_name(part.name + _TAG)
    for resumes in range(_MOST_RESUMES + 1):
        before = _size(part)
        try:
            _receive(link, part, tag, told)
        except CutOffError:
            if resumes == _MOST_RESUMES or _size(part) <= before or not tag.is_file():
                raise
        else:
            return


class CutOffError(UsageError):
    """A download has ended before its end."""


def _receive(link: ModelLink, part: Path, tag: Path, told: Told) -> None:
    """Download what is missing; the list has http and https alone, and urllib3 knows no other."""
    from urllib3.exceptions import HTTPError

    have = _size(part)
    headers = {"User-Agent": "enginescope"}
    if have and tag.is_file():
        headers |= {"Range": f"bytes={have}-", "If-Range": tag.read_text()}
    with http_pool(link.url) as pool:
        try:
            answer = pool.request(
                "GET",
                link.url,
                headers=headers,
                timeout=_TIMEOUT_S,
                retries=http_retries(),
                preload_content=False,
            )
        except (HTTPError, ValueError) as error:  # the latter of a redirect to no address
            raise _unreachable(link, reason_of_http(error)) from error
        with answer:
            if answer.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and have:
                return  # it was whole: only the check was missing
            if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
                why = f"the server returned {answer.status}"
                if answer.status in _WRONG_LINK:
                    raise UsageError(link.url, why=why, hint="correct the link in the list")
                raise _unreachable(link, why)
            # what tells this version of the file from another; without it no download resumes
            known = answer.headers.get("ETag") or "W/"
            strong = answer.headers.get("Last-Modified") if known.startswith("W/") else known
            if strong:
                tag.write_text(strong)
            else:
                tag.unlink(missing_ok=True)
            _write(link, answer, part, told)


def _write(link: ModelLink, answer: BaseHTTPResponse, part: Path, told: Told) -> None:
    from urllib3.exceptions import HTTPError

    goes_on = answer.status == HTTPStatus.PARTIAL_CONTENT
    have = _size(part) if goes_on else 0
    length = answer.headers.get("Content-Length")
    whole = have + int(length) if length and length.isdecimal() else None
    most = min(_MOST_BYTES, have + shutil.disk_usage(part.parent).free)
    if whole is not None and whole > most:
        raise _too_large(link, most)
    with part.open("ab" if goes_on else "wb") as file:
        try:
            while block := answer.read1(_BLOCK):  # what is there: a cut loses none of it
                file.write(block)
                have += len(block)
                if have > most:
                    part.unlink()
                    raise _too_large(link, most)
                told(have, whole)
        except HTTPError as error:
            of_all = f" of {whole:,}" if whole is not None else ""
            why = f"it was cut off after {have:,}{of_all} bytes"
            raise CutOffError(link.url, why=why, hint=_RESUME) from error


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _too_large(link: ModelLink, most: int) -> UsageError:
    why = f"it is larger than {most:,} bytes: the limit, or what the disk has free"
    return UsageError(link.url, why=why, hint="`to` FOLDER names a folder on another disk")


def _unreachable(link: ModelLink, why: str) -> UsageError:
    return UsageError(f"{link.url}", why=why, hint=_RESUME)


def _take_out(file: Path, home: Path) -> None:
    if file.name.lower().endswith(".zip"):
        with opened_zip(file, expected="a zip file") as packed:
            for one in safe_members(packed, str(file)):
                target = home / one.path
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as out:
                    copy_member(packed, one, out)
        return
    try:
        with tarfile.open(file) as archive:
            for name, source in tar_files(archive, file):
                target = _inside(home, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as out:
                    shutil.copyfileobj(source, out)
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        raise FormatError(str(file), why=f"it cannot be unpacked ({error})") from error


def _inside(home: Path, name: str) -> Path:
    target = (home / name).resolve()
    if not target.is_relative_to(home.resolve()):
        raise ValueError(f"{name} is outside the folder")
    return target


def list_models(
    words: Sequence[str] = (), store: StorePlace | None = None
) -> dict[str, tuple[FoundModel, ...]]:
    """Return the models of each word (file, folder, pattern, ``onnx:light``); none: bundled."""
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
        return len(self.fetched) == len(self.links)


def fetch_models(links: Path, folder: Path, observer: DownloadObserver) -> Downloads:
    """Download the models of a list (lines: ``URL [SHA256] [NAME]``), each into its own folder.

    The observer gets a warning for each model that cannot be had.
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


def samples(
    folder: str | PathLike[str] | None = None, *, store: str | PathLike[str] | None = None
) -> Path:
    """Write the bundled samples that are not there yet, and return their folder.

    ``small_convnet.onnx``, ``small_convnet_split.onnx`` with the same outputs, and
    ``small_transformer.onnx`` where the onnx package is installed;
    ``small_convnet/`` and ``resnet18/``: plans, layer times and logs of engines in FP16, recorded
    with TensorRT 8.6 on an NVIDIA H200, and the layer times of ``resnet18`` as a CUDA graph.

    Args:
        folder: By default ``samples`` in the store.
        store: By default the command line's.

    Raises:
        UsageError: The folder cannot be written.

    Examples:
        >>> es.open_plan(es.samples() / "resnet18" / "resnet18.graph.json")   # doctest: +SKIP
    """
    return write_samples(path_of(folder), place_of(store))


def write_samples(folder: Path | None, store: StorePlace | None) -> Path:
    target = folder if folder is not None else Store(store).path / "samples"
    with os_errors_as(UsageError, f"cannot write {target}"):
        for group in (files("enginescope.services.plans") / "recorded").iterdir():
            (target / group.name).mkdir(parents=True, exist_ok=True)
            for packed in group.iterdir():
                path = target / group.name / packed.name.removesuffix(".gz")
                if not path.exists():
                    write_atomic(path, gzip.decompress(packed.read_bytes()))
        if importlib.util.find_spec("onnx") is not None:
            sample_models(target, SAMPLE_MODELS | SLOWER_SAMPLE)
    return target
