import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from enginescope.core.errors import BackendError, MissingDependencyError
from enginescope.runner.fleet.ray_fleet import ray_session

NAMES = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_USAGE_STATS_ENABLED")


class FakeRay(SimpleNamespace):
    """Keeps what it was started with, and the environment at that time."""

    def init(self, **options) -> None:
        self.options = options
        self.environment = {name: os.environ.get(name) for name in NAMES}
        print("something of Ray's on standard output")
        if self.fault:
            raise ConnectionError(self.fault)

    def shutdown(self) -> None:
        self.is_down = True


@pytest.fixture
def ray(monkeypatch) -> FakeRay:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    made = FakeRay(fault=None, is_down=False)
    monkeypatch.setitem(sys.modules, "ray", made)
    return made


def test_a_cluster_of_its_own_has_a_token_and_a_folder_of_its_own(ray, capsys) -> None:
    before = dict(os.environ)
    with ray_session("local"):
        folder = ray.options["_temp_dir"]
        assert Path(folder).is_dir()
        assert len(folder) < 40
    assert ray.environment["RAY_AUTH_MODE"] == "token"
    assert len(ray.environment["RAY_AUTH_TOKEN"]) == 64
    assert ray.environment["RAY_USAGE_STATS_ENABLED"] == "0"
    assert ray.options["include_dashboard"] is False
    assert ray.is_down
    assert not Path(folder).exists()
    assert (dict(os.environ), capsys.readouterr().out) == (before, "")


@pytest.fixture
def head() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_cluster_that_is_there_keeps_its_rules(ray, monkeypatch, head) -> None:
    with ray_session(head):
        pass
    assert ray.environment["RAY_AUTH_MODE"] is None
    assert "_temp_dir" not in ray.options
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "/run/secrets/ray")
    with ray_session(f"ray://{head}"):
        pass
    assert ray.environment["RAY_AUTH_MODE"] == "token"
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with ray_session(head):
        pass
    assert ray.environment["RAY_AUTH_MODE"] == "disabled"
    assert os.environ["RAY_AUTH_MODE"] == "disabled"


def test_what_fails_is_said_in_one_line(ray, head) -> None:
    ray.fault = "Unauthenticated\nand a hundred more lines"
    with pytest.raises(BackendError, match=f"Ray cluster {head}") as caught, ray_session(head):
        pass
    assert caught.value.why == "Unauthenticated"
    with pytest.raises(BackendError) as caught, ray_session("127.0.0.1:9"):
        pass
    assert "no server responds there" in (caught.value.why or "")


def test_a_server_for_clients_that_is_slow_is_asked_again(ray, head, monkeypatch) -> None:
    ends = [ConnectionError("timeout"), ConnectionError("timeout"), None]

    def init(**options) -> None:
        end = ends.pop(0)
        if end is not None:
            raise end

    monkeypatch.setattr(ray, "init", init, raising=False)
    with ray_session(f"ray://{head}"):
        assert ends == []
    ends[:] = [ConnectionError("no")] * 4
    with pytest.raises(BackendError), ray_session(head):
        pass
    assert len(ends) == 3


def test_without_ray(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError) as caught, ray_session("local"):
        pass
    assert caught.value.hint == "pip install 'enginescope[ray]'"
