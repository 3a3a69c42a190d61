"""Downloads from a server of the test's own: cut off, changed, wrong, packed."""

import gc
import hashlib
import io
import shutil
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from enginescope.core.errors import FormatError, UsageError
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_copies import ModelLink, read_links
from enginescope.services.suites.models import fetch

BODY = bytes(range(256)) * 4096  # 1 MiB
SECRET = "s3cr3t-word"


class Served:
    """What the server gives, and what it was asked."""

    def __init__(
        self,
        body: bytes,
        *,
        tag: str | None = '"v1"',
        ranges: bool = True,
        is_announced: bool = True,
        redirect: str | None = None,
    ) -> None:
        self.body, self.tag, self.ranges = body, tag, ranges
        self.cut_after: int | None = None
        self.error: int | None = None
        self.is_announced = is_announced
        self.redirect = redirect
        self.asked: list[str | None] = []
        self.authorization: str | None = None
        self.url = ""


class Quiet(BaseHTTPRequestHandler):
    """A handler that prints nothing."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running(handler: type[Quiet]) -> Iterator[str]:
    """Run a server; give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def served(what: Served) -> Iterator[Served]:
    class Handler(Quiet):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            what.asked.append(asked)
            what.authorization = self.headers.get("Proxy-Authorization")
            start = 0
            if what.error is not None:
                self.send_error(what.error)
                return
            if what.redirect is not None:
                self.send_response(302)
                self.send_header("Location", what.redirect)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if asked and what.ranges and self.headers.get("If-Range") == what.tag:
                start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(what.body):
                self.send_error(416)
                return
            body = what.body[start:]
            self.send_response(206 if start else 200)
            if what.is_announced:
                self.send_header("Content-Length", str(len(body)))
            if what.tag:
                self.send_header("ETag", what.tag)
            self.end_headers()
            with suppress(ConnectionError):  # it may be refused at its beginning
                self.wfile.write(body if what.cut_after is None else body[: what.cut_after])

    with running(Handler) as what.url:
        yield what


def link(what: Served, file: str = "net.onnx", *, sha256: str | None = None) -> ModelLink:
    return ModelLink(url=f"{what.url}/{file}", name="net", file=file, sha256=sha256, line=1)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def fetched(folder: Path) -> bytes:
    return (folder / "net" / "net.onnx").read_bytes()


def test_it_is_checked_kept_and_not_asked_for_again(tmp_path) -> None:
    told = []
    with served(Served(BODY)) as what:
        first = fetch(link(what, sha256=sha(BODY)), tmp_path, lambda *one: told.append(one))
        again = fetch(link(what, sha256=sha(BODY)), tmp_path)
        assert what.asked == [None]
    assert (first.was_there, again.was_there) == (False, True)
    assert told[-1] == (len(BODY), len(BODY))
    assert fetched(tmp_path) == BODY
    names = sorted(one.name for one in (tmp_path / "net").iterdir())
    assert names == [".net.onnx.sha256", "net.onnx"]


@pytest.fixture(autouse=True)
def _soon(monkeypatch) -> None:
    monkeypatch.setattr("enginescope.core.http_pool.WAIT_S", 0.01)


def test_what_is_cut_off_and_a_busy_server_are_asked_again(tmp_path) -> None:
    with served(Served(BODY)) as what:
        what.cut_after = 300_000
        fetch(link(what, sha256=sha(BODY)), tmp_path)
        assert what.asked == [None, *(f"bytes={300_000 * at}-" for at in (1, 2, 3))]
    assert fetched(tmp_path) == BODY
    with served(Served(BODY)) as what:
        for what.error, hint, count in ((503, "resumes", 6), (404, "correct the link", 7)):
            with pytest.raises(UsageError, match=f"the server returned {what.error}") as caught:
                fetch(link(what), tmp_path / "busy")
            assert hint in (caught.value.hint or "")
            assert len(what.asked) == count


