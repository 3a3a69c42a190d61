"""How often ``enginescope upgrade --search`` finds a planted regression among equal releases.

A search has eight releases, which are this Python under eight names. From one of them on, a fault
is planted: each request takes 5 % longer, every Relu computes something else, or the session
refuses the model. Without a fault (``--part null``), a release that is named is wrong.

python benchmarks/release_search.py MODEL [--count 10] [--part planted] [--log search.jsonl]
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from upgrade import PYTHON, planted, slower

RELEASES = tuple(f"1.{minor}.0" for minor in range(1, 9))
WRONG = """
import onnx, onnxruntime
usual = onnxruntime.InferenceSession
class Wrong(usual):
    def __init__(self, model, *given, **named):
        loaded = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(str(model))
        for node in loaded.graph.node:
            if node.op_type == "Relu":
                node.op_type = "LeakyRelu"
                node.attribute.append(onnx.helper.make_attribute("alpha", 0.5))
        super().__init__(loaded.SerializeToString(), *given, **named)
onnxruntime.InferenceSession = Wrong
"""
REFUSES = """
import onnxruntime
def refused(*given, **named):
    raise RuntimeError("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : planted")
onnxruntime.InferenceSession = refused
"""
FAULTS = {"slower": slower(1.05), "wrong": WRONG, "refuses": REFUSES}
KINDS = (*("wrong", "refuses", "slower") * 3, "wrong")


def search(model: Path, fault: str | None, first: int, folder: Path, more: list[str]) -> dict:
    """Return what a search says whose releases from number `first` on have a fault."""
    # all releases of ``slower`` use the loop in Python, in which a request can be made longer
    good = planted(sys.executable, PYTHON if fault == "slower" else "", folder / "good")
    bad = planted(sys.executable, FAULTS[fault], folder / "bad") if fault else good
    command = [sys.executable, "-m", "enginescope", "upgrade", str(model)]
    command += ["--search", f"{RELEASES[0]}..{RELEASES[-1]}", "--json", *more]
    for number, release in enumerate(RELEASES):
        command += ["--python", f"{release}={bad if fault and number >= first else good}"]
    command += ["--store", str(folder / "store"), "--evidence", str(folder / "evidence")]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not ended.stdout:
        raise SystemExit(ended.returncode)
    found = json.loads(ended.stdout)
    script = folder / "evidence" / "reduced" / "check.py"
    if script.is_file():  # exit code 1 while the failure is there
        commands = ([each, str(script)] for each in (good, bad))
        found["reduced"] = [subprocess.run(each, check=False).returncode for each in commands]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first search")
    parser.add_argument("--part", choices=("planted", "null"), default="planted")
    parser.add_argument("--log", type=Path, default=Path("search.jsonl"))
    parser.add_argument("--duration", default="300ms", help="of each process")
    parser.add_argument("--rounds", default="240")
    options = parser.parse_args()
    right, more = 0, ["--duration", options.duration, "--rounds", options.rounds, "--samples", "2"]
    for number in range(options.first, options.first + options.count):
        first = random.Random(number).randrange(1, len(RELEASES))
        fault = KINDS[number % len(KINDS)] if options.part == "planted" else None
        with tempfile.TemporaryDirectory() as folder:
            found = search(options.model, fault, first, Path(folder), more)
        named = found["release"]
        right += named == (RELEASES[first] if fault else None)
        line = {"fault": fault, "planted": RELEASES[first] if fault else None, "named": named}
        line |= {"answer": found["answer"], "reduced": found.get("reduced")}
        steps = found["report"]["steps"]
        line["steps"] = [(step["old"]["name"], step["new"]["name"]) for step in steps]
        line["origin"] = steps[-1]["models"][0]["origin"]
        with options.log.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)
    print(f"{options.part}: {right} of {options.count} right")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
