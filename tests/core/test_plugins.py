import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from enginescope.core.errors import EnginescopeError, PluginError, UsageError
from enginescope.core.plugins import Registry, outside_verbs, packages_with, search_path
from tests.plants.packages import installed, write_package

PARTS = Registry("part", {"own": "json:dumps", "secret": "json:loads"}, unlisted=("secret",))
MODULES = {
    "outside_good": "def part(value):\n    return [value]\n",
    "outside_broken": "import no_such_module\n",
    "outside_exits": "raise RuntimeError('no license\\nfound')\n",
}
POINTS = {
    "part": {
        "good": "outside_good:part",
        "broken": "outside_broken:part",
        "exits": "outside_exits",
        "lost": "outside_good:lost",
        "own": "outside_good:part",
    }
}


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Path]:
    folder = write_package(tmp_path / "site", MODULES, POINTS)
    with installed(folder):
        yield folder


def test_without_plugins_the_built_in_parts_stand_alone() -> None:
    assert PARTS.names() == ("own",)
    assert (list(PARTS.usable()), PARTS.load("secret")("1")) == ([], 1)


@pytest.mark.usefixtures("package")
def test_plugins_follow_the_built_in_parts_and_are_known_by_name() -> None:
    assert PARTS.names() == ("own", "broken", "exits", "good", "lost")
    assert (PARTS.load("own")([1]), PARTS.load("good")(2)) == ("[1]", [2])
    with pytest.raises(UsageError, match="no part is called 'goood'") as caught:
        PARTS.load("goood")
    assert caught.value.hint == "did you mean good?"
    assert (packages_with("part"), packages_with("other")) == ({"outside"}, frozenset())


@pytest.mark.usefixtures("package")
def test_a_broken_plugin_is_named_with_its_reason_and_stops_no_other() -> None:
    parts = dict(PARTS.usable())
    reasons = {name: str(part) for name, part in parts.items() if isinstance(part, Exception)}
    assert parts["good"](1) == [1]
    assert reasons == {
        "broken": "part broken of outside 1.5 failed: ModuleNotFoundError: No module named "
        "'no_such_module'",
        "exits": "part exits of outside 1.5 failed: RuntimeError: no license found",
        "lost": "part lost of outside 1.5 failed: AttributeError: module 'outside_good' has no "
        "attribute 'lost'",
        "own": "part own of outside 1.5 failed: a built-in part has this name",
    }
    with pytest.raises(PluginError) as caught:
        PARTS.load("broken")
    assert caught.value.hint == "update or uninstall outside"


@pytest.mark.usefixtures("package")
def test_errors_in_a_plugin_s_functions_name_it_and_errors_of_ours_pass() -> None:
    def refuse() -> None:
        raise UsageError("not so")

    with pytest.raises(PluginError, match=r"part good of outside 1\.5 failed: ZeroDivisionError"):
        PARTS.call("good", lambda: 1 / 0)
    with pytest.raises(EnginescopeError, match="not so"):
        PARTS.call("good", refuse)
    with pytest.raises(ZeroDivisionError):
        PARTS.call("own", lambda: 1 / 0)


def test_programs_on_the_path_are_verbs_and_the_first_counts(tmp_path, monkeypatch) -> None:
    for folder, name, mode in (
        ("a", "enginescope-one", stat.S_IRWXU),
        ("b", "enginescope-one", stat.S_IRWXU),
        ("b", "enginescope-two", stat.S_IRUSR),
        ("b", "enginescope-", stat.S_IRWXU),
    ):
        file = tmp_path / folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(mode)
    folders = (tmp_path / "a", tmp_path / "none", tmp_path / "b")
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))
    found = {name: file for name, file in outside_verbs().items() if tmp_path in file.parents}
    assert found == {"one": tmp_path / "a" / "enginescope-one"}
    assert search_path().startswith(os.environ["PATH"])
