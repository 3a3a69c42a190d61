"""``enginescope upgrade --reproduce``: exit codes, and what is printed."""

import json
import sys

import pytest

from enginescope.cli.main import main
from enginescope.core.jsonio import sha256_of
from tests.one_way.verdicts import bundle, pair
from tests.plants.in_process import workers_in_process
from tests.services.upgrade.test_upgrade import planted

__all__ = ["planted"]


def test_a_bundle_is_announced_checked_and_judged_again(tmp_path, verb) -> None:
    pair(tmp_path)
    folder = tmp_path / "bundle"
    status, _, said = verb("upgrade", "--old", "a", "--new", "b", "--evidence", folder)
    assert "the reason: enginescope explain " in said  # it ended without a step
    digest = sha256_of(folder / "manifest.json")
    assert status == 1
    assert f"SHA-256 of its manifest: {digest}" in said
    assert f"--reproduce {folder}" in said
    status, shown, said = verb("upgrade", "--reproduce", folder, "--check-only")
    assert status == 0
    assert shown.startswith("bundle is intact: all ")
    assert digest in shown
    assert "run it again" in said
    page = tmp_path / "page.html"
    table = tmp_path / "table.md"
    files = ("--html", page, "--markdown", table)
    status, shown, said = verb("upgrade", "--reproduce", folder, *files)
    assert "Recorded and new verdicts" in page.read_text(encoding="utf-8")
    assert table.read_text(encoding="utf-8").startswith("### enginescope: no verdict differs: ")
    assert f"open: {page}" in said
    assert "the reason: enginescope explain " in said
    assert status == 0
    assert shown.startswith("no verdict differs: ")
    assert "samples of one process" in shown
    assert "(same)" in table.read_text(encoding="utf-8")


def test_a_changed_byte_is_refused_with_its_file(tmp_path, verb) -> None:
    bundle(tmp_path)
    file = next((tmp_path / "bundle" / "runs").glob("*/arrays/*.npy"))
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    for flags in ([], ["--check-only"]):
        status, shown, said = verb("upgrade", "--reproduce", tmp_path / "bundle", *flags)
        assert (status, shown) == (2, "")
        assert f"{file.relative_to(tmp_path / 'bundle')} was changed" in said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("m.onnx", "--reproduce", "bundle"), "MODELS with --reproduce"),
        (("--reproduce", "bundle", "--rounds", "9"), "--rounds with --reproduce"),
        (("--reproduce", "bundle", "--on", "fake"), "--on with --reproduce"),
        (("--old", "a", "--check-only"), "--check-only without --reproduce"),
        ((), "--old is needed"),
    ],
)
def test_options_of_one_way_are_refused_in_the_other(verb, arguments, why) -> None:
    status, shown, said = verb("upgrade", *arguments)
    assert (status, shown) == (2, "")
    assert why in said


@pytest.mark.filterwarnings("ignore")
def test_another_verdict_exits_with_1(convnet, tmp_path, planted, capsys) -> None:
    folder, store = str(tmp_path / "bundle"), str(tmp_path / "store")
    planted()
    with workers_in_process():
        usual = ["--on", "fake", "--rounds", "8", "--store", store, "--inconclusive", "pass"]
        arguments = ["upgrade", str(convnet), "--old", sys.executable, "--evidence", folder]
        assert main([*arguments, *usual]) == 0
        planted(slowdown=1.05)
        capsys.readouterr()
        again = ["upgrade", "--reproduce", folder, "--store", store]
        assert main([*again, "--json"]) == 1
        found = json.loads(capsys.readouterr().out)
        assert found["reproduced"] is False
        assert "(latency)" in found["answer"]
        assert main([*again, "--old", "/no/python"]) == 2
    said = capsys.readouterr().err
    assert "/no/python" in said
    assert "--check-only runs nothing" in said
