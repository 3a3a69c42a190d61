import errno
import io
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from enginescope.cli import main as main_module
from enginescope.cli.main import EXIT_PIPE_CLOSED, FIRST, VERBS, main, with_ascii_fallback
from enginescope.cli.report_output import present_answer
from enginescope.core.errors import UsageError
from enginescope.render.html.answer_page import Answer
from enginescope.services.suites import run, session


def replace_verb(monkeypatch, body) -> None:
    command = click.Command("doctor", callback=body)
    monkeypatch.setattr(main_module.VerbGroup, "get_command", lambda *_: command)


def test_help_lists_every_verb_and_the_first_screen_16_at_most(capsys) -> None:
    for arguments in (["--help", "--all"], ["--all", "--help"]):
        assert main(arguments) == 0
        shown = capsys.readouterr().out
        for verb, (_, text) in VERBS.items():
            assert f"  {verb} " in shown
            assert text[:20] in shown
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    listed = [verb for verb in VERBS if f"\n  {verb} " in shown]
    assert sorted(listed) == sorted(FIRST)
    assert len(listed) <= 16
    assert f"{len(VERBS) - len(listed)} more verbs: enginescope --help --all" in shown
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("enginescope ")


def test_a_verb_that_is_part_of_another_has_no_name_of_its_own(capsys) -> None:
    for verb in ("noise", "reproduce", "passport", "push", "tokens"):
        assert main([verb]) == 2
        assert f"no verb '{verb}'" in capsys.readouterr().err


def test_unknown_verbs_and_options_are_user_errors(capsys) -> None:
    assert main(["bensh"]) == 2
    assert "did you mean bench?" in capsys.readouterr().err
    assert main(["doctor", "--jsno"]) == 2
    assert "--json" in capsys.readouterr().err


def test_our_errors_say_what_why_and_what_next(monkeypatch, capsys) -> None:
    def fail() -> None:
        raise UsageError("model x.onnx", why="no such file", hint="did you mean y.onnx?")

    replace_verb(monkeypatch, fail)
    assert main(["doctor"]) == 2
    assert capsys.readouterr().err == (
        "enginescope: model x.onnx\n  why: no such file\n  try: did you mean y.onnx?\n"
    )


def test_a_bug_is_shown_whole_with_its_own_code(monkeypatch, capsys) -> None:
    replace_verb(monkeypatch, lambda: 1 / 0)
    assert main(["doctor"]) == 4
    shown = capsys.readouterr().err
    assert "ZeroDivisionError" in shown
    assert "please report it" in shown


def test_numbers_of_verbs_and_interrupts_are_exit_codes(monkeypatch, capsys) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    replace_verb(monkeypatch, interrupt)
    assert main(["doctor"]) == 130
    assert "interrupted" in capsys.readouterr().err
    replace_verb(monkeypatch, lambda: 3)
    assert main(["doctor"]) == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_the_answer_is_written(monkeypatch, tmp_path, capsys, number) -> None:
    answered = Answer(
        verb="doctor", title="Doctor", answer="all is well", facts=(), tables=(), report={}
    )
    table, options = tmp_path / "table", {"table": tmp_path / "table", "as_json": False}

    def interrupted() -> bytes:
        signal.raise_signal(number)
        return b"rows"

    replace_verb(monkeypatch, lambda: present_answer(answered, options, table=interrupted))
    if number == signal.SIGINT:
        assert main(["doctor"]) == 130
    else:
        with pytest.raises(SystemExit, match="143"):
            main(["doctor"])
    assert table.read_bytes() == b"rows"
    assert "all is well" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def explain(tail: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run ``enginescope explain`` in a shell, which says where its output goes."""
    command = f"{shlex.quote(sys.executable)} -m enginescope explain {tail}"
    env = {**os.environ, **variables}
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, env=env, timeout=120, check=False
    )


def test_a_reader_that_goes_away_is_neither_a_bug_nor_a_bad_answer() -> None:
    ended = explain("| true; exit ${PIPESTATUS[0]}")
    assert ended.returncode == EXIT_PIPE_CLOSED
    assert ended.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_device_is_said_in_a_line() -> None:
    ended = explain("> /dev/full")
    assert ended.returncode == 2
    assert b"cannot write to standard output" in ended.stderr
    assert b"No space left on device" in ended.stderr
    assert b"Traceback" not in ended.stderr


def test_a_terminal_without_our_signs_still_gets_the_rest() -> None:
    ended = explain("", PYTHONIOENCODING="ascii")
    assert ended.returncode == 0, ended.stderr
    assert b"W-BIMODAL" in ended.stdout


def test_signs_that_a_stream_lacks_are_written_as_those_most_like_them() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")
    with_ascii_fallback(stream)
    print("1×3 · 0.02 … 0.03 ms ±1 % → ▁▂█ ───", "ü\n", end="", file=stream)
    stream.flush()
    assert stream.buffer.getvalue() == b"1x3 - 0.02 ~ 0.03 ms ~1 % > .:# --- ?\n"
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1", newline="")
    with_ascii_fallback(stream)
    print("1×3 · ±1 … 2", end="", file=stream)
    stream.flush()
    assert stream.buffer.getvalue() == "1×3 · ±1 ~ 2".encode("latin-1")


def test_an_error_that_is_not_of_the_output_is_a_bug(monkeypatch, capsys) -> None:
    def fail() -> None:
        raise OSError(errno.EIO, "Input/output error")

    replace_verb(monkeypatch, fail)
    assert main(["doctor"]) == 4
    assert "Input/output error" in capsys.readouterr().err


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_suite_says_it_once(tmp_path, convnet, monkeypatch, capsys) -> None:
    monkeypatch.setattr(session, "run_cells", interrupted)
    asked = ["suite", str(convnet.parent), "--include", convnet.stem, "--on", "fake"]
    assert main([*asked, "--name", "zoo", "--store", str(tmp_path)]) == 130
    said = capsys.readouterr().err
    assert said.count("interrupted") == 1
    assert "enginescope: interrupted; 0 of 1 cells are done; run the same command" in said
    assert (tmp_path / "suites" / "zoo" / "results.csv").is_file()


@pytest.mark.parametrize(("raised", "ended"), [(KeyboardInterrupt, 130), (SystemExit(143), 143)])
def test_a_fleet_says_it_once(tmp_path, convnet, monkeypatch, capsys, raised, ended) -> None:
    class Fleet:
        def run(self, *_: object) -> None:
            raise raised

    monkeypatch.setattr(run, "fleet_for", lambda *_: Fleet())
    asked = ["suite", str(convnet.parent), "--on", "fake", "--on", "ort-cpu", "--in-docker", "i"]
    asked += ["--include", convnet.stem, "--name", "zoo", "--store", str(tmp_path)]
    try:
        status = main(asked)
    except SystemExit as leave:  # as it does at the top
        status = leave.code
    assert status == ended
    said = capsys.readouterr().err
    assert said.count("interrupted") == 1
    assert "enginescope: interrupted; 0 of 2 cells are done; run the same command" in said


def test_a_suite_that_ends_before_its_first_cell_says_so(
    tmp_path, convnet, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(run, "environment_fingerprint", interrupted)
    asked = ["suite", str(convnet.parent), "--on", "fake", "--name", "zoo"]
    assert main([*asked, "--store", str(tmp_path)]) == 130
    assert "enginescope: interrupted; no cell was started" in capsys.readouterr().err
