"""What a shell completes, as the shell asks for it."""

import subprocess
import sys

import click
import pytest

from enginescope.cli.completion import Words
from enginescope.cli.main import VERBS, cli, main
from enginescope.store.archive import Store
from tests.store.stored_runs import a_run


def completed(monkeypatch, capsys, *words: str) -> list[str]:
    monkeypatch.setenv("COMP_WORDS", " ".join(("enginescope", *words)))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    monkeypatch.setenv("_ENGINESCOPE_COMPLETE", "bash_complete")
    with pytest.raises(SystemExit):
        main([])
    return [line.partition(",")[2] for line in capsys.readouterr().out.split()]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell, capsys) -> None:
    assert main(["completion", shell]) == 0
    assert f"_ENGINESCOPE_COMPLETE={shell}_complete" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (("hist",), ["history"]),
        (("bench", "--telemetry-t"), ["--telemetry-time"]),
        (("bench", "--on", "ort-trt"), ["ort-trt", "ort-trt-rtx"]),
        (("lint", "--select", "tiny"), ["tiny-kernels"]),
        (("explain", "w-bim"), ["W-BIMODAL"]),
        (("runs", "show", "lat"), ["latest"]),
        (("upgrade", "--old", "lat"), ["latest"]),
        (("report", "nothing-of-that-name"), ["nothing-of-that-name"]),
    ],
)
def test_words(words, offers, store, monkeypatch, capsys) -> None:
    assert completed(monkeypatch, capsys, *words) == offers


def test_ids_and_tags_of_stored_runs(store, monkeypatch, capsys) -> None:
    run = a_run()
    Store(store).save(run, tags=("nightly",))
    assert completed(monkeypatch, capsys, "runs", "show", run.id[:4]) == [run.id]
    assert completed(monkeypatch, capsys, "runs", "list", "--tag", "night") == ["nightly"]


def test_a_store_that_cannot_be_read_offers_nothing(store, monkeypatch, capsys) -> None:
    (store / "runs").mkdir()
    (store / "index.sqlite").write_bytes(b"no database")
    (store / "index.db").write_bytes(b"no database")
    assert completed(monkeypatch, capsys, "runs", "list", "--tag", "x") == []
    assert Words("no_such_words")(click.Context(cli), click.Option(["--x"]), "") == []


def test_completing_a_verb_imports_none() -> None:
    code = """
import sys, click
from enginescope.cli.main import cli
names = [item.value for item in cli.shell_complete(click.Context(cli), "")]
assert len(names) > 20, names
print(*(name for name in sys.modules if name.startswith("enginescope.cli.")))
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not {module for module, _ in VERBS.values()} & set(found.split())