def test_what_was_cut_off_goes_on(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("enginescope.services.suites.models._MOST_RESUMES", 0)
    with served(Served(BODY)) as what:
        what.cut_after = 300_000
        with pytest.raises(UsageError, match="cut off") as caught:
            fetch(link(what, sha256=sha(BODY)), tmp_path)
        assert "resumes the download" in (caught.value.hint or "")
        what.cut_after = None
        fetch(link(what, sha256=sha(BODY)), tmp_path)
        assert what.asked == [None, "bytes=300000-"]
    assert fetched(tmp_path) == BODY


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_body_in_chunks(tmp_path, is_whole) -> None:
    """Without a length, the last chunk alone says that it is whole."""

    class Handler(Quiet):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for start in range(0, len(BODY), 100_000):
                data = BODY[start : start + 100_000]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            if is_whole:
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True

    what = Served(BODY)
    with running(Handler) as what.url:
        if is_whole:
            fetch(link(what, sha256=sha(BODY)), tmp_path)
            assert fetched(tmp_path) == BODY
        else:
            with pytest.raises(UsageError, match="cut off"):
                fetch(link(what), tmp_path)


def test_it_goes_through_the_proxy_of_the_environment(tmp_path, monkeypatch) -> None:
    with served(Served(BODY)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("http://", f"http://me:{SECRET}@"))
        monkeypatch.setenv("no_proxy", "other.example")
        far = replace(link(proxy), url="http://far.example/net.onnx")
        fetch(far, tmp_path)
        assert proxy.authorization is not None
        monkeypatch.setenv("no_proxy", "far.example")
        with pytest.raises(UsageError) as caught:
            fetch(far, tmp_path / "other")
    assert SECRET not in str(caught.value)
    assert fetched(tmp_path) == BODY


@pytest.mark.parametrize("other", ["changed", "no ranges", "no tag"])
def test_where_it_cannot_go_on_it_begins_anew(tmp_path, other) -> None:
    with served(Served(b"old" * 1000, tag=None if other == "no tag" else '"v0"')) as what:
        what.cut_after = 100
        with pytest.raises(UsageError):
            fetch(link(what), tmp_path)
        what.cut_after, what.body = None, BODY
        what.ranges = other != "no ranges"
        if other == "changed":
            what.tag = '"v1"'
        fetch(link(what, sha256=sha(BODY)), tmp_path)
    assert fetched(tmp_path) == BODY


def test_whole_but_unchecked_when_it_was_killed(tmp_path) -> None:
    home = tmp_path / "net"
    home.mkdir()
    (home / ".net.onnx.part").write_bytes(BODY)
    (home / ".net.onnx.part.etag").write_text('"v1"')
    with served(Served(BODY)) as what:
        fetch(link(what, sha256=sha(BODY)), tmp_path)
    assert fetched(tmp_path) == BODY


def test_another_checksum_is_refused_and_nothing_stays(tmp_path) -> None:
    with served(Served(BODY)) as what:
        with pytest.raises(UsageError, match="SHA-256") as caught:
            fetch(link(what, sha256="0" * 64), tmp_path)
        assert sha(BODY) in str(caught.value)
        assert list((tmp_path / "net").iterdir()) == []
        fetch(link(what, sha256=sha(BODY)), tmp_path)


def packed(names: dict[str, bytes | str], kind: str) -> bytes:
    """Return an archive of files; a text is where a link leads."""
    stream = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in names.items():
                archive.writestr(name, data)
        return stream.getvalue()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, data in names.items():
            info = tarfile.TarInfo(name)
            if isinstance(data, str):
                info.type, info.linkname = tarfile.SYMTYPE, data
                archive.addfile(info)
            else:
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_archives_are_taken_out_and_cannot_write_elsewhere(tmp_path, kind) -> None:
    body = packed({"net/model.onnx": b"onnx", "net/test_data_set_0/input_0.pb": b"in"}, kind)
    with served(Served(body)) as what:
        fetch(link(what, f"net.{kind}", sha256=sha(body)), tmp_path)
        assert fetch(link(what, f"net.{kind}"), tmp_path).was_there
    assert (tmp_path / "net" / "net" / "model.onnx").read_bytes() == b"onnx"
    assert not list(tmp_path.rglob(f"*.{kind}"))
    evil = Served(packed({"../../evil.onnx": b"x"}, kind))
    with served(evil) as what, pytest.raises(FormatError):
        fetch(link(what, f"net.{kind}"), tmp_path / "zoo")
    assert not list(tmp_path.rglob("evil*"))
    linked = Served(packed({"model.onnx": "/etc/passwd"}, "tar.gz"))
    with served(linked) as what, pytest.raises(FormatError, match="a link or a device"):
        fetch(link(what, "net.tar.gz"), tmp_path / "linked")


def test_no_server_and_a_folder_that_cannot_be_written_are_named(tmp_path) -> None:
    with served(Served(BODY)) as what:
        gone = link(what)
    with pytest.raises(UsageError, match="refused"):
        fetch(gone, tmp_path)
    (tmp_path / "file").write_bytes(b"")
    with served(Served(BODY)) as what, pytest.raises(UsageError, match="cannot write") as caught:
        fetch(link(what), tmp_path / "file")
    assert caught.value.why == "Not a directory"
    assert "`to`" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "where",
    [
        "ftp://127.0.0.1/net.onnx",
        "file:///etc/passwd",
        "data:application/octet-stream,x",
        f"http://user:{SECRET}@127.0.0.1/net.onnx",
    ],
)
def test_a_redirect_elsewhere_is_refused_without_its_password(tmp_path, where) -> None:
    with served(Served(BODY, redirect=where)) as what, pytest.raises(UsageError) as caught:
        fetch(link(what), tmp_path)
    assert SECRET not in f"{caught.value!r} {caught.value.hint}"
    assert not (tmp_path / "net" / "net.onnx").exists()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_redirect_to_no_address_is_refused_without_its_password(tmp_path) -> None:
    """Here urllib3 itself raises no error of its own, and leaves a socket to be collected."""
    with served(Served(BODY, redirect=f"http://user:{SECRET}@[::1/net.onnx")) as what:
        with pytest.raises(UsageError) as caught:
            fetch(link(what), tmp_path)
        assert caught.value.why == "an address that cannot be read"
        del caught
        gc.collect()


