"""Results of trtexec's build-route tuner: the JSON lines of ``--tuningCacheFile`` (TensorRT 11.1).

The first line describes the run; each further line is one build route, measured once.
"""

from pathlib import Path

import msgspec

from enginescope.core.errors import FormatError, UsageError
from enginescope.core.record import Record


class TunedRoute(Record, frozen=True, kw_only=True):
    """One build route.

    Attributes:
        route: ``-knob=value …``; empty: the default route.
        gpu_ms: Mean GPU time of a whole trace, warm-up included; ``None``: it crashed.
        error: What trtexec recorded of a crash.
    """

    route: str
    gpu_ms: float | None = None
    error: str | None = None


class _Line(msgspec.Struct):
    build_route: str
    crash: bool = True
    error_message: str = ""
    gpu_time: float | None = None


def read_tuning_cache(path: Path) -> tuple[TunedRoute, ...]:
    """Return the routes of a file in its order; of a route that occurs twice the last line.

    A last line that an interrupted tuner has cut off is skipped.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"routes {path}", why=why) from None
    _check_header(path, lines[0] if lines else "")
    rows = [(number, line) for number, line in enumerate(lines[1:], start=2) if line.strip()]
    routes: dict[str, TunedRoute] = {}
    for number, line in rows:
        try:
            row = msgspec.json.decode(line, type=_Line)
        except msgspec.DecodeError as error:
            if number == rows[-1][0] and not line.rstrip().endswith("}"):
                break
            what, where = str(path), f"line {number}"
            raise FormatError(what, where=where, why=str(error), expected="a build route") from None
        route = " ".join(row.build_route.split())
        is_timed = not row.crash and row.gpu_time is not None and row.gpu_time > 0
        routes[route] = TunedRoute(
            route=route,
            gpu_ms=row.gpu_time if is_timed else None,
            error=None if is_timed else row.error_message or "trtexec has no time for it",
        )
    return tuple(routes.values())


def _check_header(path: Path, line: str) -> None:
    try:
        header = msgspec.json.decode(line)
    except msgspec.DecodeError:
        header = None
    if not isinstance(header, dict) or "tuning_expr" not in header:
        expected = "the header of trtexec --tuningCacheFile"
        raise FormatError(str(path), where="line 1", why="it has no tuning_expr", expected=expected)
