"""How trtexec ended badly, in our words."""

from __future__ import annotations

import signal

from enginescope.backends.trtexec.process import Ended
from enginescope.core.errors import BackendError, FormatError
from enginescope.formats.trtexec_log import TrtexecLog, parse_trtexec_log
from enginescope.model.notice import Notice
from enginescope.model.tool_report import ToolReport

_SHOWN = 3


def read_log(ended: Ended, source: str) -> tuple[TrtexecLog, tuple[Notice, ...]]:
    """Return the log of a run that ended well.

    Raises
    ------
    BackendError
        It was killed, failed, or said nothing that trtexec says; with its first errors.
    """
    try:
        log, notices = parse_trtexec_log(ended.log.encode(), source)
    except FormatError as error:
        raise BackendError(_end(ended), why=_last_line(ended.log)) from error
    if ended.status != 0 or log.report.passed is False:
        raise BackendError(_end(ended), why=_errors(log.report, ended), hint=_hint(log.report))
    return log, notices


def _end(ended: Ended) -> str:
    if ended.status < 0:
        try:
            return f"trtexec died of {signal.Signals(-ended.status).name}"
        except ValueError:
            return f"trtexec died of signal {-ended.status}"
    return f"trtexec failed with exit status {ended.status}"


def _errors(report: ToolReport, ended: Ended) -> str:
    errors = [one.text for one in report.messages if one.level != "warning"]
    return "; ".join(errors[:_SHOWN]) if errors else _last_line(ended.log)


def _hint(report: ToolReport) -> str | None:
    text = " ".join(one.text for one in report.messages).lower()
    if "unknown option" in text:
        return "what stands in --trtexec-args or after -- goes to trtexec as it is"
    if "out of memory" in text or "outofmemory" in text:
        return "a smaller batch or shape, or another GPU: ?device=N"
    return None


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
