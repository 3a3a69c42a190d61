"""Where the artifacts of runs in a database are kept: a folder, or any URL that fsspec knows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from enginescope.core import optional
from enginescope.core.errors import StoreError, UsageError
from enginescope.core.jsonio import write_atomic
from enginescope.store.location import without_password

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::?//|[A-Za-z][A-Za-z0-9+.-]*::")
_CREDENTIALS = re.compile(r"://[^/\s]*@")


class ArtifactRoot:
    """Files by names with slashes, below a folder or a URL.

    Args:
        where: A folder's path, or a URL as ``s3://bucket/folder``.
    """

    def __init__(self, where: str) -> None:
        if _CREDENTIALS.search(where):
            raise UsageError(
                f"artifacts in {without_password(where)}",
                why="a URL with credentials in it would be stored",
                hint="set them as the environment variables of its kind of storage",
            )
        self.is_url = _URL.match(where) is not None
        self.where = where.rstrip("/") if self.is_url else str(Path(where).expanduser().absolute())

    def write(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all where the storage can."""
        try:
            if not self.is_url:
                path = Path(self.where) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(path, data)
                return
            files, path_text = self._files(name)
            files.makedirs(path_text.rpartition("/")[0], exist_ok=True)
            files.pipe_file(path_text, data)
        except Exception as error:  # each kind of storage has errors of its own
            raise self._failed("write", name, error) from error

    def read(self, name: str) -> bytes:
        """Return a file's bytes."""
        try:
            if not self.is_url:
                return (Path(self.where) / name).read_bytes()
            files, path = self._files(name)
            data: bytes = files.cat_file(path)
            return data
        except Exception as error:
            raise self._failed("read", name, error) from error

    def remove(self, folder: str) -> None:
        """Remove the files below a folder; one that is not there is no error."""
        import shutil

        try:
            if not self.is_url:
                shutil.rmtree(Path(self.where) / folder, ignore_errors=True)
                return
            files, path = self._files(folder)
            if files.exists(path):
                files.rm(path, recursive=True)
        except Exception as error:
            raise self._failed("remove", folder, error) from error

    def _files(self, name: str) -> tuple[Any, str]:
        fsspec = optional.require(
            "fsspec", purpose=f"artifacts in {self.where}", install="enginescope[storage]"
        )
        files, path = fsspec.core.url_to_fs(self.where)
        return files, f"{path}/{name}"

    def _failed(self, what: str, name: str, error: Exception) -> Exception:
        from enginescope.core.errors import EnginescopeError

        if isinstance(error, EnginescopeError):
            return error
        why = without_password(str(error)) or type(error).__name__
        return StoreError(f"cannot {what} {name} in {self.where}", why=why)
