"""Logs of scripts that use TensorRT in Python or Torch-TensorRT, and inspected layers."""

from __future__ import annotations

import re
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.record import replace
from enginescope.formats.log_lines import IS_SCRIPT_LOG, log_text
from enginescope.formats.plan.inspector_text import IS_LAYER
from enginescope.formats.trtexec.trtexec_log import TrtexecLog, read_part
from enginescope.judge.notice import Notice

#: What the builder says when it has finished an engine, and when it begins with one.
_BUILT = re.compile(r"Engine generation completed in ")
_BEGINS = re.compile(r"^.*(?:Input filename: |Init builder kernel library).*$", re.MULTILINE)
# The logger never states the version; the libraries that it loads have it in their names.
_LIBRARY = re.compile(r"\blibnvinfer\w*\.so\.(\d+\.\d+\.\d+)\b")


def is_script_log(head: str) -> bool:
    """Whether a text has lines of TensorRT's Python logger, or layers as the inspector prints."""
    return IS_SCRIPT_LOG.search(head) is not None or IS_LAYER.search(head) is not None


def parse_script_logs(
    data: bytes, source: str
) -> tuple[tuple[TrtexecLog, tuple[Notice, ...]], ...]:
    """Return the facts of each engine in a script's log, in its order, with their notices.

    Raises:
        FormatError: It says nothing of an engine.
    """
    text, notices = log_text(data, source)
    library = _LIBRARY.search(text)
    version: dict[str, Any] = {"tool_version": library[1]} if library else {}
    parts = _engines(text)
    logs = []
    for number, (first, part) in enumerate(parts, start=1):
        process = number if len(parts) > 1 else None
        log, own = read_part(part, "tensorrt", source, first=first, process=process)
        report = replace(log.report, **version)
        logs.append((replace(log, report=report, backend="trt"), (*notices, *own)))
    if not any(log.has_figures for log, _ in logs):
        raise FormatError(
            source,
            why="TensorRT's logger wrote it, and it holds neither a built engine nor layers",
            hint="print the inspector's layers, or log a build: trt.Logger(trt.Logger.VERBOSE)",
        )
    return tuple(logs)


def _engines(text: str) -> list[tuple[int, str]]:
    """Return the number of its first line and the text of each engine that was built."""
    cuts = [0]
    for built in _BUILT.finditer(text):
        begins = _BEGINS.search(text, built.end())
        if begins is not None and begins.start() > cuts[-1]:
            cuts.append(begins.start())
    ends = (*cuts[1:], len(text))
    return [(text.count("\n", 0, at) + 1, text[at:end]) for at, end in zip(cuts, ends, strict=True)]
