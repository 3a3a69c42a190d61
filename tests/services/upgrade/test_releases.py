import subprocess
import sys
from pathlib import Path

import pytest

from enginescope.core.errors import UsageError
from enginescope.records.verdict.upgrade import Release
from enginescope.services.upgrade import releases
from enginescope.services.upgrade.releases import HERE, indexed_releases, installed

#: As pip 26.3 prints it.
WHEEL = (
    "  Skipping link: none of the wheel's tags (cp39-cp39-win_amd64) are compatible (run pip debug "
    "--verbose to show compatible tags): https://files.pythonhosted.org/packages/4b/f2/"
    "{name}-{version}-cp39-cp39-win_amd64.whl (from https://pypi.org/simple/{name}/)\n"
)
LISTED = "onnxruntime (1.32.0)\nAvailable versions: {versions}\n  INSTALLED: 1.32.0\n"


@pytest.fixture
def pip(monkeypatch):
    def prints(out: str = "", error: str = "") -> list[tuple[str, ...]]:
        asked: list[tuple[str, ...]] = []

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            asked.append(arguments)
            return subprocess.CompletedProcess(arguments, int(bool(error)), out, error)

        monkeypatch.setattr(releases, "_pip", run)
        return asked

    return prints


def test_the_releases_of_the_index_within_a_range(pip) -> None:
    skipped = "".join(
        WHEEL.format(name="onnxruntime", version=version)
        for version in ("1.9.0", "1.20.0", "1.22.0", "1.21.0")
    )
    asked = pip(skipped + LISTED.format(versions="1.23.0rc1, 1.22.1, 1.22.0, 1.20.1, 1.20.0"))
    assert indexed_releases("onnxruntime", ("1.20.1", "1.22")) == [
        Release(version="1.20.1"),
        Release(version="1.21.0", failure=f"no file for Python {HERE} on this machine"),
        Release(version="1.22.0"),
        Release(version="1.22.1"),
    ]
    assert asked == [("-vv", "index", "versions", "onnxruntime")]


def test_a_dash_is_an_underscore_in_files_and_the_index_may_lack_a_package(pip) -> None:
    pip(WHEEL.format(name="onnxruntime_gpu", version="1.21.0") + LISTED.format(versions="1.22.0"))
    found = indexed_releases("onnxruntime-gpu", ("1.0", "2.0"))
    assert [one.version for one in found] == ["1.21.0", "1.22.0"]
    pip(error="ERROR: No matching distribution found for nothing\n")
    with pytest.raises(UsageError, match="No matching distribution found for nothing"):
        indexed_releases("nothing", ("1.0", "2.0"))


def test_an_environment_sees_this_enginescope_and_is_made_once(pip, tmp_path) -> None:
    asked = pip()
    told: list[str] = []
    release = installed(Release(version="2.9.9"), "onnxruntime", tmp_path, told.append)
    assert release.failure is None
    assert Path(release.python).is_relative_to(tmp_path / f"onnxruntime-2.9.9-{HERE}")
    assert [command[-1] for command in asked] == ["onnxruntime==2.9.9"]
    assert installed(Release(version="2.9.9"), "onnxruntime", tmp_path, told.append) == release
    assert len(asked) == len(told) == 1


def test_a_release_that_does_not_install_or_import_is_named(pip, tmp_path) -> None:
    pip(error="ERROR: No matching distribution found for onnxruntime==9\n\n[notice] A new pip\n")
    release = installed(Release(version="9"), "onnxruntime", tmp_path, lambda _text: None)
    assert release.failure == "ERROR: No matching distribution found for onnxruntime==9"
    assert not list(tmp_path.iterdir())
    release = Release(version="9", python=sys.executable)
    found = installed(release, "no_such_module", tmp_path, lambda _text: None)
    assert found.failure == "ModuleNotFoundError: No module named 'no_such_module'"
