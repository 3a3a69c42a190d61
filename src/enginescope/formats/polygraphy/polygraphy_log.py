"""Polygraphy's log: the inference time of each runner, and whether the outputs agree."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.formats import log_facts, log_lines
from enginescope.formats.trtexec.trtexec_log import TrtexecLog
from enginescope.judge.notice import Notice, Notices
from enginescope.records.plan.build import LogMessage, ToolReport
from enginescope.records.run.job import CPU_BACKEND
from enginescope.records.samples import ReportedSummary

IS_POLYGRAPHY_LOG = re.compile(
    r"^\[[VI]\] (?:RUNNING \| Command: \S*polygraphy\b|Loaded Module: polygraphy\b"
    r"|\S+ +\| Completed \d+ iteration\(s\) in )",
    re.MULTILINE,
)
_COMMAND = re.compile(r"^\[I\] RUNNING \| Command: (.*)$", re.MULTILINE)
_MODULE = re.compile(r"Loaded Module: (\w+) +\| Version: (\S+)")
_INFERENCE = re.compile(
    r"^\[I\] (\S+) +\| Completed (\d+) iteration\(s\) in ([\d.]+) ms \| "
    r"Average inference time: ([\d.]+) ms\.",
    re.MULTILINE,
)
_ACTIVATION = re.compile(r"^\[I\] (\S+) +\| Activating and starting inference", re.MULTILINE)
_END = re.compile(r"^\[[IE]\] (PASSED|FAILED) \| (?:Runtime|Command)\b.*\n?", re.MULTILINE)
_OUTPUT = re.compile(r"^\[[IEW]\] +(PASSED|FAILED) \| Output: '(.+?)' \| ", re.MULTILINE)
_ERROR = re.compile(
    r"Error Metrics: (.+)\n.*Minimum Required Tolerance: .*?\[abs=(\S+?)\] OR \[rel=(\S+?)\]"
)
_BUILD = re.compile(r"Finished engine building in ([\d.]+) seconds")
_MESSAGE = re.compile(r"^\[([WE!])\] (.+)$")
_LEVELS = {"W": "warning", "E": "error", "!": "error"}
#: How a runner's name begins -> backend, and the library whose version counts.
_RUNNERS = {"trt-runner": ("trt", "tensorrt"), "onnxrt-runner": (CPU_BACKEND, "onnxruntime")}
_ORT_PROVIDER = re.compile(r"Session with providers: \['(\w+?)(?:ExecutionProvider)?'")
_ORT_BACKENDS = {"CPU": CPU_BACKEND, "CUDA": "ort-cuda", "Tensorrt": "ort-trt"}
#: A mean of fewer inferences is mostly the first one.
_FEW = 10


def parse_polygraphy_logs(data: bytes, source: str) -> tuple[tuple[TrtexecLog, Notices], ...]:
    """Return the facts of each runner of each command in a log, with their notices.

    A command without a runner counts if it states its build, or that it failed.
    """
    text, notices = log_lines.log_text(data, source)
    logs = [log for first, part in _commands(text) for log in _of_command(part, first, source)]
    if not logs:
        why = "a log of polygraphy in which no runner finished an inference"
        hint = "polygraphy run MODEL --trt --onnxrt prints inference times"
        raise FormatError(source, why=why, hint=hint)
    return tuple((log, (*notices, *own)) for log, own in logs)


def _commands(text: str) -> list[tuple[int, str]]:
    """Return the number of its first line and the text of each command.

    Lines before a command's own first line are its warnings, where the command before has ended.
    """
    cuts = [0]
    for before, command in pairwise(_COMMAND.finditer(text)):
        ends = list(_END.finditer(text, before.end(), command.start()))
        cuts.append(ends[-1].end() if ends else command.start())
    return log_lines.parts_at(text, cuts)


def _of_command(text: str, first: int, source: str) -> Iterator[tuple[TrtexecLog, Notices]]:
    versions = dict(_MODULE.findall(text))
    shared = _shared(text, first, versions.get("polygraphy"))
    runners = [(match[1], match) for match in _INFERENCE.finditer(text)]
    # without an inference, the runner at work when the command ended
    activated = _ACTIVATION.findall(text) or ["trt-runner" if _BUILD.search(text) else "polygraphy"]
    for name, match in runners or ((activated[-1], None),):
        backend, library = _backend(name, text)
        end = match.end() if match else len(text)
        starts = [one.start() for one in _ACTIVATION.finditer(text, 0, end) if one[1] == name]
        build = _of_build(text[starts[-1] if starts else 0 : end]) if backend == "trt" else {}
        mean = log_facts.number(match[4]) if match else None
        means = (ReportedSummary(metric="latency", mean_ms=mean),) if match else ()
        report = ToolReport(**shared, **build, summaries=means)
        of_library = {key: versions[key] for key in (library,) if key in versions}
        log = TrtexecLog(report=report, backend=backend, versions=of_library)
        if log.has_figures or report.passed is False:
            yield log, tuple(_notices(source, name, int(match[2]) if match else _FEW, report))


def _shared(text: str, first: int, version: str | None) -> dict[str, Any]:
    command, end = _COMMAND.search(text), _END.search(text)
    errors = {
        name.strip(): f"abs {absolute}, rel {relative}"
        for name, absolute, relative in _ERROR.findall(text)
    }
    outputs = {
        name: ", ".join(filter(None, (word, errors.get(name))))
        for word, name in _OUTPUT.findall(text)
    }
    return {
        "tool": "polygraphy",
        "tool_version": version,
        "command": command[1].strip() if command else None,
        "passed": end[1] == "PASSED" if end else None,
        "options": {"Outputs compared": outputs} if outputs else {},
        "messages": tuple(_messages(text, first)),
    }


def _messages(text: str, first: int) -> Iterator[LogMessage]:
    """Yield errors, and warnings that are not indented as parts of a comparison are, each once."""
    seen = set()
    for number, line in enumerate(text.split("\n"), start=first):
        match = _MESSAGE.match(line)
        if match is None or _END.match(line) or match[2] in seen:
            continue
        if match[1] != "W" or not match[2].startswith(" "):
            seen.add(match[2])
            yield LogMessage(level=_LEVELS[match[1]], text=match[2].strip(), line=number)


def _backend(runner: str, text: str) -> tuple[str, str]:
    for start, (backend, library) in _RUNNERS.items():
        if runner.startswith(start):
            provider = _ORT_PROVIDER.search(text) if backend == CPU_BACKEND else None
            return (_ORT_BACKENDS.get(provider[1], backend) if provider else backend), library
    return runner.partition("-")[0], ""


def _of_build(text: str) -> dict[str, Any]:
    built = _BUILD.search(text)
    sizes = [size[1] for line in text.split("\n") if (size := log_facts.engine_size(line))]
    return {
        "build_s": log_facts.number(built[1]) if built else None,
        "engine_bytes": sizes[-1] if sizes else None,
    }


def _notices(source: str, runner: str, count: int, report: ToolReport) -> Iterator[Notice]:
    if count < _FEW:
        what = "one inference" if count == 1 else f"{count} inferences"
        message = f"{source}: the time of {runner} is the mean of {what}, the first included"
        evidence = {"file": source, "runner": runner, "inferences": count}
        yield Notice("W-FEW-INFERENCES", message, evidence)
    if report.passed is None and report.command is not None:
        message = f"{source} ends before polygraphy prints PASSED or FAILED"
        yield Notice("W-LOG-UNFINISHED", message, {"file": source})
