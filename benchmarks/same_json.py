"""Compare the JSON of every verb between two versions of enginescope.

    python benchmarks/same_json.py PYTHON-OR-SRC-BEFORE PYTHON-OR-SRC-AFTER [--shared DIR]

Each side is a Python in which a version is installed, or a ``src`` folder for this Python. Both run
the same commands on recorded data, each on its own copy of a store. Prints each command whose exit
code or JSON differs, with the first differences, and exits with 1 if there is one. Values that
differ between any two calls, such as ids, times and paths, are skipped. What a reader of the older
JSON does not notice is only counted, unless ``--all`` is given: keys, notices and codes that were
added, and prose in other words (strings of three words or more).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
#: Of one command.
MOST_SHOWN = 8
#: Keys whose values differ between any two calls.
VOLATILE = frozenset(
    {
        "command",
        "created",
        "date",
        "dated",
        "ended",
        "enginescope",
        "environment",
        "fetched",
        "host",
        "id",
        "mtime",
        "path",
        "pid",
        "python",
        "run",
        "run_id",
        "seconds",
        "started",
        "store",
        "tool",
        "version",
        "when",
        "wall_s",
    }
)


def commands(shared: Path | None, stored: list[str]) -> Iterator[list[str]]:
    """Yield command lines without ``--json``; ``{work}`` is a folder of the side's own."""
    process = DATA / "trt86-h200-process"
    plan = str(process / "small_convnet.onnx.engine.graph.json")
    recorded = str(DATA / "trt86-h200" / "resnet18.graph.json")
    plans = [plan, recorded]
    times = [str(path) for path in sorted((DATA / "trt86-h200").glob("*profile.json"))]
    if shared is not None:
        plans += sorted(str(path) for path in shared.glob("*/*.graph.json"))
        times += sorted(str(path) for path in shared.glob("*/*.times.json"))[:6]
    for one in plans:
        yield ["explore", one]
        yield ["lint", one]
        yield ["explore", one, "--gpu", "H200", "--sort", "weights"]
    for a, b in pairwise(plans):
        yield ["compare", a, b]
    yield ["import", str(process)]
    for one in times:
        yield ["import", one]
    yield ["report", plan, "-o", "{work}/report"]
    yield ["archive", "{work}/a.tea", str(process)]
    yield ["doctor"]
    yield ["runs"]
    yield ["runs", "list", "--model", "nothing"]
    for one in stored[:12]:
        yield ["runs", "show", one]
    for a, b in pairwise(stored[:11]):
        yield ["compare", a, b]
        yield ["gate", b, "--baseline", a]
        yield ["gate", b, "--baseline", a, "--max-regression", "50%", "--metric", "p99"]
        yield ["gate", b, "--baseline", a, "--metric", "engine_size"]
    yield ["gate", "--baseline", "nobody"]
    yield ["history", "resnet18.onnx"]
    yield ["history", "resnet18"]
    yield ["compare", "nobody", "nothing"]
    yield ["explore", "nothing.json"]
    yield ["validate", "nothing.onnx"]
    yield ["bench", "nothing.onnx"]
    yield ["bench", "--iterations", "20", "--no-layers"]
    yield ["build", "nothing.onnx"]
    yield ["suite", "nothing.toml"]
    yield ["depth", "nothing.onnx"]


def environment_of(side: str) -> tuple[str, dict[str, str]]:
    """Return a side's Python and the variables that it runs under."""
    path = Path(side)
    if path.is_dir():
        return sys.executable, {"PYTHONPATH": str(path.resolve())}
    return side, {}


def outcome(side: str, command: list[str], work: Path) -> tuple[int, Any]:
    """Return a command's exit code and its JSON without volatile values; else its error."""
    python, variables = environment_of(side)
    words = [word.format(work=work) for word in command]
    ended = subprocess.run(
        [python, "-m", "enginescope", *words, "--json"],
        capture_output=True,
        check=False,
        text=True,
        cwd=work,
        env=os.environ | variables | {"ENGINESCOPE_HOME": str(work / "store")},
    )
    if not ended.stdout.strip():
        return ended.returncode, ended.stderr.strip().splitlines()[:1]
    measured = command[0] in {"bench", "doctor"}
    return ended.returncode, without(json.loads(ended.stdout), str(work), measured=measured)


