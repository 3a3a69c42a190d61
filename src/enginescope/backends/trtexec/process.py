"""Find trtexec and its TensorRT, run it once, and watch it line by line.

What trtexec's log says of a run beyond the report: mode, warm-up, inputs and outputs.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple, Protocol, TypeAlias

from enginescope.backends.base import ProgressSink
from enginescope.core.errors import (
    MissingDependencyError,
    UnsupportedError,
    UsageError,
    os_errors_as,
)
from enginescope.core.record import replace
from enginescope.formats.importing.import_options import inference_options, workload_of
from enginescope.formats.log_facts import status
from enginescope.formats.log_lines import log_lines
from enginescope.judge.notice import Notice
from enginescope.records.plan.build import ToolReport
from enginescope.records.progress import Progress
from enginescope.records.run.job import Mode
from enginescope.records.run.run import WarmUpReport
from enginescope.records.tensor import DataType, Tensor

#: Major, minor, patch.
Version: TypeAlias = tuple[int, ...]

VARIABLE = "TRTEXEC"
#: Where NVIDIA's packages and containers put it; not on PATH by itself.
USUAL = Path("/usr/src/tensorrt/bin/trtexec")
#: What was checked against the tool's own source.
OLDEST: Version = (8, 6)

#: The first says the version and ends; the second fails, and says it before that.
_QUESTIONS = ("--help", f"--loadEngine={os.devnull}")
_TIMEOUT_S = 120


def find_binary(asked: str | None = None) -> Path:
    """Return the trtexec to use: `asked`, else $TRTEXEC, else on PATH, else the usual place."""
    for source, text in (("the option binary", asked), (f"${VARIABLE}", os.environ.get(VARIABLE))):
        if text:
            return _given(text, source)
    if found := shutil.which("trtexec"):
        return Path(found)
    if _is_executable(USUAL):
        return USUAL
    why = f"neither ${VARIABLE}, PATH nor {USUAL} has it, and TensorRT's wheels lack it"
    has = "NVIDIA's TensorRT container, its .deb (libnvinfer-bin) or its tar package has it"
    hint = f"{has}; or measure without it: --on trt"
    raise MissingDependencyError("trtexec is not on this machine", why=why, hint=hint)


def _given(text: str, source: str) -> Path:
    path = Path(os.path.expanduser(text))  # noqa: PTH111 - Path's raises where there is no such user
    if os.sep not in text:
        path = Path(shutil.which(text) or text)
    if _is_executable(path):
        return path
    why = "no such file"
    if path.exists():
        why = "it is a folder" if path.is_dir() else "it cannot be executed"
    raise UsageError(f"trtexec at {text}", why=why, hint=f"{source} names the binary itself")


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def version_of(binary: Path) -> Version:
    """Return the version of TensorRT that `binary` was built with, as it says itself."""
    said = ""
    for question in _QUESTIONS:
        said = _answer(binary, question)
        found = (status(line) for line in said.splitlines())
        version = next((one[1] for one in found if one is not None and one[1]), None)
        if version is not None:
            numbers = tuple(map(int, version.split(".")))
            if numbers >= OLDEST:
                return numbers
            why = "older than 8.6, whose flags and figures are known here"
            hint = "a newer TensorRT; files of older ones can be read: enginescope import"
            raise UnsupportedError(f"{binary} is of TensorRT {version}", why=why, hint=hint)
    what = f"{binary} is not a known version of trtexec"
    raise UnsupportedError(what, why=f"it says {last_line(said)!r} instead of a version")


def dotted(version: Version) -> str:
    """Return ``8.6.1``."""
    return ".".join(str(part) for part in version)


def _answer(binary: Path, question: str) -> str:
    try:
        ended = subprocess.run(
            [str(binary), question],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        raise _does_not_start(binary, error.strerror or str(error)) from error
    except subprocess.TimeoutExpired as error:
        raise _does_not_start(binary, f"it did not respond within {_TIMEOUT_S} s") from error
    if ended.returncode < 0:
        raise _does_not_start(binary, f"it dies of signal {-ended.returncode}")
    if "error while loading shared libraries" in ended.stdout:
        raise _does_not_start(binary, last_line(ended.stdout))
    return ended.stdout


def _does_not_start(binary: Path, why: str) -> UnsupportedError:
    hint = "LD_LIBRARY_PATH must name the folder of its libnvinfer, and the CUDA libraries"
    return UnsupportedError(f"{binary} does not start", why=why, hint=hint)


def last_line(text: str, otherwise: str = "nothing") -> str:
    """Return the last line of a text with something in it."""
    return next((line.strip() for line in text.splitlines()[::-1] if line.strip()), otherwise)


#: Verbose lines beyond so many characters are left out of the kept log: a build can write hundreds
#: of megabytes of them.
VERBOSE_LIMIT = 8 << 20
_VERBOSE = slice(22, 25)

#: What trtexec says when a phase begins, in its order.
_PHASES = (
    ("Start parsing network model", "parse"),
    ("Finished parsing network model", "build"),
    ("Engine built in", "load"),
    ("Engine loaded in", "load"),
    ("Starting inference", "steady_state"),
    ("=== Performance summary ===", "layer_profile"),
)


class Ended(NamedTuple):
    """How it ended: exit status (negative: a signal), and all it said."""

    status: int
    log: str


class Beside(Protocol):
    """Who follows what trtexec does, while it does it."""

    def started(self, pid: int) -> None:
        """Take the number of its process."""

    def take(self, line: str) -> None:
        """Take a line that it says."""


def run(
    arguments: Sequence[str],
    expected_ms: float,
    progress: ProgressSink,
    *,
    profiles: bool,
    beside: Beside | None = None,
) -> Ended:
    """Run trtexec to its end; what it says goes to standard error too, as it comes.

    Args:
        expected_ms: How long warm-up and measurement last, for the display.
        profiles: Whether a pass that times the layers follows.
        beside: Hears of its start, and of each line as it comes.
    """
    log = _Log()
    report = _Reporter(expected_ms, progress, profiles=profiles)
    with os_errors_as(UnsupportedError, f"{arguments[0]} does not start"):
        process = subprocess.Popen(
            list(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    with process:
        try:
            assert process.stdout is not None
            if beside is not None:
                beside.started(process.pid)
            for line in process.stdout:
                if beside is not None:
                    beside.take(line)
                sys.stderr.write(line)  # the worker's log has it even if we are killed here
                log.take(line)
                report.take(line)
        except BaseException:  # also on Ctrl-C: leave no measurement running
            process.kill()
            raise
    return Ended(process.returncode, log.text())


class _Log:
    """Lines kept; verbose ones up to a limit."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._verbose = 0
        self._left_out = 0

    def take(self, line: str) -> None:
        if line[_VERBOSE] == "[V]":
            self._verbose += len(line)
            if self._verbose > VERBOSE_LIMIT:
                self._left_out += 1
                return
        self._lines.append(line)

    def text(self) -> str:
        note = f"[enginescope: {self._left_out} further verbose lines are omitted]\n"
        return "".join((*self._lines, *([note] if self._left_out else [])))


