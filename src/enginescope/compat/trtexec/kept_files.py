"""Texts that a run refers to, read while they are there."""

from __future__ import annotations

from pathlib import Path

from enginescope.core.record import Record
from enginescope.records.run.run import Run

_INSPECTOR = ("layer_info", "plan")
_BUILD_LOGS = ("build_log",)
_RUN_LOGS = ("worker_log",)


class KeptTexts(Record, frozen=True, kw_only=True):
    """What a report needs of a run's files.

    Attributes:
        inspector: The inspector's JSON, as TensorRT gave it.
    """

    inspector: str | None = None
    build_log: str = ""
    run_log: str = ""


def kept_texts(run: Run) -> KeptTexts:
    """Read the texts of a run; one that cannot be read counts as absent."""
    inspector = [_text(one) for one in _paths(run, _INSPECTOR)]
    return KeptTexts(
        inspector=next((one for one in inspector if one), None),
        build_log="\n".join(_text(one) for one in _paths(run, _BUILD_LOGS)),
        run_log="\n".join(_text(one) for one in _paths(run, _RUN_LOGS)),
    )


def _paths(run: Run, kinds: tuple[str, ...]) -> list[Path]:
    return [Path(one.path) for kind in kinds for one in run.artifacts if one.kind == kind]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
