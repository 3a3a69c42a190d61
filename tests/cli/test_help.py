"""The help of every verb: plain sentences, options under headings, examples that are true."""

import shlex
import shutil
from collections import Counter
from pathlib import Path

import click
import pytest

from enginescope.cli.main import GROUPS, VERBS, main
from enginescope.cli.verb import HEADINGS, Verb, heading_of, long_flag
from tests.cli.verb_help import every_verb
from tests.formats.plan.test_engine_file import HEAD
from tests.language import banned_in, long_sentences

COMMANDS = dict(every_verb())
OPTIONS = [
    option
    for command in COMMANDS.values()
    for option in command.params
    if isinstance(option, click.Option)
]
EXAMPLES = [line for command in COMMANDS.values() for _, line in getattr(command, "examples", ())]
#: Starts of examples that need no model, store or GPU, or only files of a recorded engine.
QUICK = (
    *("enginescope doctor", "enginescope explain ", "enginescope completion fish"),
    *("enginescope explore", "enginescope lint", "enginescope compare a.json"),
    *("enginescope models list", "enginescope runs reindex"),
)
#: Flag of an example that measures for minutes.
LONG = "--noise"
#: Of a narrow terminal.
COLUMNS = 80
ENGINE = "trt86-h200/resnet18"


def check(text: str) -> None:
    assert text[:1].isupper(), text
    assert long_sentences(text) == []
    assert banned_in(text) == []


def test_an_option_makes_sense_with_its_name_covered() -> None:
    for option in OPTIONS:
        check(option.help or "")
        assert not option.help.startswith("Of "), option.opts


def test_a_verb_says_what_it_does_and_the_list_of_verbs_is_plain_and_in_groups(capsys) -> None:
    for command in COMMANDS.values():
        check(" ".join((command.help or "").split()))
    for _, text in VERBS.values():
        check(text)
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    places = [shown.index(f"\n{group}:\n") for group in GROUPS]
    assert places == sorted(places)


def test_every_flag_has_one_heading_and_each_exists() -> None:
    """`--loop` of bench fell under Output, where nothing looked for it."""
    counts = Counter(flag for flags in HEADINGS.values() for flag in flags)
    assert [flag for flag, count in counts.items() if count > 1] == []
    flags = set(map(long_flag, OPTIONS))
    assert sorted({flag for of in HEADINGS.values() for flag in of} - flags) == []
    known = {flag for flags in HEADINGS.values() for flag in flags}
    headings = {one: getattr(one, "heading", None) for one in OPTIONS}
    assert {heading for heading in headings.values() if heading} <= {*HEADINGS}
    assert [one for one in OPTIONS if not headings[one] and long_flag(one) not in known] == []


def test_options_are_listed_under_headings(capsys) -> None:
    assert main(["bench", "--help"]) == 0
    shown = capsys.readouterr().out
    at = [shown.index(f"\n{heading}:\n") for heading in ("Stopping", "GPU", "Store", "Output")]
    assert at == sorted(at)
    assert shown.index("--warmup") < shown.index("\nGPU:") < shown.index("--cold")
    threshold = next(one for one in COMMANDS["bench"].params if "--threshold" in one.opts)
    assert heading_of(threshold) == "Comparing"


def test_help_fits_80_columns_cuts_no_sentence_and_ends_with_two_examples(
    capsys, monkeypatch
) -> None:
    """`runs` and `models` cut sentences of their verbs, and a batch was at most 2147483647."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    for path, command in COMMANDS.items():
        assert main([*path.split(), "--help"]) == 0
        shown = capsys.readouterr().out
        assert f"Usage: enginescope {path}" in shown
        if path == "trtexec":
            continue
        lines = shown.splitlines()
        assert [line for line in lines if len(line) > COLUMNS] == []
        assert [line for line in lines if line.endswith("...") and "Usage" not in line] == []
        assert "2147483647" not in shown
        assert len(command.examples) == 2
        for purpose, line in command.examples:
            assert shown.index("\nExamples:\n") < shown.index(f"  # {purpose}\n  {line}\n")
            assert max(len(purpose) + 2, len(line)) <= COLUMNS - 2


def test_an_example_can_be_typed(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in EXAMPLES:
        words = shlex.split(line.removeprefix('eval "$(').removesuffix(')"'))[1:]
        for word in words:  # the files that it names
            if word.endswith((".json", ".tea", ".onnx", ".txt", ".zip", ".png", ".npy")):
                (tmp_path / word.split("=")[-1]).touch()
        path = max((one for one in COMMANDS if words[: len(one.split())] == one.split()), key=len)
        assert isinstance(COMMANDS[path], Verb)
        with COMMANDS[path].make_context(path, words[len(path.split()) :]) as context:
            assert context.args == []


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    "line", [one for one in EXAMPLES if one.startswith(QUICK) and LONG not in one]
)
def test_a_quick_example_runs(line, data, convnet, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    Path("model.engine").write_bytes(HEAD)
    for name in ("plan.json", "a.json", "b.json"):
        shutil.copy(data / f"{ENGINE}.graph.json", name)
    shutil.copy(data / f"{ENGINE}.profile.json", "times.json")
    Path("models").mkdir()
    shutil.copy(convnet, "models")
    shutil.copy(convnet, "model.onnx")
    status = main(shlex.split(line)[1:])
    findings = line.startswith("enginescope lint") and "--level" not in line
    assert status == int(findings)  # the recorded plan has findings of severity "warning"
    shown = capsys.readouterr()
    assert shown.out.strip()
    assert "W-RECORDS" not in shown.err  # layer times in times.json are no times of requests
