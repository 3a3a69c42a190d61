"""The program trtexec: found, its version, run, and what it prints beside figures."""

import re
import sys
from pathlib import Path

import psutil
import pytest

from enginescope.backends.trtexec import process
from enginescope.backends.trtexec.process import bindings, find_binary, printed_mode, version_of
from enginescope.core.errors import MissingDependencyError, UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log
from enginescope.records.plan.build import LogMessage, ToolReport
from enginescope.records.progress import Progress
from enginescope.records.run.job import Mode
from enginescope.records.tensor import DataType


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def ran(folder: Path, text: str, sink=lambda _: None, *, profiles: bool = True) -> process.Ended:
    script = executable(folder / "t", f"#!/bin/sh\n{text}\n")
    return process.run([str(script)], 3_200.0, sink, profiles=profiles)


def test_both_streams_in_one_log_and_on_standard_error(tmp_path, capsys) -> None:
    assert ran(tmp_path, "echo 1; echo 2 >&2; exit 3") == (3, "1\n2\n")
    assert capsys.readouterr().err == "1\n2\n"


def test_signals_bytes_that_are_no_text_and_what_cannot_be_started(tmp_path) -> None:
    assert ran(tmp_path, "kill -SEGV $$").status == -11
    assert ran(tmp_path, r"printf '\377\n'").log == "\ufffd\n"
    with pytest.raises(UnsupportedError, match="does not start: No such file"):
        process.run([str(tmp_path / "absent")], 0.0, lambda _: None, profiles=True)


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
    ran(tmp_path, "\n".join(f"echo '{line}'" for line in lines), seen.append, profiles=profiles)
    phases = ["load", "parse", "build", "load", "steady_state"]
    assert [one.phase for one in seen] == phases + ["layer_profile"] * profiles
    assert [one.limit_ms for one in seen if one.phase == "steady_state"] == [3_200.0]


