"""How often ``enginescope upgrade`` is right on real processes: two versions, A/A, planted faults.

Each part runs the verb as a user does, and the parts with a count run it so many times:

1. ``versions``: the old environment against the new one, over all models.
2. ``error``: a planted error of the outputs; nothing may be timed.
3. ``same``: the new environment against itself; a verdict other than safe or inconclusive is wrong.
4. ``slower``: each request takes 3 % longer; ``worse`` is right.
5. ``stopped``: the old environment against the new one, stopped at ten moments from its start to
   its end; right if report and evidence are there, and say of each model what was reached.

python benchmarks/upgrade.py OLD_PYTHON NEW_PYTHON [MODEL…] [--count 20] [--part same …]

Both Pythons need enginescope of this version. Without models, the two samples and four models of
the tests are used. Every upgrade is one line of JSON in ``--log``; a part goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.real_models import MODELS

from enginescope.runner.inputs.sample_models import sample_models

PARTS = ("versions", "error", "same", "slower", "stopped")
#: Moments at which an upgrade is stopped.
_STOPS = 10
#: Models of the tests whose inputs need no options.
REAL = ("MobileNet-V2", "MNIST CNN", "voice commands", "YOLO-shaped detector")
ERROR = """
from enginescope.core.record import replace
from enginescope.formats.tensors import tensor_files
usual = tensor_files.write_answers
def wrong(path, tensors):
    return usual(path, [replace(one, data=one.data + 1) for one in tensors])
tensor_files.write_answers = wrong
"""
#: Both sides of ``slower`` use the loop in Python, in which a request can be made longer.
PYTHON = """
from enginescope.backends.onnxruntime.session import OrtSession
OrtSession._native_programs = lambda session: []
"""


def slower(factor: float) -> str:
    """Return a fault that makes each request longer by a factor."""
    return f"""{PYTHON}
from time import perf_counter_ns
from enginescope.backends import loop
usual = loop.StepRecorder.__init__
def slower(self, step):
    def longer():
        begin = perf_counter_ns()
        step()
        until = begin + {factor} * (perf_counter_ns() - begin)
        while perf_counter_ns() < until:
            pass
    usual(self, longer)
loop.StepRecorder.__init__ = slower
"""


def planted(python: str, fault: str, folder: Path) -> str:
    """Return a script that becomes `python`, which imports `fault` at its start."""
    site = folder / "site"
    site.mkdir(parents=True)
    (site / "sitecustomize.py").write_text(fault)
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{site}" exec "{python}" "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def command_of(models: list[Path], old: str, new: str, store: Path, more: list[str]) -> list[str]:
    command = [sys.executable, "-m", "enginescope", "upgrade", *map(str, models)]
    return [*command, "--old", old, "--new", new, "--store", str(store), "--json", *more]


def upgrade(models: list[Path], old: str, new: str, store: Path, more: list[str]) -> dict:
    """Return what ``enginescope upgrade --json`` prints."""
    command = command_of(models, old, new, store, more)
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if not ended.stdout:
        raise SystemExit(ended.stderr)
    return json.loads(ended.stdout)


def faults_of(code: int, printed: str, folder: Path, stopped: int, whole: dict) -> list[str]:
    """Return what is missing or untrue after a stop.

    Args:
        code, printed: Of the upgrade.
        folder: Its evidence.
        stopped: Number of the signal.
        whole: The report of an upgrade that was not stopped.
    """
    if code not in (128 + stopped, -stopped, 0, 1) or not printed:  # killed after its answer
        return [f"exit code {code}, {len(printed)} characters printed"]
    report, faults = json.loads(printed)["report"], []
    check = [sys.executable, "-m", "enginescope", "upgrade", "--reproduce", str(folder)]
    if subprocess.run(
        [*check, "--check-only", "--json"], stdout=subprocess.PIPE, check=False
    ).returncode:
        return ["the evidence cannot be checked"]
    recorded = json.loads((folder / "evidence.json").read_text())["report"]
    if recorded["models"] != report["models"]:
        faults.append("the evidence and the printed report differ")
    if len(report["models"]) != len(whole["models"]):
        faults.append(f"{len(report['models'])} of {len(whole['models'])} models")
    rows = [row for model in report["models"] for row in model["rows"] if row["decides"]]
    is_open = any(row["reason"] == "not-reached" for row in rows)
    if code > 1 and is_open and "W-INTERRUPTED" not in [one["code"] for one in report["notices"]]:
        faults.append("the report does not say that it was stopped")
    for model, reference in zip(report["models"], whole["models"], strict=False):
        outputs, *figures = model["rows"]
        if outputs["reason"] != "not-reached" and outputs["kind"] != reference["rows"][0]["kind"]:
            faults.append(f"{model['model']}: outputs {outputs['kind']}")
        timed = {row["reason"] for row in figures if row["decides"]} - {"not-reached"}
        if timed and not model["old"] and outputs["kind"] == "safe":  # others are not timed
            faults.append(f"{model['model']}: figures without runs")
        missing = [
            run
            for run in (*model["old"], *model["new"])
            if not any(folder.glob(f"runs/**/*{run}*"))
        ]
        if missing:
            faults.append(f"{model['model']}: {len(missing)} runs are not in the evidence")
    return faults


def stopped_upgrade(command: list[str], line: int, stop: int, seed: int) -> tuple[int, str]:
    """Return the exit code and the output of an upgrade that a signal ends after so many lines."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    for number, _ in enumerate(child.stderr, 1):
        if number == line:
            sleep(random.Random(seed).uniform(0, 2))
            child.send_signal(stop)
            break
    printed, _ = child.communicate()
    return child.returncode, printed


