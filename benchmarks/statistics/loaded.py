"""Compare a model with itself while other processes take every core; print what is said of it.

``python benchmarks/statistics/loaded.py [--rounds 8]``. Two loops of Python run for each core, and
end with the script.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from enginescope.runner.interleaved import PROCESS_STOP, Pacing, run_interleaved
from planted_model import planted_models

from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import MeasuredSide, compare_sides
from enginescope.records.run.job import BackendSpec, Job, Subject, Workload
from enginescope.render.verdicts.verdict_phrases import headline_sentence, why_text


@contextmanager
def every_core_taken() -> Iterator[None]:
    """Keep two processes a core busy meanwhile."""
    command = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(command) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for one in loops:
            one.kill()
            one.wait()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    rounds = parser.parse_args().rounds
    with TemporaryDirectory() as folder, every_core_taken():
        plain, _ = planted_models(Path(folder), 40)
        job = Job(
            subject=Subject(name=plain.name, kind="onnx", path=str(plain)),
            backend=BackendSpec(name="ort-cpu"),
            workload=Workload(stop=PROCESS_STOP),
            layer_profile=False,
        )
        sides = run_interleaved((job, job), lambda _run: None, Pacing(looks=(rounds,)))
    named = [
        MeasuredSide(label=label, name=plain.name, runs=runs)
        for label, runs in zip("AB", sides, strict=True)
    ]
    found = compare_sides(named)
    headline = found.pairs[0].headline
    print(headline_sentence(found.pairs[0]))
    print(why_text(headline) or f"decided: {headline.kind.value}")
    for notice in measured_notices(found):
        print(f"{notice.code}: {notice.message}")
    runs = [run for side in sides for run in side]
    unstable = sum(
        any(one.evidence.get("unstable") for one in run.notices if one.code == "W-LOAD")
        for run in runs
    )
    print(f"{unstable} of {len(runs)} runs are called unstable")
    print(Counter(one.code for run in runs for one in run.notices))


if __name__ == "__main__":
    main()
