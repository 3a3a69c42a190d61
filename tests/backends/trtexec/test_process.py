import re
import sys
from pathlib import Path

import psutil
import pytest

from enginescope.backends.trtexec import process
from enginescope.backends.trtexec.process import peak_of_children_bytes, run
from enginescope.core.errors import UnsupportedError
from enginescope.records.progress import Progress


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def ignore(_: Progress) -> None:
    pass


def test_both_streams_in_one_log_and_on_standard_error(tmp_path, capsys) -> None:
    ended = run([script(tmp_path / "t", "echo 1; echo 2 >&2; exit 3")], 0.0, ignore, profiles=True)
    assert ended == (3, "1\n2\n")
    assert capsys.readouterr().err == "1\n2\n"


def test_a_signal_is_a_negative_status(tmp_path) -> None:
    assert run([script(tmp_path / "t", "kill -SEGV $$")], 0.0, ignore, profiles=True).status == -11


def test_bytes_that_are_no_text(tmp_path) -> None:
    ended = run([script(tmp_path / "t", r"printf '\377\n'")], 0.0, ignore, profiles=True)
    assert ended.log == "\ufffd\n"


def test_what_cannot_be_started(tmp_path) -> None:
    with pytest.raises(UnsupportedError, match="does not start: No such file"):
        run([str(tmp_path / "absent")], 0.0, ignore, profiles=True)


@pytest.mark.parametrize("profiles", [True, False])
def test_phases_from_what_it_says(tmp_path, profiles) -> None:
    lines = [
        "Start parsing network model.",
        "Finished parsing network model. Parse time: 1",
        "Engine built in 3 sec.",
        "Starting inference",
        "=== Performance summary ===",
    ]
    seen: list[Progress] = []
    text = "\n".join(f"echo '{line}'" for line in lines)
    run([script(tmp_path / "t", text)], 3_200.0, seen.append, profiles=profiles)
    phases = ["load", "parse", "build", "load", "steady_state"]
    assert [one.phase for one in seen] == phases + ["layer_profile"] * profiles
    assert [one.limit_ms for one in seen if one.phase == "steady_state"] == [3_200.0]


def test_verbose_lines_are_kept_up_to_a_limit(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(process, "VERBOSE_LIMIT", 100)
    verbose = "[11/21/2026-07:26:41] [V] [TRT] tactic"
    text = f"for i in 1 2 3 4 5; do echo '{verbose}'; done; echo the end"
    log = run([script(tmp_path / "t", text)], 0.0, ignore, profiles=True).log.splitlines()
    assert log == [
        verbose,
        verbose,
        "the end",
        "[enginescope: 3 further verbose lines are omitted]",
    ]


def test_nothing_is_left_running(tmp_path, capsys) -> None:
    def interrupted(progress: Progress) -> None:
        if progress.phase == "steady_state":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(
            [script(tmp_path / "t", 'echo "Starting inference $$"; exec sleep 600')],
            0.0,
            interrupted,
            profiles=True,
        )
    (number,) = re.findall(r"inference (\d+)", capsys.readouterr().err)
    assert not psutil.pid_exists(int(number))


def test_the_peak_of_what_was_run(tmp_path) -> None:
    hoard = (
        f"exec \"{sys.executable}\" -c \"b = bytes(64 << 20); print(len(b.replace(b'x', b'y')))\""
    )
    run([script(tmp_path / "t", hoard)], 0.0, ignore, profiles=True)
    peak = peak_of_children_bytes()
    assert peak is not None
    assert peak > 64 << 20


def test_a_platform_without_such_figures(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    assert peak_of_children_bytes() is None