class _Reporter:
    def __init__(self, expected_ms: float, progress: ProgressSink, *, profiles: bool) -> None:
        self._expected_ms, self._progress = expected_ms, progress
        self._profiles = profiles
        self._begin = perf_counter()
        self._tell("load")

    def take(self, line: str) -> None:
        phase = next((name for words, name in _PHASES if words in line), None)
        if phase is not None and (phase != "layer_profile" or self._profiles):
            self._tell(phase)

    def _tell(self, phase: str) -> None:
        elapsed_ms = (perf_counter() - self._begin) * 1e3
        limit_ms = self._expected_ms if phase == "steady_state" else None
        state = Progress(phase=phase, elapsed_ms=elapsed_ms, limit_ms=limit_ms, detail="trtexec")
        self._progress(state)
        self._begin = perf_counter()


def peak_of_children_bytes() -> int | None:
    """Return the peak resident memory of the largest process that was waited for here."""
    try:
        import resource  # not on every platform
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024


_WARM_UP = re.compile(r"Warmup completed (\d+) queries over (\S+) ms")
_BINDING = re.compile(
    r"^(?:Created )?([Ii]nput|[Oo]utput) binding for (.+) "
    r"(?:with dimensions (?:(\d*(?:x\d+)*)|\S*-\S*)(?: (?:and type (\w+) )?is created\.|$)"
    r"|is dynamic and will be created)"
)
_IDLE = re.compile(r"^([\d.]+)ms$")
_CAPTURE_FAILED = re.compile(r"CUDA graph capture.*failed")


def printed_mode(report: ToolReport) -> Mode:
    """Return the mode as the options that trtexec prints have it.

    A graph that could not be captured is none, whatever the options say.
    """
    options = inference_options(report)
    idle = _IDLE.match(options.get("Idle time", ""))
    dma = options.get("ExposeDMA")
    mode = replace(
        workload_of(report, None).mode,
        kind="throughput",
        in_flight=None if dma is None else 1 if dma == "Enabled" else 2,
        idle_ms=float(idle[1]) if idle else None,
    )
    return replace(mode, cuda_graph=False) if capture_failed(report) else mode


def capture_failed(report: ToolReport) -> bool:
    """Whether trtexec fell back from a CUDA graph to plain launches."""
    return any(_CAPTURE_FAILED.search(message.text) for message in report.messages)


def mode_notices(report: ToolReport, meant: Mode | None) -> list[Notice]:
    """Return what differs between the mode that was meant and the one that was printed."""
    found = []
    if capture_failed(report):
        message = (
            "the engine could not be captured into a CUDA graph; trtexec launched it without one"
        )
        found.append(Notice("W-NO-CUDA-GRAPH", message))
    if meant is None:
        return found
    printed = printed_mode(report)
    for field in ("transfers", "cuda_graph", "spin_wait", "streams", "in_flight"):
        wanted, seen = getattr(meant, field), getattr(printed, field)
        if seen is None or seen == wanted or (field == "cuda_graph" and capture_failed(report)):
            continue
        message = f"trtexec ran with {field} {seen}, not {wanted} as its flags say"
        found.append(Notice("W-MODE", message, {"field": field, "asked": wanted, "printed": seen}))
    return found


def warm_up_report(log: str) -> WarmUpReport | None:
    """Return the warm-up as trtexec counted it."""
    if (match := _WARM_UP.search(log)) is None:
        return None
    return WarmUpReport(iterations=int(match[1]), duration_ms=float(match[2]), ended_by="fixed")


def bindings(log: str) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return inputs and outputs with the shapes they had in this run.

    The type is not printed up to 8.6, nor is the shape of an output that depends on the data.
    """
    sides: dict[str, dict[str, Tensor]] = {"Input": {}, "Output": {}}
    for line in log_lines(log):
        if (match := _BINDING.match(line.text)) is None:
            continue
        side, name, dims, word = match.groups()
        shape = None if dims is None else tuple(int(one) for one in dims.split("x") if one)
        dtype = DataType.__members__.get(word.upper()) if word else None
        sides[side.capitalize()].setdefault(name, Tensor(name=name, shape=shape, dtype=dtype))
    return tuple(sides["Input"].values()), tuple(sides["Output"].values())
