"""A Ray cluster to be connected to, or one that is started here for the time of a session.

What Ray would decide by itself is decided here. A cluster that is started has a token of its own,
in the environment of its processes alone, and a folder of its own that goes with it; nothing is
written to the user's home, nothing is reported, no dashboard is opened. A cluster that is there
keeps its rules: the token is taken from where its user has put it.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from enginescope.core.errors import BackendError
from enginescope.core.optional import require

LOCAL = "local"
#: How long a cluster's head may take to answer at all.
_ANSWER_S = 10.0
#: Its server for clients gives up where its own process takes longer than half a minute to start.
_CLIENT_TRIES = 3
_TOKEN, _TOKEN_FILE, _MODE = "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"
#: What Ray reads when it is imported, unless the user has set it.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
}


@contextmanager
def ray_session(address: str) -> Iterator[Any]:
    """Give the module ``ray``, connected; disconnect after it.

    Args:
        address: ``auto`` or ``HOST:PORT`` from a machine of the cluster, ``ray://HOST:PORT`` from
            any other; ``local``: a cluster of this machine alone.

    Raises:
        MissingDependencyError: Ray is not installed.
        BackendError: The cluster cannot be reached, or lets nobody in without its token.
    """
    is_local = address == LOCAL
    if not is_local:
        _check_answers(address)
    folder = tempfile.mkdtemp(prefix="es-ray-") if is_local else None  # sockets want short paths
    before = dict(os.environ)
    os.environ.update({name: os.environ.get(name, value) for name, value in _QUIET.items()})
    _settle_token(is_local=is_local)
    try:
        ray = require("ray", purpose="--on-ray", install="enginescope[ray]")
        # Ray prints what happens to its machines on standard output, which is for results
        with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
            _connect(ray, address, folder)
            try:
                yield ray
            finally:
                ray.shutdown()
    finally:
        for name in (*_QUIET, _TOKEN, _MODE):
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _settle_token(*, is_local: bool) -> None:
    """Decide on the token before Ray does, which would write one to the user's home."""
    if is_local:
        os.environ[_MODE] = "token"
        os.environ[_TOKEN] = secrets.token_hex(32)
    elif _MODE not in os.environ and (_TOKEN in os.environ or _TOKEN_FILE in os.environ):
        os.environ[_MODE] = "token"  # the user has named one: it is meant to be used


def _check_answers(address: str) -> None:
    """Raise `BackendError` where nothing listens: Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return  # auto, or what Ray alone understands
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise BackendError(
            f"Ray cluster {address}",
            why=f"no server responds there: {error}",
            hint="the address is that of its head: ray status, or the job that started it",
        ) from error


def _connect(ray: Any, address: str, folder: str | None) -> None:
    """Connect; a head that serves clients is asked again, since it starts a process for each."""
    own = {"_temp_dir": folder, "include_dashboard": False} if folder else {}
    left = _CLIENT_TRIES if address.startswith("ray://") else 1
    while left:
        left -= 1
        try:
            ray.init(
                address=address,
                log_to_driver=False,
                configure_logging=True,
                logging_level=logging.ERROR,
                namespace="enginescope",
                **own,
            )
            return
        except Exception as error:  # Ray's own kinds for it differ between versions
            if left and isinstance(error, ConnectionError):
                continue
            said = str(error).strip()
            raise BackendError(
                f"Ray cluster {address}",
                why=said.splitlines()[0] if said else type(error).__name__,
                hint=f"check with ray status; a cluster with a token needs {_TOKEN_FILE}",
            ) from error
