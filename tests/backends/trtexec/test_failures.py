import pytest

from enginescope.backends.trtexec.outcome import read_log
from enginescope.backends.trtexec.process import Ended
from enginescope.core.errors import BackendError

RUNNING = "&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=net.onnx\n"
PASSED = RUNNING.replace("RUNNING", "PASSED")
FAILED = RUNNING.replace("RUNNING", "FAILED")


def error(text: str) -> str:
    return f"[11/21/2026-07:26:41] [E] {text}\n"


def failure(status: int, log: str) -> BackendError:
    with pytest.raises(BackendError) as caught:
        read_log(Ended(status, log), "net.log")
    return caught.value


def test_a_log_of_a_good_end() -> None:
    log, notices = read_log(Ended(0, RUNNING + PASSED), "net.log")
    assert log.report.tool_version == "8.6.1"
    assert notices == ()


def test_the_first_errors_are_the_cause() -> None:
    log = RUNNING + "".join(error(word) for word in ("one", "two", "three", "four")) + FAILED
    found = failure(1, log)
    assert str(found) == "trtexec failed with exit status 1: one; two; three"
    assert found.exit_code == 3


def test_failed_is_believed_whatever_the_status() -> None:
    assert "one" in str(failure(0, RUNNING + error("one") + FAILED))


def test_without_an_error_the_last_line_is_the_cause() -> None:
    assert failure(1, RUNNING + "terminate called\n\n").why == "terminate called"


def test_signals_have_names() -> None:
    assert failure(-11, RUNNING).what == "trtexec died of SIGSEGV"
    assert failure(-200, RUNNING).what == "trtexec died of signal 200"


def test_what_says_nothing_of_trtexecs() -> None:
    assert failure(0, "").why == "it printed nothing"
    assert failure(127, "no such library\n").why == "no such library"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Unknown option: --fp61", "--trtexec-args"),
        ("Error Code 1: Cuda Runtime (out of memory)", "smaller batch"),
        ("[OutOfMemory]", "smaller batch"),
    ],
)
def test_hints(text, hint) -> None:
    assert hint in (failure(1, RUNNING + error(text)).hint or "")