def test_verbose_lines_are_kept_up_to_a_limit(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(process, "VERBOSE_LIMIT", 100)
    verbose = "[11/21/2026-07:26:41] [V] [TRT] tactic"
    text = f"for i in 1 2 3 4 5; do echo '{verbose}'; done; echo the end"
    omitted = "[enginescope: 3 further verbose lines are omitted]"
    assert ran(tmp_path, text).log.splitlines() == [verbose, verbose, "the end", omitted]


def test_nothing_is_left_running(tmp_path, capsys) -> None:
    def interrupted(progress: Progress) -> None:
        if progress.phase == "steady_state":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ran(tmp_path, 'echo "Starting inference $$"; exec sleep 600', interrupted)
    (number,) = re.findall(r"inference (\d+)", capsys.readouterr().err)
    assert not psutil.pid_exists(int(number))


def test_the_peak_of_what_was_run(tmp_path, monkeypatch) -> None:
    code = "b = bytes(64 << 20); print(len(b.replace(b'x', b'y')))"
    ran(tmp_path, f'exec "{sys.executable}" -c "{code}"')
    peak = process.peak_of_children_bytes()
    assert peak is not None
    assert peak > 64 << 20
    monkeypatch.setitem(sys.modules, "resource", None)  # a platform without such figures
    assert process.peak_of_children_bytes() is None


@pytest.fixture
def nowhere(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("TRTEXEC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(process, "USUAL", tmp_path / "usual" / "trtexec")


def test_none_says_how_to_get_one(nowhere) -> None:
    with pytest.raises(MissingDependencyError) as caught:
        find_binary()
    assert caught.value.exit_code == 2
    assert "wheels lack it" in str(caught.value)
    assert "container" in (caught.value.hint or "")
    assert "libnvinfer-bin" in (caught.value.hint or "")


def test_the_order_of_places(nowhere, monkeypatch, tmp_path) -> None:
    for folder in ("usual", "path"):
        (tmp_path / folder).mkdir()
    usual = executable(tmp_path / "usual" / "trtexec")
    assert find_binary() == usual
    on_path = executable(tmp_path / "path" / "trtexec")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert find_binary() == on_path
    named = executable(tmp_path / "mine")
    monkeypatch.setenv("TRTEXEC", str(named))
    assert find_binary() == named
    asked = executable(tmp_path / "path" / "trtexec-11")
    assert find_binary("trtexec-11") == asked  # a bare name is looked up on PATH
    assert find_binary(str(asked)) == asked


def test_a_path_from_the_home_folder_or_a_variable(nowhere, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    mine = executable(tmp_path / "mine")
    assert find_binary("~/mine") == mine
    monkeypatch.setenv("TRTEXEC", str(tmp_path / "absent"))
    with pytest.raises(UsageError) as caught:
        find_binary()
    assert "$TRTEXEC" in (caught.value.hint or "")


def test_what_is_asked_for_is_never_replaced(tool, tmp_path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    plain.chmod(0o644)
    for asked, why in (
        (tmp_path / "absent", "no such file"),
        (tmp_path, "it is a folder"),
        (plain, "it cannot be executed"),
    ):
        with pytest.raises(UsageError, match=why):
            find_binary(str(asked))


@pytest.mark.parametrize("text", ["8.6.1", "10.16.0", "11.1.0"])
def test_the_version_it_says(tool, text) -> None:
    tool.version(text)
    assert process.dotted(version_of(tool.binary)) == text


def test_the_version_of_a_first_run_where_help_says_none(tool) -> None:
    tool.fault("help_without_version")
    assert version_of(tool.binary) == (8, 6, 1)


@pytest.mark.parametrize(
    ("version", "fault", "words"),
    [
        ("8.6.1", "no_version", "is not a known version of trtexec"),
        ("8.5.3", "", r"of TensorRT 8\.5\.3: older than 8\.6"),
        ("8.6.1", "loader", r"does not start.*libnvinfer\.so\.8"),
    ],
)
def test_a_version_that_is_missing_or_too_old(tool, version, fault, words) -> None:
    tool.version(version)
    tool.fault(fault)
    with pytest.raises(UnsupportedError, match=words) as caught:
        version_of(tool.binary)
    assert fault != "loader" or "LD_LIBRARY_PATH" in caught.value.hint


def test_one_that_says_nothing(tmp_path) -> None:
    with pytest.raises(UnsupportedError, match="says 'nothing'"):
        version_of(executable(tmp_path / "quiet"))


def test_one_that_does_not_answer(tool, monkeypatch) -> None:
    monkeypatch.setattr(process, "_TIMEOUT_S", 0.2)
    tool.fault("hang")
    with pytest.raises(UnsupportedError, match="did not respond"):
        version_of(tool.binary)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("#!/bin/sh\nkill -SEGV $$\n", "dies of signal 11"),
        ("\x7fELF and no more", "does not start: Exec format error"),
    ],
)
def test_one_that_cannot_run(tmp_path, content, words) -> None:
    with pytest.raises(UnsupportedError, match=words):
        version_of(executable(tmp_path / "trtexec", content))


REFUSED = [
    "The CUDA graph capture on the stream has failed.",
    "CUDA graph capture failed. The inference will be launched without using CUDA graph.",
]


def report(*messages: str, **options: str) -> ToolReport:
    said = tuple(LogMessage(level="warning", text=text) for text in messages)
    return ToolReport(tool="trtexec", options={"Inference Options": options}, messages=said)


def test_a_recorded_log(data) -> None:
    raw = (data / "trt86-h200" / "resnet18.engine.profile.log").read_bytes()
    log, _ = parse_trtexec_log(raw, "resnet18.log")
    mode = Mode(kind="throughput", in_flight=2, transfers=True, cuda_graph=False, spin_wait=False)
    assert printed_mode(log.report) == replace(mode, streams=1, idle_ms=0.0)
    inputs, outputs = bindings(raw.decode())
    assert [(t.name, t.shape, t.dtype) for t in inputs] == [("input", (1, 3, 224, 224), None)]
    assert [(one.name, one.shape) for one in outputs] == [("output", (1, 1000))]
    warm_up = process.warm_up_report(raw.decode())
    assert (warm_up.iterations, warm_up.duration_ms, warm_up.ended_by) == (2694, 500.0, "fixed")


def test_a_log_without_them() -> None:
    assert bindings("Starting inference\n") == ((), ())
    assert process.warm_up_report("Starting inference\n") is None


def test_bindings_of_later_versions() -> None:
    inputs, outputs = bindings(
        "Input binding for a:0 with dimensions 1x3 and type fp16 is created.\n"
        "Input binding for n with dimensions  and type int64 is created.\n"
        "Input binding for a:0 with dimensions 1x3 and type fp16 is created.\n"
        "Output binding for y is dynamic and will be created during execution using "
        "OutputAllocator.\n"
        "Output binding for z with dimensions 2 and type fp9 is created.\n"
    )
    found = [[(one.name, one.shape, one.dtype) for one in side] for side in (inputs, outputs)]
    assert found == [
        [("a:0", (1, 3), DataType.FP16), ("n", (), DataType.INT64)],
        [("y", None, None), ("z", (2,), None)],
    ]


def test_bindings_of_the_first_release_with_these_lines() -> None:
    inputs, outputs = bindings(
        "[11/29/2026-14:20:43] [I] Using random values for input x\n"
        "[11/29/2026-14:20:43] [I] Created input binding for x with dimensions 1x64\n"
        "[11/29/2026-14:20:43] [I] Using random values for output y\n"
        "[11/29/2026-14:20:43] [I] Created output binding for y with dimensions 1x64\n"
        "[11/29/2026-14:20:43] [I] Created output binding for found with dimensions -1x4\n"
    )
    assert [(one.name, one.shape, one.dtype) for one in inputs] == [("x", (1, 64), None)]
    assert [(one.name, one.shape) for one in outputs] == [("y", (1, 64)), ("found", None)]


def test_what_is_not_printed_is_not_known_and_one_slot() -> None:
    assert printed_mode(report()) == Mode(kind="throughput", in_flight=None)
    assert printed_mode(report(ExposeDMA="Enabled")).in_flight == 1


@pytest.mark.parametrize("message", REFUSED)
def test_a_graph_that_was_refused_is_none(message) -> None:
    refused = report(message, **{"CUDA Graph": "Enabled"})
    assert process.capture_failed(refused)
    assert printed_mode(refused).cuda_graph is False
    for mode in (Mode(cuda_graph=True), None):
        (notice,) = process.mode_notices(refused, mode)
        assert notice.code == "W-NO-CUDA-GRAPH"


def test_a_mode_that_is_not_the_one_asked_for() -> None:
    asked = Mode(kind="throughput", in_flight=2, spin_wait=True, transfers=True)
    printed = report(**{"Spin-wait": "Disabled", "Data transfers": "Enabled"})
    (notice,) = process.mode_notices(printed, asked)
    assert notice.code == "W-MODE"
    assert notice.evidence == {"field": "spin_wait", "asked": True, "printed": False}
    assert process.mode_notices(printed, None) == []
