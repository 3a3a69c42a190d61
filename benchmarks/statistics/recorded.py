"""Print what our rule and two usual tests say of recorded traces held against themselves.

``python benchmarks/statistics/recorded.py [FILE…]``. Without files: the traces of trtexec in
``tests/data``, and in ``../shared/data`` where that is.

First table: tenths of one run, each pair of them, as two runs of one process each; so there is no
difference, and 2 % or 3 % only where one is multiplied. Welch's t-test and the Mann-Whitney test
take single samples for independent. Second table: the run cut into as many pieces as a comparison
in rounds has processes, dealt out to both sides in random order; the orders are drawn anew for each
comparison, the pieces are always the same.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from in_rounds import DIFFERENT, compare_in_rounds
from scipy import stats

from enginescope.analysis.verdicts.comparability import ASSUMED_SCATTER_PCT, CompareConfig
from enginescope.analysis.verdicts.verdicts import verdicts
from enginescope.core.record import replace
from enginescope.formats.importing.importer import import_artifacts
from enginescope.judge.comparison.looks import LOOKS
from enginescope.judge.samples import frozen
from enginescope.judge.stats.autocorrelation import effective_samples, levels_of
from enginescope.judge.verdict import VerdictKind
from enginescope.records.run.run import Run

ROOT = Path(__file__).resolve().parents[2]
PLANTED_PCT = (0.0, 2.0, 3.0)
Rule = Callable[[Run, Run], bool]


def traces() -> list[Path]:
    """Return the recorded traces at hand; of copies of one the first."""
    found = [
        path
        for folder in (ROOT / "tests/data", ROOT.parent / "shared/data")
        for path in sorted(folder.rglob("*.timing.json*"))
    ]
    return list({path.name.removesuffix(".gz"): path for path in reversed(found)}.values())[::-1]


def differ(scatter_pct: float | None) -> Rule:
    """Return our rule for one process a side."""
    terms = CompareConfig(scatter_pct=scatter_pct)
    return lambda a, b: verdicts([a], [b], terms)[0].kind in DIFFERENT


def welch(a: Run, b: Run) -> bool:
    """Return whether Welch's t-test calls the samples different at 5 %."""
    return bool(stats.ttest_ind(_values(a), _values(b), equal_var=False).pvalue < 0.05)


def mann_whitney(a: Run, b: Run) -> bool:
    """Return whether the Mann-Whitney test calls the samples different at 5 %."""
    return bool(stats.mannwhitneyu(_values(a), _values(b)).pvalue < 0.05)


#: Tenths of one run are of one process, which is known here; as two runs they would not be.
RULES: tuple[tuple[str, Rule], ...] = (
    (f"ours, ±{ASSUMED_SCATTER_PCT:g} % assumed", differ(None)),
    ("ours, one process", differ(0.0)),
    ("Welch", welch),
    ("Mann-Whitney", mann_whitney),
)


def tenths(run: Run) -> str:
    """Return a row of the first table, in Markdown: A/A, 2 % and 3 % of each rule."""
    pieces = [_piece(run, one) for one in np.array_split(_values(run), 10)]
    counts = {name: [0] * len(PLANTED_PCT) for name, _ in RULES}
    pairs = list(combinations(pieces, 2))
    for a, b in pairs:
        for column, pct in enumerate(PLANTED_PCT):
            slower = _piece(b, (1 + pct / 100) * _values(b))
            for name, rule in RULES:
                counts[name][column] += rule(a, slower)
    values = _values(run)
    effective = effective_samples(levels_of(values))
    cells = (" · ".join(map(str, counts[name])) for name, _ in RULES)
    return f"| {run.job.subject.name} | {values.size:,} ({effective:,.0f}) | {' | '.join(cells)} |"


def in_rounds(run: Run, comparisons: int) -> str:
    """Return a row of the second table, in Markdown."""
    medians = np.array([np.median(one) for one in np.array_split(_values(run), 2 * LOOKS[-1])])
    pairs = medians.reshape(-1, 2)
    rng = np.random.default_rng(31)
    cells = []
    for pct in PLANTED_PCT:
        kinds, rounds = [], []
        for _ in range(comparisons):
            swapped = rng.permuted(rng.permutation(pairs), axis=1)
            ended = compare_in_rounds(swapped[:, 0], (1 + pct / 100) * swapped[:, 1])
            kinds.append(ended.kind)
            rounds.append(ended.rounds)
        wanted = DIFFERENT if pct == 0 else (VerdictKind.SLOWER,)
        cells.append(f"{100 * np.mean([one in wanted for one in kinds]):.1f}")
        if pct == 0:
            cells.append(f"{100 * np.mean([one is VerdictKind.SAME for one in kinds]):.1f}")
            cells.append(f"{np.mean(rounds):.0f}")
    scatter_pct = 100 * np.log(medians).std()
    return f"| {run.job.subject.name} | {scatter_pct:.2f} % | {' | '.join(cells)} |"


def _values(run: Run) -> np.ndarray:
    headline = run.headline
    assert headline is not None
    return np.asarray(headline.values_ms)


def _piece(run: Run, values: np.ndarray) -> Run:
    headline = run.headline
    assert headline is not None
    return replace(run, samples=(replace(headline, values_ms=frozen(values), warmup_ms=None),))


def _compute(run: Run) -> Run:
    """Return the run with its GPU compute times alone, without queueing and copies."""
    found = run.series("gpu_compute") or run.headline
    assert found is not None
    return replace(run, samples=(replace(found, warmup_ms=None),))


def _runs(paths: list[Path]) -> Iterator[Run]:
    with TemporaryDirectory() as folder:
        for path in paths:
            plain = path
            if path.suffix == ".gz":
                plain = Path(folder) / path.stem
                plain.write_bytes(gzip.decompress(path.read_bytes()))
            for run in import_artifacts([plain]).runs:
                subject = replace(run.job.subject, name=path.name.split(".timing")[0])
                yield _compute(replace(run, job=replace(run.job, subject=subject)))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--comparisons", type=int, default=200)
    options = parser.parse_args()
    runs = list(_runs(options.files or traces()))
    print("Called different of 45 pairs of tenths: as they are · 2 % planted · 3 % planted\n")
    names = [name for name, _ in RULES]
    print(f"| trace | samples (effective) | {' | '.join(names)} |")
    print("|---" * (len(names) + 2) + "|")
    for run in runs:
        print(tenths(run), flush=True)
    print(f"\nPieces of a run in rounds, {options.comparisons:,} random orders each\n")
    print("| trace | scatter | A/A false, % | A/A same, % | rounds | 2 % found | 3 % found |")
    print("|---" * 7 + "|")
    for run in runs:
        print(in_rounds(run, options.comparisons), flush=True)


if __name__ == "__main__":
    main()
