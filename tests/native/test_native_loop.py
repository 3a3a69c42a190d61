"""The library, its programs, and what is said where it is not there."""

import re
import subprocess
import sys
import threading
from time import perf_counter_ns

import numpy as np
import pytest

from enginescope.backends import native_loop
from enginescope.backends.native_loop import Kind, NativeSteps, Program, Turn, library
from enginescope.backends.open_loop import LoadRecorder
from enginescope.core.errors import UnsupportedError
from enginescope.records.run.load_and_contention import LoadRule
from tests.native.conftest import ROOT, compiled

SOURCE = ROOT / "native" / "loop.c"


def pause(microseconds: float) -> Program:
    calls = [(Kind.CLOCK, 0), (Kind.PAUSE, int(microseconds * 1e3)), (Kind.CLOCK, 1)]
    return Program([[Turn(calls)]], columns=2)


def test_the_source_is_small_and_has_the_same_kinds() -> None:
    listed = SOURCE.read_text().partition("enum kind {")[2].partition("};")[0]
    assert re.findall(r"^ {2}([A-Z_]+)", listed, re.MULTILINE) == [kind.name for kind in Kind]
    text = SOURCE.read_text()
    assert len(text.splitlines()) <= 400
    headers = set(re.findall(r"#include <(.*)>", text))
    assert headers == {"dlfcn.h", "stdint.h", "stdlib.h", "string.h", "time.h"}
    assert '#include "' not in text


@pytest.mark.parametrize(("compiler", "said"), [("false", "ended with 1"), ("none/cc", "none/cc")])
def test_a_c_compiler_that_fails_is_named(tmp_path, monkeypatch, compiler, said) -> None:
    monkeypatch.setenv("CC", compiler)
    command = [sys.executable, ROOT / "native" / "compile.py", SOURCE, tmp_path / "loop"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "CompileError" in done.stderr
    assert said in done.stderr


def test_the_library_names_no_other_library(tmp_path) -> None:
    library = compiled(SOURCE, tmp_path / "loop")
    assert b"libcuda" not in library.read_bytes()
    assert b"libonnxruntime" not in library.read_bytes()


def test_its_clock_is_pythons_and_untimed_requests_leave_no_row(loop) -> None:
    before = perf_counter_ns()
    rows = pause(0).run(3)
    assert before <= rows[0, 0] <= rows[-1, 1] <= perf_counter_ns()
    recorder = NativeSteps(pause(100))
    recorder.run(5, untimed=3)
    recorder.run(2)
    assert (len(recorder), recorder.issued) == (7, 10)
    assert (recorder.times_ms() >= 0.1).all()
    assert recorder.wall_ms >= 0.7


def test_threads_share_requests(loop) -> None:
    rows, taken = np.zeros((40, 2), np.int64), np.zeros(1, np.int64)
    programs = [pause(200) for _ in range(4)]
    threads = [threading.Thread(target=one.share, args=(rows, taken, 40)) for one in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken[0] == 40
    assert (rows[:, 1] - rows[:, 0] >= 200_000).all()


@pytest.mark.parametrize("arrivals", ["poisson", "constant", "burst"])
@pytest.mark.parametrize("workers", [1, 3])
def test_arrivals_are_those_of_the_loop_in_python(loop, arrivals, workers) -> None:
    paced = {} if arrivals == "burst" else {"rate_per_s": 2_000.0}
    rule = LoadRule(arrivals=arrivals, queries=300, workers=workers, seed=3, **paced)
    load = LoadRecorder([NativeSteps(pause(20)) for _ in range(workers)], rule, np.array([0.1]))
    load.serve(lambda _: None)
    found = {one.metric: one.values_ms for one in load.samples()}
    assert load.outcome().planned == len(load) == load.issued == 300
    assert np.allclose(found["latency"], found["queueing"] + found["service"], atol=0.02)
    assert (found["lateness"] >= 0).all()
    assert (found["service"] >= 0.02).all()


def test_a_stretch_ends_at_a_long_gap(loop) -> None:
    rule = LoadRule(arrivals="constant", rate_per_s=1_000, queries=5)
    load = LoadRecorder([NativeSteps(pause(1))], rule, np.array([0.001]))
    due = np.arange(400, dtype=np.int64) * 1_000_000
    due[80:] += 5_000_000
    assert load._end_of_stretch(due, 0) == 80
    assert load._end_of_stretch(due, 390) == 400


def test_a_library_of_another_version_or_none_is_named(loop, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(native_loop, "_VERSION", 99)
    library.cache_clear()
    with pytest.raises(UnsupportedError, match="version 1, not 99"):
        library()
    monkeypatch.setattr(native_loop, "LIBRARY", tmp_path / "none")
    with pytest.raises(UnsupportedError) as caught:
        library()
    notice = native_loop.python_notice(caught.value, "it costs", None)
    assert "timed from Python" in notice.message
    assert "ziglang" in notice.message
    with pytest.raises(UnsupportedError):
        native_loop.python_notice(caught.value, "it costs", "native")
    with pytest.raises(UnsupportedError, match="as requested"):
        native_loop.require_native("python", None)
    native_loop.require_native(None, None)
