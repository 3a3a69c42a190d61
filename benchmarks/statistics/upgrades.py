"""Count the verdicts of ``upgrade`` on simulated processes of six models.

``python benchmarks/statistics/upgrades.py [--upgrades 20] [--scatter 1.0]``. The verb runs as it
does for a user, but for the workers, whose outputs are the same and whose levels are those of
`process_kinds`: alike on both stacks (10 rounds at most), or 3 % slower on the new one (30 at
most), as ``benchmarks/upgrade.py`` plants it in real processes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from printed import print_table
from process_kinds import PROCESS_KINDS, ProcessKind

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.analysis.in_turn import process
from tests.plants.in_process import workers_in_process

from enginescope.core.record import replace
from enginescope.records.run.run import Run
from enginescope.records.verdict.upgrade import UpgradeReport
from enginescope.runner.inputs.sample_models import sample_models
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.upgrade import checks
from enginescope.services.upgrade.request import UpgradeRequest
from enginescope.services.upgrade.stacks import StackRunner
from enginescope.services.upgrade.upgrade import check_upgrade

MODELS = 6
OLD, NEW = "old", "new"
#: What is planted -> factor of the new stack, most rounds.
PLANTED = {"nothing": (1.0, 10), "3 % slower": (1.03, 30)}


class Workers:
    """Processes whose levels scatter by `scatter_pct`; those of the new stack are slower."""

    def __init__(self, kind: ProcessKind, factor: float, scatter_pct: float, seed: int) -> None:
        self._kind, self._factor, self._scatter = kind, factor, scatter_pct / 100
        self._draw, self._levels = np.random.default_rng(seed), dict[str, list[float]]()

    def run_jobs(self, jobs: Sequence[Any], sink: Any, **_more: Any) -> tuple[Run, ...]:
        return tuple(map(self._run, jobs, [sink] * len(jobs)))

    def _run(self, job: Any, sink: Any) -> Run:
        if job.subject.name not in self._levels:
            drawn = self._kind.levels(self._draw, 1, 200)[0].ravel()
            self._levels[job.subject.name] = list(np.exp(self._scatter * drawn))
        median = 2.0 * self._levels[job.subject.name].pop(0)
        if job.backend.environment == NEW:
            median *= self._factor
        seed = int(self._draw.integers(1 << 31))
        run = process(median, n=50, seed=seed, job=replace(job, layer_profile=False))
        sink(run)
        return run


def upgraded(models: tuple[Path, ...], store: Path, workers: Workers, rounds: int) -> UpgradeReport:
    """Return what the verb finds."""
    request = UpgradeRequest(
        models=models,
        old=f"{OLD}={sys.executable}",
        new=f"{NEW}={sys.executable}",
        samples=1,
        store=store,
        rounds=rounds,
    )
    with mock.patch.object(StackRunner, "run_jobs", workers.run_jobs), workers_in_process():
        return check_upgrade(request, MeasurementObserver())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--upgrades", type=int, default=20, help="of each row")
    parser.add_argument("--scatter", type=float, default=1.0, help="of processes, in percent")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        first = sample_models(folder)[0]
        models = tuple(folder / f"model{number}.onnx" for number in range(MODELS))
        for model in models:
            shutil.copy(first, model)
        usual, kept = checks.compare_outputs, list[Any]()

        def once(*given: Any) -> Any:
            if not kept:
                kept.append(usual(*given))
            return kept[0]

        with mock.patch.object(checks, "compare_outputs", once):
            heads = ("planted", "processes", "upgrades", "latency of single models")
            print_table(__doc__.partition("\n")[0], heads, _rows(models, folder, options))


def _rows(models: tuple[Path, ...], folder: Path, options: argparse.Namespace) -> Iterator[str]:
    for planted, (factor, rounds) in PLANTED.items():
        for kind in PROCESS_KINDS:
            verdicts, single = Counter[str](), Counter[str]()
            for seed in range(options.upgrades):
                workers = Workers(kind, factor, options.scatter, seed)
                with tempfile.TemporaryDirectory(dir=folder) as store:
                    report = upgraded(models, Path(store), workers, rounds)
                verdicts[report.kind.value] += 1
                single.update(
                    row.kind.value
                    for model in report.models
                    for row in model.rows
                    if row.decides and row.metric == "latency"
                )
            yield f"| {planted} | {kind.name} | {_counted(verdicts)} | {_counted(single)} |"


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


if __name__ == "__main__":
    main()
