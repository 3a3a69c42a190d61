"""A PostgreSQL server of one's own: a fresh cluster on loopback, gone in the end."""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import DEVNULL

from tests.conftest import missing

USER = "engineer"
#: Looked for in everything that is printed or stored.
PASSWORD = "s3cr3t-of-the-team"


class Server:
    """A running server that asks for a password; `stop` and `start` interrupt it."""

    def __init__(
        self, port: int, data: Path, start: Callable[[], object], stop: Callable[[], object]
    ) -> None:
        self.port, self._data, self.start, self.stop = port, data, start, stop

    def kill(self) -> None:
        """Kill it and all of its processes at once, as a crash would."""
        import psutil

        main = psutil.Process(int((self._data / "postmaster.pid").read_text().split()[0]))
        processes = [main, *main.children(recursive=True)]
        for one in processes:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(processes, timeout=30)

    def url(self, database: str, password: str = PASSWORD) -> str:
        return f"postgresql+psycopg://{USER}:{password}@127.0.0.1:{self.port}/{database}"

    def fresh_url(self) -> str:
        import psycopg

        name = f"t{secrets.token_hex(4)}"
        with psycopg.connect(self.url("postgres").replace("+psycopg", ""), autocommit=True) as one:
            one.execute(f"CREATE DATABASE {name}")
        return self.url(name)


@contextmanager
def running_server() -> Iterator[Server]:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        missing("psycopg is not installed")
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="enginescope-pg-"))
    # the server refuses to run as root
    account = {}
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        account = {"user": nobody.pw_uid, "group": nobody.pw_gid}
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    word = folder / "password"
    word.write_text(PASSWORD)
    word.chmod(0o644)
    options = {"check": True, "capture_output": True, "cwd": folder, **account}
    data = str(folder / "data")
    port = _free_port()
    try:
        # in the order of a language, as servers often are: listings must not follow it
        locale = ("--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en-US")
        access = ("-U", USER, "--auth=scram-sha-256", f"--pwfile={word}")
        command = [programs / "initdb", "-D", data, "--no-sync", *access, *locale]
        subprocess.run(command, **options)
        settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        control = [programs / "pg_ctl", "-D", data]
        start = [*control, "-l", folder / "log", "-w", "-o", settings, "start"]
        quiet = {**options, "capture_output": False, "stdout": DEVNULL, "stderr": DEVNULL}
        server = Server(
            port,
            folder / "data",
            start=partial(subprocess.run, start, **quiet),
            stop=partial(subprocess.run, [*control, "-m", "immediate", "stop"], **options),
        )
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    found = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found:
        folders.insert(0, Path(found).resolve().parent)
    for folder in folders:
        if (folder / "initdb").is_file():
            return folder
    missing("no PostgreSQL server is installed")
    raise AssertionError


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
