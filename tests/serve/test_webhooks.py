import hashlib
import hmac
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from enginescope.analysis.verdicts.history import histories
from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.records.run.run import Run
from enginescope.serve import webhooks as module
from enginescope.serve.access import Access
from enginescope.serve.app import Taking
from enginescope.serve.configuration import Configuration, WebhookPart
from enginescope.serve.webhooks import ToldChange, as_told, history_key, is_news, read_memory
from enginescope.store.archive import Store
from tests.analysis.historic_runs import over_days
from tests.serve.conftest import TOKEN, served, wait_for
from tests.serve.test_push import Handler, running
from tests.store.stored_runs import a_run

SECRET = "a-secret-of-the-team"
PATH = "/secret-path"
BEFORE = over_days([1.0] * 8)
AFTER = over_days([1.2] * 6, first=8, seed=1)


class Receiver:
    """An address that messages go to: what it got, and what it returns."""

    def __init__(self) -> None:
        self.url = ""
        self.got: list[tuple[Any, bytes]] = []
        self.statuses: list[int] = []
        self.answers = threading.Event()
        self.answers.set()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()

    class Told(Handler):
        def do_POST(self) -> None:  # noqa: N802
            made.got.append((self.headers, self.rfile.read(int(self.headers["Content-Length"]))))
            made.answers.wait(60)
            self.send_response(made.statuses.pop(0) if made.statuses else 204)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:  # noqa: N802
            made.got.append((self.headers, b"{}"))

    with running(Told) as address:
        made.url = f"{address}{PATH}"
        yield made
        made.answers.set()


@pytest.fixture(autouse=True)
def _soon(monkeypatch) -> None:
    monkeypatch.setattr(module, "SETTLE_S", 0.01)
    monkeypatch.setattr(module, "WAITS_S", (0.01,))


@pytest.fixture
def team(tmp_path) -> Store:
    store = Store(tmp_path / "team")
    save(store, BEFORE)
    return store


def save(store: Store, runs: Sequence[Run]) -> None:
    for run in runs:
        store.save(run)


def hook(team: Store, url: str, **more: object) -> WebhookPart:
    secret = team.path.parent / "secret"
    secret.write_text(f"{SECRET}\n")
    return WebhookPart(name="chat", url=url, secret_file=str(secret), **more)


def memory(team: Store) -> Any:
    files = list((team.path / "server" / "webhooks").glob("chat-*.json"))
    return read_memory(files[0]) if files else None


@contextmanager
def watched(team: Store, part: WebhookPart, said: list[str] | None = None) -> Iterator[str]:
    """A server with a webhook, once it has looked at what there is."""
    say = (said if said is not None else []).append
    shown = (Access(token=TOKEN), Taking(is_on=True), Configuration(webhook=(part,)))
    with served(team, *shown, say=say) as address:
        wait_for(lambda: memory(team) is not None, 60)
        yield address


def push(address: str, runs: Sequence[Run], folder: Path) -> None:
    place = Store(folder / "own")
    save(place, runs)
    (folder / "token").write_text(TOKEN)
    words = [*(run.id for run in runs), "--token-file", str(folder / "token")]
    assert main(["runs", "push", address, *words, "--store", str(place.path)]) == 0


def test_a_change_of_level_is_told_once_and_signed(team, receiver, tmp_path) -> None:
    part = hook(team, receiver.url, server="https://bench.example/")
    with watched(team, part) as address:
        push(address, AFTER, tmp_path)
        wait_for(lambda: bool(memory(team).told), 60)
        more = over_days([1.2] * 2, first=14, seed=2)
        seen = memory(team).seen
        push(address, more, tmp_path)
        wait_for(lambda: memory(team).seen != seen, 60)
    with watched(team, part):  # a restart is no news
        pass
    ((headers, body),) = receiver.got
    found = json.loads(body)
    assert (found["event"], found["model"], found["is_worse"]) == ("level_change", "net.onnx", True)
    assert found["metric"] == "latency"
    assert 1.15 < found["ratio"] < 1.25
    assert 1.15 < found["after"] / found["before"] < 1.25
    assert found["run"] in {run.id for run in AFTER}
    assert found["url"] == "https://bench.example/history?model=net.onnx"
    assert any("commit" in change for change in found["changed"])
    time_part, _, digest = headers["X-Enginescope-Signature"].partition(",sha256=")
    signed = f"{time_part.removeprefix('t=')}.".encode() + body
    assert hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest() == digest