def test_a_redirect_to_http_is_followed(tmp_path) -> None:
    with served(Served(BODY)) as target:
        other = Served(b"", redirect=f"{target.url}/other.onnx")
        with served(other) as what:
            fetch(link(what, sha256=sha(BODY)), tmp_path)
    assert fetched(tmp_path) == BODY


@pytest.mark.parametrize("is_announced", [True, False])
def test_what_just_fits_on_the_disk_is_fetched_and_no_more(
    tmp_path, monkeypatch, is_announced
) -> None:
    usual = shutil.disk_usage(tmp_path)
    for free in (1 << 18, len(BODY)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: usual._replace(free=free))
        with served(Served(BODY, is_announced=is_announced)) as what:
            if free == len(BODY):
                fetch(link(what), tmp_path)
                assert fetched(tmp_path) == BODY
                continue
            with pytest.raises(UsageError, match="larger than"):
                fetch(link(what), tmp_path)
        assert sum(one.stat().st_size for one in (tmp_path / "net").iterdir()) <= free


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_the_files_of_an_archive_are_bounded_together(tmp_path, monkeypatch, kind) -> None:
    for name, limit in (("LEAST_SUSPECT_BYTES", 1 << 20), ("MOST_GROWTH", 2)):
        monkeypatch.setattr(f"enginescope.core.packed_files.{name}", limit)
    body = packed({f"{number}.onnx": bytes(1 << 19) for number in range(9)}, kind)
    with served(Served(body)) as what, pytest.raises(FormatError, match="would grow"):
        fetch(link(what, f"net.{kind}"), tmp_path)
    assert sum(one.stat().st_size for one in tmp_path.rglob("*.onnx")) <= 1 << 20


@pytest.mark.parametrize(
    "line", [f"https://me:{SECRET}@host/net.onnx", f"ftp://me:{SECRET}@host/n", f"me:{SECRET}@h/n"]
)
def test_a_password_in_a_list_is_not_printed(tmp_path, line) -> None:
    (tmp_path / "list.txt").write_text(f"{line}\n")
    with pytest.raises(FormatError, match="password") as caught:
        read_links(tmp_path / "list.txt")
    assert SECRET not in str(caught.value)
