"""Webhooks: a signed message when the level of a history changes, sent until it is taken.

A change of level is reported once, although later runs move where it is seen.
"""

import hashlib
import hmac
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlencode, urlsplit

import msgspec
from urllib3.exceptions import HTTPError

from enginescope._version import __version__
from enginescope.analysis.verdicts.job_identity import identity_of
from enginescope.core.errors import EnginescopeError, FormatError
from enginescope.core.http_pool import http_pool, reason_of_http
from enginescope.core.jsonio import decode, encode, read_stored, write_atomic
from enginescope.core.record import Record, replace
from enginescope.records.run.run import Run
from enginescope.records.verdict.history import JobHistory, LevelChange
from enginescope.serve.configuration import WebhookPart
from enginescope.serve.kept_pages import KeptRows
from enginescope.serve.kept_runs import KeptFigures
from enginescope.serve.result_pages import MOST_HISTORY_RUNS, histories_in
from enginescope.store.archive import Store
from enginescope.store.row import Filter, RunRow
from enginescope.store.server_tokens import FOLDER

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
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(file, encode(memory))


def history_key(run: Run, metric: str) -> str:
    """Return what tells the history of a run from others, whatever others there are."""
    return hashlib.sha256(
        msgspec.json.encode((identity_of(run), run.environment.place, metric))
    ).hexdigest()[:32]


def as_told(history: JobHistory, change: LevelChange) -> ToldChange:
    """Return what is kept of a change."""
    return ToldChange(created=history.points[change.at].created, is_worse=change.is_worse)


def is_news(history: JobHistory, change: LevelChange, last: ToldChange | None) -> bool:
    """Whether a change comes after the one that was told last, and is not the same one."""
    if last is None:
        return True
    moved = change.at - sum(point.created < last.created for point in history.points)
    return moved > (MOST_SHIFT if change.is_worse is last.is_worse else 0)


#: Version of the message's shape.
MESSAGE_SCHEMA = 1
#: Between two looks at the store, and after a push, as others may follow.
LOOK_S, SETTLE_S = 60.0, 2.0
#: Waits after failed attempts; the last one is repeated.
WAITS_S = (5.0, 30.0, 120.0, 600.0, 3600.0)
_TIMEOUT_S = 10.0
#: Says what went wrong, to whoever runs the server.
Say = Callable[[str], None]


#: Key of a history, the history, and a change that a webhook is to be told.
News: TypeAlias = tuple[str, JobHistory, LevelChange]


