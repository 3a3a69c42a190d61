"""A run as one line of a listing, and what a listing can ask for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from enginescope.core.record import Record

if TYPE_CHECKING:
    from enginescope.records.run.run import Run


class RunRow(Record, frozen=True, kw_only=True):
    """What a listing shows of a run.

    Attributes:
        backend: The whole specification, with precision and options.
        metric: The headline metric; `samples` counts its samples, ``None`` of a printed figure.
        median_ms: Of the headline metric, by `numpy.median`, cached when the run was stored. The
            samples are the truth. Without samples: the median that a tool printed.
        size_bytes: Of the run's folder when it was indexed.
    """

    id: str
    created: str
    origin: str
    model: str
    backend: str
    outcome: str
    model_sha256: str | None = None
    precision: str | None = None
    batch: int | None = None
    metric: str | None = None
    samples: int | None = None
    median_ms: float | None = None
    host: str | None = None
    cpu: str | None = None
    gpu: str | None = None
    size_bytes: int | None = None
    tags: tuple[str, ...] = ()

    @property
    def is_printed(self) -> bool:
        """Whether the median is a tool's printed figure, and there are no samples."""
        return self.median_ms is not None and self.samples is None


RunOrder: TypeAlias = Literal["newest", "oldest", "fastest", "slowest", "model"]


class Filter(Record, frozen=True, kw_only=True):
    """What a listing asks for; ``None``: anything.

    Attributes:
        tag, outcome: Exactly this.
        model: A part of the model's name, in any case.
        backend: How the backend's specification begins.
        since, until: Days, ``2026-11-21``, both included; UTC.
        order: Runs without a median come last.
        limit: At most so many of the first.
        offset: Without so many of the first.
    """

    tag: str | None = None
    model: str | None = None
    backend: str | None = None
    outcome: str | None = None
    since: str | None = None
    until: str | None = None
    order: RunOrder = "newest"
    limit: int | None = None
    offset: int = 0


def row_of(run: Run, *, size_bytes: int | None = None) -> RunRow:
    import numpy as np  # listings read rows and never make one

    headline, printed = run.headline, run.printed
    host = run.environment.host
    median_ms = float(np.median(headline.values_ms)) if headline else math.nan
    if printed is not None and printed.median_ms is not None:
        median_ms = printed.median_ms
    stated = headline or printed
    return RunRow(
        id=run.id,
        created=run.created,
        origin=run.origin,
        model=run.job.subject.name,
        model_sha256=run.job.subject.sha256,
        backend=str(run.job.backend),
        precision=run.job.backend.precision,
        outcome=run.outcome.kind.value,
        batch=run.job.workload.batch,
        metric=stated.metric if stated else None,
        samples=len(headline) if headline else None,
        median_ms=median_ms if math.isfinite(median_ms) else None,
        host=host.name,
        cpu=host.cpu_model,
        gpu=run.environment.devices[0].name if run.environment.devices else None,
        size_bytes=size_bytes,
        tags=tuple(sorted(set(run.tags))),
    )


def select(rows: list[RunRow], wanted: Filter) -> tuple[RunRow, ...]:
    """Return the rows that fit in the order that is wanted, as the index would."""
    fitting = sorted((row for row in rows if _fits(row, wanted)), key=lambda row: row.id)
    if wanted.order in ("fastest", "slowest"):
        sign = 1 if wanted.order == "fastest" else -1
        fitting.sort(key=lambda row: math.inf if row.median_ms is None else sign * row.median_ms)
    else:
        fitting.sort(key=lambda row: row.created, reverse=wanted.order != "oldest")
    if wanted.order == "model":
        fitting.sort(key=lambda row: search_key(row.model))
    end = None if wanted.limit is None else wanted.offset + wanted.limit
    return tuple(fitting[wanted.offset : end])


@overload
def search_key(text: str) -> str: ...
@overload
def search_key(text: None) -> None: ...
def search_key(text: str | None) -> str | None:
    """Return a name as it is looked for: no database agrees with another on letters' cases."""
    return None if text is None else text.lower()


def end_of(day: str) -> str:
    """Return what sorts after every moment of a day."""
    return f"{day}U"


def _fits(row: RunRow, wanted: Filter) -> bool:
    return (
        (wanted.tag is None or wanted.tag in row.tags)
        and (wanted.model is None or search_key(wanted.model) in search_key(row.model))
        and (
            wanted.backend is None or search_key(row.backend).startswith(search_key(wanted.backend))
        )
        and (wanted.outcome is None or wanted.outcome == row.outcome)
        and (wanted.since is None or wanted.since <= row.created)
        and (wanted.until is None or row.created <= end_of(wanted.until))
    )
