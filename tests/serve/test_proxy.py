"""The reverse proxy of the documentation, where nginx is there."""

import re
import shutil
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from enginescope.cli.main import main
from enginescope.serve.access import Access
from enginescope.serve.app import Taking
from enginescope.store.archive import Store
from tests.serve.conftest import TOKEN, served, wait_for
from tests.store.stored_runs import a_run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "server.md"
PARTS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def configuration(folder: Path, port: int, behind: str) -> str:
    (location,) = re.findall(r"```nginx\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert "http://127.0.0.1:8642" in location
    paths = "".join(f"{part}_temp_path {folder}/{part};" for part in PARTS)
    return (
        f"daemon off; pid {folder}/pid; error_log {folder}/errors; events {{}} "
        f"http {{ access_log off; {paths} server {{ listen 127.0.0.1:{port};\n"
        f"{location.replace('http://127.0.0.1:8642', behind)}\n}} }}"
    )


def is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def test_pages_sign_in_and_pushes_through_nginx(store, tmp_path) -> None:
    nginx = shutil.which("nginx")
    if nginx is None:
        pytest.skip("needs nginx")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "token").write_text(TOKEN)
    other = Store(tmp_path / "other")
    other.save(a_run("pushed.onnx", id="ddd111"))
    with served(store, Access(token=TOKEN), Taking(is_on=True)) as behind:
        file = tmp_path / "nginx.conf"
        file.write_text(configuration(tmp_path, port, behind))
        with subprocess.Popen([nginx, "-c", file], stderr=subprocess.DEVNULL) as process:
            try:
                wait_for(lambda: is_open(port))
                url = f"http://127.0.0.1:{port}"
                push = ["runs", "push", url, "--token-file", str(tmp_path / "token")]
                assert main([*push, "--store", str(other.path)]) == 0
                with httpx.Client(base_url=url) as client:
                    assert client.get("/runs").headers["location"] == "/login"
                    assert client.post("/login", data={"token": TOKEN}).headers["location"] == "/"
                    assert "/runs/ddd111" in client.get("/runs").text
            finally:
                process.terminate()
