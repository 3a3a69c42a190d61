"""What an import read of each file, and what it left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from enginescope.core.record import Record
from enginescope.formats.importing.artifact_kinds import BENCHMARK_READERS, ArtifactKind
from enginescope.formats.importing.import_grouping import OPERATOR_KINDS, Item
from enginescope.judge.units import counted
from enginescope.records.run.run import Run

#: Notices on parts of a file that were not read.
_LEFT_OUT = frozenset(
    {
        *("W-DAMAGED-FILE", "W-FIGURES-UNREAD", "W-PLAN-ENTRIES", "W-RECORDS", "W-TRUNCATED"),
        *("I-BENCHMARKS-SKIPPED", "W-LOG-UNFINISHED"),
    }
)


class LedgerEntry(Record, frozen=True, kw_only=True):
    """One file of an import.

    Attributes:
        kinds: What it was recognized as.
        read: Counts of what was read: ``"3 documents"``, ``"360 samples"``.
        left_out: Codes of the notices on parts that were not read.
    """

    path: str
    kinds: tuple[str, ...]
    read: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def ledger_of(items: Sequence[Item], runs: Sequence[Run]) -> tuple[LedgerEntry, ...]:
    """Return an entry for each file, in the order of `items`."""
    by_file: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_file[str(item.path.absolute())].append(item)
    return tuple(_entry(path, some, runs) for path, some in by_file.items())


def _entry(path: str, items: Sequence[Item], runs: Sequence[Run]) -> LedgerEntry:
    own = [run for run in runs if any(artifact.path == path for artifact in run.artifacts)]
    kinds = tuple(dict.fromkeys(item.kind for item in items))
    amounts: dict[str, int] = {}
    if len(items) > 1 and not any(item.benchmark for item in items):
        amounts["run" if items[0].log else "document"] = len(items)
    for kind in kinds:
        for run in own:
            for unit, count in _amounts(kind, run):
                amounts[unit] = amounts.get(unit, 0) + count
    name = items[0].path.name
    codes = (
        notice.code
        for run in own
        for notice in run.notices
        if notice.code in _LEFT_OUT and notice.evidence.get("file") == name
    )
    return LedgerEntry(
        path=path,
        kinds=tuple(kind.value for kind in kinds),
        read=tuple(counted(count, unit) for unit, count in amounts.items() if count),
        left_out=tuple(dict.fromkeys(codes)),
    )


def _amounts(kind: ArtifactKind, run: Run) -> Iterator[tuple[str, int]]:
    """Yield what a file of a kind gave a run, by its unit."""
    if kind in BENCHMARK_READERS:
        yield "benchmark", 1
    if run.samples and (kind is ArtifactKind.TIMES or kind in BENCHMARK_READERS):
        yield "sample", len(run.samples[0])
    if kind is ArtifactKind.PLAN and run.plan is not None:
        yield "layer", len(run.plan.layers)
    timed = OPERATOR_KINDS | {ArtifactKind.PROFILE, ArtifactKind.LAYER_LATENCIES}
    if kind in timed and run.profile is not None:
        yield ("operator" if kind in OPERATOR_KINDS else "layer time"), len(run.profile.layers)
    if kind is ArtifactKind.OUTPUTS:
        yield "output", len(run.answers)
    if run.tool is not None and (kind.value.endswith("_log") or kind is ArtifactKind.TREX_METADATA):
        figures = (
            (one.min_ms, one.max_ms, one.mean_ms, one.median_ms, *one.percentiles)
            for one in run.tool.summaries
        )
        yield "printed statistic", sum(value is not None for row in figures for value in row)
        built = (run.tool.build_s, run.tool.engine_bytes, run.tool.load_s)
        yield "build figure", sum(value is not None for value in built)
