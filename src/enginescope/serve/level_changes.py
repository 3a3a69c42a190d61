"""Changes of level that are news: told once, although later runs move where one is seen."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from enginescope.analysis.verdicts.job_identity import identity_of
from enginescope.core.errors import FormatError
from enginescope.core.jsonio import decode, encode, read_stored, write_atomic
from enginescope.core.record import Record
from enginescope.records.run.run import Run
from enginescope.records.verdict.history import JobHistory, LevelChange

#: A change may be seen so many points away once more runs follow.
MOST_SHIFT = 3
SCHEMA = 1


class ToldChange(Record, frozen=True, kw_only=True):
    """The newest change that was told of a history: when its first run was made, and its way."""

    created: str
    is_worse: bool


class Memory(Record, frozen=True, kw_only=True):
    """What a webhook was told.

    Attributes:
        seen: The runs of each model and metric as of the last look, in short.
        told: By history.
    """

    seen: dict[str, str] = msgspec.field(default_factory=dict)
    told: dict[str, ToldChange] = msgspec.field(default_factory=dict)
    schema_version: int = SCHEMA


def read_memory(file: Path) -> Memory:
    """Return what was told; a file that cannot be read is as if nothing was looked at before."""
    try:
        memory = decode(read_stored(file), Memory, source=str(file))
    except FormatError:
        return Memory()
    return memory if memory.schema_version == SCHEMA else Memory()


def write_memory(file: Path, memory: Memory) -> None:
    """Write what was told.

    Raises:
        OSError: It cannot be written.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(file, encode(memory))


def history_key(run: Run, metric: str) -> str:
    """Return what tells the history of a run from others, whatever others there are."""
    where = run.environment
    place = [device.name for device in where.devices] or [where.host.cpu_model or ""]
    data = msgspec.json.encode((identity_of(run), place, metric))
    return hashlib.sha256(data).hexdigest()[:32]


def newest_change(history: JobHistory) -> LevelChange | None:
    """Return the change to the level of today, if the level ever changed."""
    return max(history.sure, key=lambda change: change.at, default=None)


def as_told(history: JobHistory, change: LevelChange) -> ToldChange:
    """Return what is kept of a change."""
    return ToldChange(created=history.points[change.at].created, is_worse=change.is_worse)


def is_news(history: JobHistory, change: LevelChange, last: ToldChange | None) -> bool:
    """Whether a change comes after the one that was told last, and is not the same one."""
    if last is None:
        return True
    moved = change.at - sum(point.created < last.created for point in history.points)
    return moved > (MOST_SHIFT if change.is_worse is last.is_worse else 0)
