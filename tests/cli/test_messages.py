"""``-q``, ``-v`` and the next step: what verbs say on standard error."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from enginescope.cli.main import main
from enginescope.cli.messages import USUAL, next_steps, set_level
from enginescope.services.explain import explain, explanations, shown_word
from tests.cli.verb_help import every_verb

ENGINE = "trt86-h200-process/small_convnet.onnx.engine"
#: Verbs that take trtexec's flags as they are.
OTHERS = {"trtexec"}


@pytest.fixture
def plan(data, tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    for ending in ("graph", "profile"):
        shutil.copy(data / f"{ENGINE}.{ending}.json", f"net.{ending}.json")
    return Path("net.graph.json")


def test_every_verb_has_them() -> None:
    without = {
        path
        for path, command in every_verb()
        if not {"--quiet", "--verbose"} <= {flag for one in command.params for flag in one.opts}
    }
    assert without == OTHERS


def test_verbose_imports_nothing_while_it_hears_of_imports() -> None:
    """``compare -v`` ended in a traceback: `tempfile` was imported while it was being imported."""
    code = (
        "import sys; from enginescope.cli.messages import VERBOSE, set_level; set_level(VERBOSE);"
        "[sys.modules.pop(name) for name in ('tempfile', 'random')]; import tempfile"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_quiet_leaves_the_results_alone_and_does_not_last(plan, capsys) -> None:
    assert main(["explore", str(plan)]) == 0
    usual = capsys.readouterr()
    assert "find problems: enginescope lint net.graph.json" in usual.err
    assert main(["explore", str(plan), "-q"]) == 0
    quiet = capsys.readouterr()
    assert quiet.out == usual.out
    assert quiet.err == ""
    main(["lint", str(plan), "-q"])
    assert capsys.readouterr().err == ""
    main(["lint", str(plan)])
    assert "explain a rule: enginescope explain " in capsys.readouterr().err


def test_quiet_keeps_warnings_and_errors(plan, capsys) -> None:
    Path("net.profile.json").write_text("[{")
    main(["lint", str(plan), "--quiet"])
    assert "(W-DAMAGED-FILE)" in capsys.readouterr().err
    assert main(["explore", "missing.json", "--quiet"]) == 2
    assert "missing.json" in capsys.readouterr().err


def test_verbose_names_files_once(plan, capsys) -> None:
    assert main(["explore", str(plan), "--verbose"]) == 0
    read = [line for line in capsys.readouterr().err.splitlines() if line.startswith("  read ")]
    assert f"  read {plan.resolve()}" in read
    assert f"  read {Path('net.profile.json').resolve()}" in read
    assert len(read) == len(set(read))
    assert main(["explore", str(plan)]) == 0
    assert "  read " not in capsys.readouterr().err


def test_verbose_names_processes(convnet, tmp_path) -> None:
    arguments = [str(convnet), "--iterations", "3", "--warmup", "0", "--no-layers", "-v"]
    ended = subprocess.run(
        [sys.executable, "-m", "enginescope", "bench", *arguments, "--store", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "  start " in ended.stderr
    assert "enginescope.runner.worker" in ended.stderr
    assert f"  read {convnet}" in ended.stderr


def test_they_exclude_each_other(plan, capsys) -> None:
    assert main(["explore", str(plan), "-q", "-v"]) == 2
    assert "exclude each other" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["explore", "lint"])
def test_json_has_no_next_step(verb, plan, capsys) -> None:
    main([verb, str(plan), "--json"])
    assert "enginescope" not in capsys.readouterr().err


def test_a_written_page_is_the_file_to_open(plan, capsys) -> None:
    assert main(["compare", str(plan), str(plan), "--html", "both.html"]) == 0
    assert "  open: both.html" in capsys.readouterr().err


def test_steps_share_a_line_where_they_fit(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    set_level(USUAL)
    next_steps(("one", "a b"), ("two", "c" * 20), ("three", "d" * 50))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"  one: a b · two: {'c' * 20}", f"  three: {'d' * 50}"]


def test_a_code(capsys) -> None:
    assert main(["explain", "W-BIMODAL"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("W-BIMODAL: The latency has two levels")
    assert "\nExample: " in shown
    assert "\nWhat to do: " in shown


def test_codes_are_explained_on_the_screen_and_as_json(capsys) -> None:
    assert main(["explain", "w-load", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["code"] == "W-LOAD"
    assert set(found) == {"code", "meaning", "example", "action"}
    assert main(["explain", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(explanations())
    assert main(["explain"]) == 0
    assert "W-BIMODAL" in capsys.readouterr().out
    assert main(["explain", "W-BIMODL"]) == 2
    assert "did you mean W-BIMODAL?" in capsys.readouterr().err


def test_a_next_step_names_the_word_that_the_output_shows() -> None:
    assert shown_word("timed_out") == "timed out"
    assert explain("timed out").code == "timed_out"
    assert shown_word("inconclusive") == explain("inconclusive").code == "inconclusive"
    assert shown_word("regression") == "regression"
