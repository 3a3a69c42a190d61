"""Logging: the class to derive from, and the one that writes to standard error."""

import sys
import time
from typing import Any

from tensorrt._bound import Bound, Subclassable, need
from tensorrt._enums import Severity


class ILogger(Subclassable):
    """The user derives from it."""

    Severity = Severity
    INTERNAL_ERROR = Severity.INTERNAL_ERROR
    ERROR = Severity.ERROR
    WARNING = Severity.WARNING
    INFO = Severity.INFO
    VERBOSE = Severity.VERBOSE

    def log(self, severity: Any, msg: str) -> None:
        sys.stderr.write(
            '[ERROR] Exception caught in log(): Tried to call pure virtual function "ILogger::log"'
        )


class Logger(ILogger, Bound):
    """Writes what is at least as severe as `min_severity`."""

    min_severity = Severity.WARNING

    def __init__(self, min_severity: Any = Severity.WARNING) -> None:
        ILogger.__init__(self)
        need("Logger", (min_severity, Severity))
        self.min_severity = min_severity

    def log(self, severity: Any, msg: str) -> None:
        if int(severity) <= int(self.min_severity):
            stamp = time.strftime("%m/%d/%Y-%H:%M:%S")
            sys.stderr.write(f"[{stamp}] [TRT] [{severity.name[0]}] {msg}\n")
