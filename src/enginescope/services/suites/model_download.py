"""Downloads that go on where they were cut off, and are checked before they are used."""

from __future__ import annotations

import http.client
import shutil
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from enginescope.core.digest import sha256_of
from enginescope.core.errors import FormatError, UsageError
from enginescope.core.safe_zip import copy_member, opened_zip, safe_members, tar_files
from enginescope.formats.onnx.onnx_unfold import Fetched, ModelLink

_BLOCK = 1 << 18
_TIMEOUT_S = 60.0
#: Beside a file that is not whole yet: what the server said it is a part of.
_TAG = ".etag"
_PART = ".part"
#: Answers that asking again does not change.
_WRONG_LINK = frozenset({400, 401, 403, 404, 405, 410})

#: No model is larger; a server that never ends would fill the disk.
_MOST_BYTES = 64 << 30

#: Told how many bytes of how many are there; ``None``: the server does not say.
Told = Callable[[int, int | None], None]


def fetch(link: ModelLink, folder: Path, told: Told = lambda _have, _all: None) -> Fetched:
    """Download a link into ``folder/NAME``, and take an archive's files out.

    A file that is there and has the checksum is not asked for again; one that was cut off goes on,
    where the server still has the same one.

    Raises:
        UsageError: It cannot be had, is not what its checksum says, or the folder cannot be
            written.
        FormatError: It is an archive that cannot be read, or that would write outside its folder.
    """
    try:
        return _fetched(link, folder, told)
    except OSError as error:
        raise UsageError(
            f"cannot write {error.filename or folder}",
            why=error.strerror or str(error),
            hint="--to FOLDER names another",
        ) from error


def _fetched(link: ModelLink, folder: Path, told: Told) -> Fetched:
    home = folder / link.name
    home.mkdir(parents=True, exist_ok=True)
    file = home / link.file
    done = home / f".{link.file}.sha256"
    known = done.read_text().strip() if done.is_file() else None
    if known is not None and link.sha256 in (None, known) and (file.is_file() or link.is_archive):
        return Fetched(link=link, folder=str(home), sha256=known, was_there=True)
    part = home / f".{link.file}{_PART}"
    _download(link, part, told)
    digest = sha256_of(part)
    if link.sha256 is not None and digest != link.sha256:
        part.unlink()
        part.with_name(part.name + _TAG).unlink(missing_ok=True)
        raise UsageError(
            f"{link.url}",
            why=f"its SHA-256 is {digest}, the list says {link.sha256}",
            hint="the download was deleted; correct the list, or ask its maker",
        )
    part.replace(file)
    part.with_name(part.name + _TAG).unlink(missing_ok=True)
    if link.is_archive:
        _take_out(file, home)
        file.unlink()
    done.write_text(digest + "\n")
    return Fetched(link=link, folder=str(home), sha256=digest, was_there=False)


def _download(link: ModelLink, part: Path, told: Told) -> None:
    tag = part.with_name(part.name + _TAG)
    have = part.stat().st_size if part.is_file() else 0
    headers = {"User-Agent": "enginescope"}
    if have and tag.is_file():
        headers |= {"Range": f"bytes={have}-", "If-Range": tag.read_text()}
    try:
        # the list takes http and https alone
        with _OPENER.open(Request(link.url, headers=headers), timeout=_TIMEOUT_S) as answer:  # noqa: S310
            goes_on = answer.status == http.client.PARTIAL_CONTENT
            have = have if goes_on else 0
            _keep_tag(tag, answer.headers)
            length = answer.headers.get("Content-Length")
            whole = have + int(length) if length and length.isdecimal() else None
            most = min(_MOST_BYTES, have + shutil.disk_usage(part.parent).free)
            if whole is not None and whole > most:
                raise _too_large(link, most)
            with part.open("ab" if goes_on else "wb") as file:
                while block := answer.read(_BLOCK):
                    file.write(block)
                    have += len(block)
                    if have > most:
                        part.unlink()
                        raise _too_large(link, most)
                    told(have, whole)
    except HTTPError as error:
        error.close()  # it holds the connection
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and have:
            return  # it was whole: only the check was missing
        said = f"the server returned {error.code} {error.reason}"
        if error.code in _WRONG_LINK:
            raise UsageError(link.url, why=said, hint="correct the link in the list") from error
        raise _unreachable(link, said) from error
    except (URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise _unreachable(link, str(reason) or type(error).__name__) from error
    if whole is not None and have < whole:
        raise _unreachable(link, f"it was cut off after {have:,} of {whole:,} bytes")


class _Redirects(HTTPRedirectHandler):
    """Follows redirects to http and https: urllib itself would also take ftp."""

    def http_error_302(self, req: Request, fp: Any, code: int, msg: str, headers: Any) -> Any:
        """Follow one, or refuse it; the address may hold a password and is not printed."""
        to = urlsplit(headers.get("Location") or "")
        if to.scheme not in ("http", "https", "") or "@" in to.netloc:
            what = f"{to.scheme}://" if "@" not in to.netloc else "an address with credentials"
            why = f"the server redirects to {what}"
            fp.close()
            raise UsageError(req.full_url, why=why, hint="correct the link in the list")
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


_OPENER = build_opener(_Redirects)


def _too_large(link: ModelLink, most: int) -> UsageError:
    why = f"it is larger than {most:,} bytes: the limit, or what the disk has free"
    return UsageError(link.url, why=why, hint="--to FOLDER names a folder on another disk")


def _unreachable(link: ModelLink, why: str) -> UsageError:
    return UsageError(f"{link.url}", why=why, hint="the same command resumes the download")


def _keep_tag(file: Path, headers: Any) -> None:
    """Keep what tells this version of the file from another; without it nothing can go on."""
    tag = headers.get("ETag")
    strong = tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")
    if strong:
        file.write_text(strong)
    else:
        file.unlink(missing_ok=True)


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