class Webhook:
    """Looks at histories in a thread of its own, and tells an address what is new.

    What was told is on the disk, and kept only once the address has taken it: neither a restart nor
    an address that is away loses a change. What there was at the first look at a model is no news.
    """

    def __init__(
        self, part: WebhookPart, store: Store, rows: KeptRows, figures: KeptFigures, say: Say
    ) -> None:
        self._part = part
        self._rows, self._figures, self._say = rows, figures, say
        place = hashlib.sha256(str(store.place).encode()).hexdigest()[:8]  # of several databases
        self._file = store.path / FOLDER / "webhooks" / f"{part.name}-{place}.json"
        self._memory = read_memory(self._file)
        self._wake, self._over = threading.Event(), threading.Event()
        self._failures = 0

    def start(self) -> None:
        """Begin to look; the thread does not keep the process from ending."""
        threading.Thread(target=self._run, name=f"webhook {self._part.name}", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self._wake.set()

    def wake(self) -> None:
        """Look soon: a run was stored. It takes no time."""
        self._wake.set()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._failures = 0 if self.look() else self._failures + 1
            except (EnginescopeError, OSError) as error:
                self._failures += 1
                self._say(f"webhook {self._part.name}: {error}")
            if self._failures:  # pushes do not shorten the wait of one that is away
                wait_s = WAITS_S[min(self._failures, len(WAITS_S)) - 1]
                self._over.wait(wait_s * random.uniform(0.8, 1.2))  # noqa: S311 - no secret
                continue
            if self._wake.wait(LOOK_S):
                self._wake.clear()
                self._over.wait(SETTLE_S)

    def look(self) -> bool:
        """Look at all models that have other runs than before, and tell what is new.

        Returns:
            Whether all of it was taken.
        """
        by_model: dict[str, list[RunRow]] = {}
        for row in self._rows.select(Filter()):
            if not self._part.models or row.model in self._part.models:
                by_model.setdefault(row.model, []).append(row)
        results = [
            self._look_at(rows[:MOST_HISTORY_RUNS], metric)
            for rows in by_model.values()
            for metric in self._part.metrics
            if not self._over.is_set()
        ]
        return all(results)

    def _look_at(self, rows: Sequence[RunRow], metric: str) -> bool:
        place, ids = f"{metric} {rows[0].model}", "\n".join(row.id for row in rows)
        state = hashlib.sha256(ids.encode()).hexdigest()[:32]
        before = self._memory.seen.get(place)
        if before == state:
            return True
        for news in self._news(rows, metric):
            key, history, change = news
            is_wanted = before is not None and (change.is_worse or not self._part.only_worse)
            if is_wanted and not self._deliver(news):
                return False
            told = {**self._memory.told, key: as_told(history, change)}
            self._memory = replace(self._memory, told=told)
            if is_wanted:
                write_memory(self._file, self._memory)
        self._memory = replace(self._memory, seen={**self._memory.seen, place: state})
        write_memory(self._file, self._memory)
        return True

    def _news(self, rows: Sequence[RunRow], metric: str) -> Iterator[News]:
        read = self._figures.read(rows[::-1], metric)
        runs = {figure.run.id: figure.run for figure in read.figures}
        for history in histories_in(read.figures, metric):
            key = history_key(runs[history.points[0].runs[0]], metric)
            change = history.newest_change
            if change is not None and is_news(history, change, self._memory.told.get(key)):
                yield key, history, change

    def _deliver(self, news: News) -> bool:
        body = msgspec.json.encode(message(news, self._part.server))
        host = urlsplit(self._part.url).hostname  # the rest of the address may be a secret
        try:
            secret = Path(self._part.secret_file).read_bytes().strip()
            headers = {
                "Content-Type": "application/json",
                "X-Enginescope-Signature": signature(secret, body, int(time.time())),
            }
            with http_pool(self._part.url) as pool:
                # nothing of the answer is needed, however long it is
                how: dict[str, Any] = {"retries": False, "preload_content": False}
                how |= {"headers": headers, "timeout": _TIMEOUT_S}
                answer = pool.request("POST", self._part.url, body=body, **how)
                answer.close()
        except OSError as error:
            why = error.strerror or "its secret cannot be read"
        except (HTTPError, ValueError) as error:
            why = reason_of_http(error)
        else:
            if 200 <= answer.status < 300:
                return True
            why = f"it returned {answer.status}"
        self._say(f"webhook {self._part.name}: {host} has not taken the message ({why})")
        return False


def signature(secret: bytes, body: bytes, at_s: int) -> str:
    """Return ``t=1790000000,sha256=…``: HMAC-SHA256 of the time, a point, and the body."""
    digest = hmac.new(secret, f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at_s},sha256={digest}"


def message(news: News, server: str) -> dict[str, Any]:
    """Return what is sent; `id` is the same whenever the same change is sent again."""
    key, history, change = news
    point = history.points[change.at]
    levels = [level.value for level in history.levels]
    interval = change.estimate.interval
    identity = f"{key} {point.created} {change.is_worse}"
    return {
        "schema": MESSAGE_SCHEMA,
        "enginescope": __version__,
        "event": "level_change",
        "id": hashlib.sha256(identity.encode()).hexdigest()[:32],
        "model": history.model,
        "job": history.label,
        "metric": history.metric,
        "unit": history.unit,
        "is_worse": change.is_worse,
        "before": levels[-2],
        "after": levels[-1],
        "ratio": change.estimate.ratio,
        "interval": [interval.low, interval.high] if interval else None,
        "run": point.runs[0],
        "created": point.created,
        "changed": [str(fact) for fact in change.changed],
        "url": f"{server.rstrip('/')}/history?{urlencode({'model': history.model})}",
    }


def watching(hooks: Sequence[Webhook], inner: Any) -> Any:
    """Return a lifespan in which webhooks look at the store, within another one."""

    @asynccontextmanager
    async def lifespan(app: Any) -> Any:
        async with inner(app):
            for hook in hooks:
                hook.start()
            try:
                yield
            finally:
                for hook in hooks:
                    hook.stop()

    return lifespan
