"""Suites that are killed between cells and in them, whose workers are killed, and that resume."""

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from enginescope.core.errors import EnginescopeError
from enginescope.runner.inputs.sample_models import sample_models
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace
from tests.faults.ledger import Event, Ledger, check

CELLS = 6
_MOST_S = 1.5
_LIMIT_S = 300.0
_ENDED = re.compile(rb"^(?:enginescope: )?\[(\d+)/\d+\] (.+?): (.*)$", re.MULTILINE)
KILL, WORKER_KILL = "kill of a suite, and its resume", "kill of a suite's worker"


@dataclass
class Suite:
    """A suite of cells that take a known time.

    Attributes:
        rows: Of cells that ended before a kill, by key.
    """

    place: StorePlace
    file: Path
    folder: Path
    rows: dict[str, Any] = field(default_factory=dict)
    runs: Ledger = field(default_factory=Ledger)

    def start(self, log: Path) -> subprocess.Popen[bytes]:
        place = getattr(self.place, "secret_url", str(self.place))
        command = [sys.executable, "-m", "enginescope", "suite", str(self.file), "--store", place]
        with log.open("wb") as file:
            return subprocess.Popen([*command, "--retry-failed"], stdout=file, stderr=file)

    def look(self, said: bytes, kind: str) -> Event:
        """Compare rows and runs with those of earlier, and take up the new ones."""
        wrong, lost = [], []
        rows: dict[str, Any] = {}
        for line in _whole_lines(self.folder / "cells.jsonl"):
            try:
                row = json.loads(line)
                rows.setdefault(row["cell"]["key"], []).append(row)
            except ValueError:
                wrong.append(f"a line of the suite's rows: {line[:80]!r}")
        for key, before in self.rows.items():
            if rows.get(key, [])[: len(before)] != before:
                lost.append(f"row of cell {key}")
        printed = len({found[2] for found in _ENDED.finditer(said)})
        if len(rows) < printed:
            lost.append(f"{printed} cells were printed, {len(rows)} are stored")
        self.rows = rows
        names = [run for one in rows.values() for row in one for run in _runs_of(row)]
        store = Store(self.place)
        for name in {*names} - self.runs.saved.keys():
            try:
                self.runs.keep(store.load_id(name))
            except EnginescopeError as error:
                lost.append(f"run {name} of a stored row: {error}")
        found = check(kind, self.place, self.runs)
        checked = found.checked + len(rows)
        return Event(kind, checked, (*found.lost, *lost), (*found.unreadable, *wrong))


def _runs_of(row: Any) -> list[str]:
    return [*{*row.get("runs", ()), *([row["run"]] if row.get("run") else ())}]


def _whole_lines(file: Path) -> list[bytes]:
    if not file.is_file():
        return []
    return [one for one in file.read_bytes().splitlines(keepends=True) if one.endswith(b"\n")]


def killed_suites(
    places: Iterator[StorePlace], top: Path, count: int, seed: str
) -> Iterator[Event]:
    """Kill suites and their workers `count` times in all; each is resumed to its end.

    Args:
        places: Of empty stores that are folders.
    """
    chance = random.Random(f"{seed}:suites")
    model = sample_models(top / "models")[0]
    done = 0
    while done < count:
        name = f"suite{done}"
        file = top / f"{name}.toml"
        cells = ", ".join(f'"fake?seed={seed}&latency_us=2000"' for seed in range(CELLS))
        file.write_text(
            f'[suite]\nmodels = ["{model}"]\nbackends = [{cells}]\nlayers = false\n'
            '[timing]\niterations = 100\nwarmup = "1"\n'
        )
        place = next(places)
        suite = Suite(place, file, Store(place).suite_home() / "suites" / name)
        while done < count:
            event, is_ended = _one_kill(suite, top / f"{name}.log", chance)
            if is_ended:
                break
            done += 1
            yield event
        yield from _to_its_end(suite, top / f"{name}.log")


def _one_kill(suite: Suite, log: Path, chance: random.Random) -> tuple[Event, bool]:
    """Let a session end another cell or two, then kill it, or one of its workers."""
    process = suite.start(log)
    wanted = len(suite.rows) + chance.randint(0, 2)
    end = time.monotonic() + _LIMIT_S
    try:
        while process.poll() is None and len(_whole_lines(suite.folder / "cells.jsonl")) <= wanted:
            assert time.monotonic() < end, log.read_text()[-2000:]
            time.sleep(0.01)
        time.sleep(chance.random() * _MOST_S)
        kind = KILL
        if chance.random() < 0.3 and _kill_a_worker(process.pid):
            kind = WORKER_KILL
            time.sleep(chance.random() * _MOST_S)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode in (0, 3, -signal.SIGKILL), log.read_text()[-2000:]
    return suite.look(log.read_bytes(), kind), process.returncode != -signal.SIGKILL


def _kill_a_worker(pid: int) -> bool:
    try:
        children = psutil.Process(pid).children(recursive=True)
        for one in children:
            if "enginescope.runner.worker" in one.cmdline():
                one.kill()
                return True
    except psutil.Error:
        pass
    return False


def _to_its_end(suite: Suite, log: Path) -> Iterator[Event]:
    """Resume a suite to its end; report only what is wrong then."""
    process = suite.start(log)
    process.wait(_LIMIT_S)
    event = suite.look(log.read_bytes(), KILL)
    wrong = list(event.unreadable)
    if process.returncode != 0 or len(suite.rows) != CELLS:
        wrong.append(
            f"it ended with {process.returncode}, {len(suite.rows)} cells: {log.read_text()[-500:]}"
        )
    if wrong or event.lost:
        yield Event(KILL, event.checked, event.lost, tuple(wrong))