def test_what_there_was_before_is_no_news(team, receiver) -> None:
    save(team, AFTER)
    with watched(team, hook(team, receiver.url)):
        wait_for(lambda: bool(memory(team).seen), 60)
    assert receiver.got == []
    assert memory(team).told


def test_it_is_sent_again_until_it_is_taken(team, receiver, tmp_path) -> None:
    receiver.statuses += [500, 302, 404]
    said: list[str] = []
    with watched(team, hook(team, receiver.url), said) as address:
        push(address, AFTER, tmp_path)
        wait_for(lambda: bool(memory(team).told), 60)
    found = [json.loads(body) for _, body in receiver.got]
    assert len(found) >= 4
    assert len({(one["id"], one["run"]) for one in found[:4]}) == 1  # a redirect is not followed
    assert "500" in said[0]
    assert "127.0.0.1" in said[0]
    for text in said:  # the path of an address is often its password
        assert PATH not in text
        assert SECRET not in text


def test_an_address_that_is_away_is_told_after_a_restart(team, receiver, tmp_path) -> None:
    said: list[str] = []
    with watched(team, hook(team, "http://127.0.0.1:9/x"), said) as address:
        push(address, AFTER, tmp_path)
        wait_for(lambda: bool(said), 60)
    assert not memory(team).told
    with watched(team, hook(team, receiver.url)):
        wait_for(lambda: bool(receiver.got), 60)


def test_an_address_that_hangs_holds_up_no_push(team, receiver, tmp_path) -> None:
    receiver.answers.clear()
    with watched(team, hook(team, receiver.url)) as address:
        push(address, AFTER, tmp_path)
        wait_for(lambda: bool(receiver.got), 60)  # and does not answer
        push(address, over_days([1.2], first=14, seed=5), tmp_path)
        assert not memory(team).told
        receiver.answers.set()
        wait_for(lambda: bool(memory(team).told), 60)


def test_only_what_was_asked_for(team, receiver, tmp_path) -> None:
    faster = over_days([0.8] * 6, first=8, seed=1)
    with watched(team, hook(team, receiver.url, only_worse=True)) as address:
        push(address, faster, tmp_path)
        wait_for(lambda: bool(memory(team).told), 60)
    assert receiver.got == []
    other = team.path.parent / "other"
    store = Store(other)
    save(store, [*BEFORE, a_run("another.onnx")])
    with watched(store, hook(store, receiver.url, models=("another.onnx",))) as address:
        push(address, AFTER, other)
    assert receiver.got == []
    assert list(memory(store).seen) == ["latency another.onnx"]


def test_a_secret_that_is_gone_is_said_without_it(team, receiver, tmp_path) -> None:
    said: list[str] = []
    part = hook(team, receiver.url)
    with watched(team, part, said) as address:
        Path(part.secret_file).unlink()
        push(address, AFTER, tmp_path)
        wait_for(lambda: bool(said), 60)
        assert receiver.got == []
        Path(part.secret_file).write_text(SECRET)
        wait_for(lambda: bool(memory(team).told), 60)
    assert len(receiver.got) == 1


def test_a_change_that_moves_is_the_same_change() -> None:
    (history,) = histories([*BEFORE, *AFTER])
    change = history.newest_change
    assert change is not None
    told = as_told(history, change)
    assert not is_news(history, change, told)
    for places in (-4, -1, 0, 3, 4, 6):
        earlier = ToldChange(created=history.points[change.at - places].created, is_worse=True)
        assert is_news(history, change, earlier) is (places > 3), places
    back = ToldChange(created=history.points[change.at - 2].created, is_worse=False)
    assert is_news(history, change, back)
    assert not is_news(history, change, replace(told, is_worse=False))
    assert is_news(history, change, None)


def test_histories_keep_their_key_and_damaged_memories_begin_again(tmp_path) -> None:
    before, after = BEFORE[0], AFTER[-1]
    assert history_key(before, "latency") == history_key(after, "latency")
    assert history_key(before, "latency") != history_key(before, "p99")
    other = replace(before, job=replace(before.job, workload=replace(before.job.workload, batch=4)))
    assert history_key(before, "latency") != history_key(other, "latency")
    for text in ("", "{", '{"schema_version": 9}'):
        (tmp_path / "x.json").write_text(text)
        assert read_memory(tmp_path / "x.json").seen == {}
