import stat
import sys

import pytest

from enginescope.cli.main import main

TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture(autouse=True)
def no_token(monkeypatch) -> None:
    monkeypatch.delenv("ENGINESCOPE_TOKEN", raising=False)


@pytest.fixture
def never(monkeypatch) -> list:
    """The server is not run; what it would have been is kept."""
    kept: list = []
    monkeypatch.setattr("enginescope.cli.store.serve._run", lambda *given: kept.append(given))
    return kept


@pytest.mark.parametrize("arguments", [["--host", "0.0.0.0"], ["--host", "::"], ["--accept-push"]])
def test_a_token_is_needed(arguments, never, capsys, tmp_path) -> None:
    assert main(["serve", "--port", "0", "--store", str(tmp_path), *arguments]) == 2
    assert "a token is needed" in capsys.readouterr().err
    assert never == []


def test_on_this_machine_none_is_needed(never, capsys, tmp_path) -> None:
    for host in ("127.0.0.1", "localhost"):
        assert main(["serve", "--port", "0", "--host", host, "--store", str(tmp_path)]) == 0
    assert main(["serve", "--port", "0", "--host", "127.0.0.2", "--store", str(tmp_path)]) == 0
    assert len(never) == 3
    assert "127.0.0.2" in never[2][0].app.app.state.access.hosts
    shown = capsys.readouterr()
    assert f"shows {tmp_path}" in shown.err
    assert shown.out == ""


def test_a_token_is_made_for_its_owner(never, capsys, tmp_path) -> None:
    file = tmp_path / "token"
    arguments = ["serve", "--port", "0", "--store", str(tmp_path), "--token-file", str(file)]
    assert main([*arguments, "--accept-push"]) == 0
    assert f"a new token is in {file}" in capsys.readouterr().err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    made = file.read_text()
    assert len(made.strip()) >= 40
    assert main(arguments) == 0
    assert file.read_text() == made
    assert made.strip() not in capsys.readouterr().err
    file.chmod(0o644)
    assert main(arguments) == 0
    assert "others on this machine may read" in capsys.readouterr().err


def test_tokens_that_are_none(never, capsys, tmp_path, monkeypatch) -> None:
    file = tmp_path / "token"
    arguments = ["serve", "--port", "0", "--store", str(tmp_path)]
    for text in ("", "short"):
        file.write_text(text)
        assert main([*arguments, "--token-file", str(file)]) == 2
    monkeypatch.setenv("ENGINESCOPE_TOKEN", "short")
    assert main(arguments) == 2
    assert main([*arguments, "--token-file", str(tmp_path / "none" / "token")]) == 2
    assert never == []


def test_other_addresses_without_https_are_named(never, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ENGINESCOPE_TOKEN", TOKEN)
    assert main(["serve", "--port", "0", "--host", "0.0.0.0", "--store", str(tmp_path)]) == 0
    shown = capsys.readouterr().err
    assert "can be read on their way" in shown
    assert TOKEN not in shown


def test_addresses_and_libraries_that_are_not_there(never, capsys, tmp_path, monkeypatch) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", "--port", str(taken.getsockname()[1]), "--store", str(tmp_path)]) == 2
    assert "cannot listen on 127.0.0.1" in capsys.readouterr().err
    assert main(["serve", "--certificate", __file__, "--store", str(tmp_path)]) == 2
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert main(["serve", "--store", str(tmp_path)]) == 2
    assert "pip install 'enginescope[serve]'" in capsys.readouterr().err
