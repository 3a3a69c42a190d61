"""The commit of the working directory."""

import shutil
import subprocess
from pathlib import Path

import pytest

from enginescope.probe import environment
from enginescope.probe.environment import probe_commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git")


@pytest.fixture(autouse=True)
def forget() -> None:
    probe_commit.cache_clear()


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    ended = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], capture_output=True, text=True, check=True
    )
    return ended.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-q", "-m", "one")
    return tmp_path


def test_the_commit_and_whether_files_differ(repository) -> None:
    head = git(repository, "rev-parse", "HEAD")
    found = probe_commit(repository)
    assert (found.id, found.is_changed, found.short) == (head, False, head[:10])
    (repository / "a").write_text("2")
    assert probe_commit(repository) is found  # asked once
    probe_commit.cache_clear()
    assert probe_commit(repository).short == f"{head[:10]}+"
    # files that git does not know are no change
    (repository / "a").rename(repository / "b")
    git(repository, "checkout", "a")
    (repository / "inside").mkdir()
    assert probe_commit(repository / "inside").is_changed is False


def test_what_has_no_commit(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert probe_commit(tmp_path) is None
    git(tmp_path, "init", "-q")
    probe_commit.cache_clear()
    assert probe_commit(tmp_path) is None


def test_without_git_or_where_git_takes_too_long(repository, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(repository))
        assert probe_commit(repository) is None
    probe_commit.cache_clear()

    def endless(*arguments, timeout, **more):
        raise subprocess.TimeoutExpired("git", timeout)

    monkeypatch.setattr(environment.subprocess, "run", endless)
    assert probe_commit(repository) is None