def without(value: Any, work: str, *, measured: bool = False) -> Any:
    """Return JSON in which volatile values are None, and measured numbers are only their type."""
    if isinstance(value, dict):
        return {
            key: None if key in VOLATILE else without(inner, work, measured=measured)
            for key, inner in value.items()
            if not (measured and key == "notices")
        }
    if isinstance(value, list):
        return [without(inner, work, measured=measured) for inner in value]
    if measured and isinstance(value, int | float) and not isinstance(value, bool):
        return "a number"
    return value.replace(work, "WORK") if isinstance(value, str) else value


class Comparison:
    """The differences of JSON values, and counts of those that are passed over."""

    def __init__(self, *, shows_all: bool) -> None:
        self.shows_all = shows_all
        self.passed_over: Counter[str] = Counter()

    def differences(self, a: Any, b: Any, path: str = "") -> Iterator[str]:
        """Yield the places at which two JSON values differ."""
        a, b = by_key(a), by_key(b)
        if isinstance(a, dict) and isinstance(b, dict):
            for key in sorted({*a, *b}):
                if key not in b:
                    yield f"{path}.{key}: only before"
                elif key in a:
                    yield from self.differences(a[key], b[key], f"{path}.{key}")
                elif self._counts("added"):
                    yield f"{path}.{key}: only after"
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            for at, (left, right) in enumerate(zip(a, b, strict=True)):
                yield from self.differences(left, right, f"{path}[{at}]")
        elif a != b and (not (is_prose(a) and is_prose(b)) or self._counts("reworded")):
            yield f"{path}: {a!r:.80} before, {b!r:.80} after"

    def _counts(self, kind: str) -> bool:
        self.passed_over[kind] += not self.shows_all
        return self.shows_all


def by_key(value: Any) -> Any:
    """Return a list of rules, of notices or of what has names by these; anything else as it is.

    One that is added then moves no other. Such a list in another order is the same.
    """
    if value == []:
        return {}
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return {one: one for one in value} if len({*value}) == len(value) else value
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        for field in ("code", "name"):
            keys = [one.get(field) for one in value]
            if None not in keys and len({*keys}) == len(keys):
                return dict(zip(keys, value, strict=True))
    return value


def is_prose(value: Any) -> bool:
    """Whether a value is a string of three words or more."""
    return isinstance(value, str) and len(value.split()) >= 3


def prepared(folder: Path) -> Path:
    """Return a folder with a store that holds the recorded runs."""
    store = folder / "store"
    store.mkdir(parents=True)
    with tarfile.open(DATA / "trt86-h200-runs" / "runs.tar.xz") as archive:
        archive.extractall(store, filter="data")
    return folder


def main() -> int:
    """Run both versions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--all", action="store_true", help="show additions and rewording too")
    options = parser.parse_args()
    comparison = Comparison(shows_all=options.all)
    shared = options.shared if options.shared.is_dir() else None
    different = count = 0
    with tempfile.TemporaryDirectory() as folder:
        pristine = prepared(Path(folder) / "pristine")
        runs = sorted(path.parent.name for path in pristine.rglob("run.json"))
        for command in commands(shared, runs):
            outcomes = []
            for side in (options.before, options.after):
                work = Path(folder) / "work"
                shutil.rmtree(work, ignore_errors=True)
                shutil.copytree(pristine, work)
                outcomes.append(outcome(side, command, work))
            (status, before), (status_after, after) = outcomes
            count += 1
            found = [f"exit code {status} before, {status_after} after"] * (status != status_after)
            found += list(comparison.differences(before, after))[:MOST_SHOWN]
            if found:
                different += 1
                print(f"{' '.join(command)}", *found, sep="\n    ", flush=True)
    print(*(f"{kind}: {number}" for kind, number in comparison.passed_over.items()), sep="\n")
    print(f"{count - different} of {count} commands give the same JSON")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