def stopped_upgrades(
    models: list[Path], old: str, new: str, folder: Path, more: list[str], together: int
) -> list[dict]:
    """Return a line for each moment at which an upgrade was stopped.

    Args:
        together: Number of upgrades that run at once.
    """
    command = command_of(models, old, new, folder / "whole", more)
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    whole, lines = json.loads(ended.stdout)["report"], len(ended.stderr.splitlines())

    def stopped(number: int) -> dict:
        stop, evidence = (signal.SIGINT, signal.SIGTERM)[number % 2], folder / f"evidence-{number}"
        command = command_of(models, old, new, folder / f"store-{number}", more)
        line = 1 + (lines - 2) * (number - 1) // (_STOPS - 1)
        code, printed = stopped_upgrade([*command, "--evidence", str(evidence)], line, stop, number)
        found = {"part": "stopped", "line": line, "of": lines, "code": code}
        found["faults"] = faults_of(code, printed, evidence, stop, whole)
        if printed:
            rows = [row for one in json.loads(printed)["report"]["models"] for row in one["rows"]]
            found["rows"] = sum(row["decides"] for row in rows)
            found["reached"] = sum(row["reason"] != "not-reached" for row in rows if row["decides"])
        print(json.dumps(found), flush=True)
        return found

    with ThreadPoolExecutor(together) as pool:
        return list(pool.map(stopped, range(1, _STOPS + 1)))


def brief(part: str, report: dict) -> dict:
    """Return a line of the log: verdicts, and the latency of each model."""
    return {
        "part": part,
        "verdict": report["verdict"],
        "models": [
            {
                "model": model["model"],
                "rows": [
                    {"metric": row["metric"], "kind": row["kind"], "reason": row["reason"]}
                    | {"old": row["old"], "new": row["new"]}
                    for row in model["rows"]
                    if row["decides"]
                ],
                "runs": len(model["old"]),
            }
            for model in report["report"]["models"]
        ],
    }


def latencies(lines: list[dict]) -> list[str]:
    """Return the verdict on the latency of each model and upgrade."""
    rows = [row for line in lines for model in line["models"] for row in model["rows"]]
    return [row["kind"] for row in rows if row["metric"] not in ("outputs", "peak_memory")]


def summary(part: str, lines: list[dict]) -> str:
    """Return what a part comes to in one sentence."""
    verdicts = [line["verdict"] for line in lines]
    counts = {kind: verdicts.count(kind) for kind in sorted(set(verdicts))}
    if part == "error":
        timed = sum(model["runs"] for line in lines for model in line["models"])
        return f"{part}: {counts}; {timed} processes timed"
    kinds = latencies(lines)
    single = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    return f"{part}: upgrades {counts}; latency of single models {single}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old", help="Python of the old environment")
    parser.add_argument("new", help="Python of the new environment")
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=20, help="upgrades of `same` and `slower`")
    parser.add_argument("--first", type=int, default=0, help="seed of the first, for several logs")
    parser.add_argument("--part", action="append", choices=PARTS, help="repeat for several")
    parser.add_argument("--log", type=Path, default=Path("upgrade.jsonl"))
    parser.add_argument("--together", type=int, default=1, help="upgrades of `stopped` at once")
    parser.add_argument("--rounds", default="60")
    parser.add_argument("--duration", default="1s", help="of each process")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        models = options.models or [
            *sample_models(folder),
            *(MODELS[name].path(folder) for name in REAL),
        ]
        stacks = {
            "versions": (options.old, options.new, 1),
            "error": (options.new, planted(options.new, ERROR, folder / "error"), 1),
            "same": (options.new, options.new, options.count),
            "slower": (
                planted(options.new, PYTHON, folder / "python"),
                planted(options.new, slower(1.03), folder / "slower"),
                options.count,
            ),
        }
        for part in options.part or PARTS:
            if part == "stopped":
                more = ["--rounds", options.rounds, "--duration", options.duration]
                lines = stopped_upgrades(
                    models, options.old, options.new, folder / part, more, options.together
                )
                with options.log.open("a") as file:
                    file.writelines(json.dumps(line) + "\n" for line in lines)
                print(f"stopped: {sum(not line['faults'] for line in lines)} of {_STOPS} right")
                continue
            old, new, count = stacks[part]
            log = options.log.read_text().splitlines() if options.log.exists() else []
            lines = [line for line in map(json.loads, log) if line["part"] == part]
            for number in range(len(lines), count):
                more = ["--rounds", options.rounds, "--duration", options.duration]
                more += ["--seed", str(options.first + number)]
                report = upgrade(models, old, new, folder / f"{part}-{number}", more)
                lines.append(brief(part, report))
                with options.log.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
                print(f"{part} {number + 1} of {count}: {report['answer']}", flush=True)
            print(summary(part, lines), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
