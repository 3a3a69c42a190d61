"""Callbacks that report how far jobs are."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.core.record import Record
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job


class Watcher(Record, frozen=True, kw_only=True):
    """What is told while jobs run."""

    started: Callable[[int, Job], None] = lambda _index, _job: None
    progressed: Callable[[int, Progress], None] = lambda _index, _progress: None
