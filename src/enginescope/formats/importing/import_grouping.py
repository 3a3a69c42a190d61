"""Which files belong to one engine."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from enginescope.core.packed_files import plain_path
from enginescope.core.record import Record
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.importing.artifact_kinds import BENCHMARK_READERS, ArtifactKind
from enginescope.formats.lenient_json import Document
from enginescope.formats.trtexec.trtexec_log import TrtexecLog
from enginescope.judge.notice import Notice

# Words in a file's name that say what part of an engine's story it holds.
_ROLES = frozenset(
    {
        *("graph", "plan", "layers", "layer", "layerinfo", "engineinfo", "info", "engine"),
        *("profile", "profiling", "timing", "timings", "times", "time", "metadata", "perf"),
        *("build", "run", "bench", "inference", "export", "log", "stdout", "stderr", "output"),
        "outputs",
        *("trtexec", "json", "txt", "out", "err", "onnx", "latency", "latencies"),
    }
)
_SEPARATOR = re.compile(r"[._\-\s]+")
_EXPORTS = {
    "exportTimes": ArtifactKind.TIMES,
    "exportProfile": ArtifactKind.PROFILE,
    "exportLayerInfo": ArtifactKind.PLAN,
    "exportOutput": ArtifactKind.OUTPUTS,
}
_EXPORT = re.compile(rf"--({'|'.join(_EXPORTS)})=(\"[^\"]+\"|'[^']+'|\S+)")
#: Of these a run has one at most; logs and metadata add up.
_SINGLE = frozenset(
    {
        *(ArtifactKind.PLAN, ArtifactKind.TIMES, ArtifactKind.PROFILE, ArtifactKind.OUTPUTS),
        ArtifactKind.LAYER_LATENCIES,
    }
)
#: Of operators, not of an engine's layers: each is a run of its own.
OPERATOR_KINDS = frozenset({ArtifactKind.ORT_PROFILE, ArtifactKind.TORCH_TRACE})
#: Of more than one engine, or of none: not grouped by name.
_APART = OPERATOR_KINDS | {ArtifactKind.OUTPUT_DIFF, *BENCHMARK_READERS}


#: Folder, stem, process.
_Key = tuple[Path, str, int | None]


class Item(Record, frozen=True, kw_only=True):
    """A recognized file.

    Attributes:
        sha256: Of the file as it lies, packed or not.
        document: Of JSON.
        notices: From reading `log`.
        benchmark: One of those in the file.
        process: Files of one name and process are of one engine.
        suffix: What the run's name has behind the file's, where a log holds several.
    """

    path: Path
    kind: ArtifactKind
    sha256: str
    size_bytes: int
    document: Document | None = None
    log: TrtexecLog | None = None
    benchmark: BenchmarkResult | None = None
    notices: tuple[Notice, ...] = ()
    process: int | None = None
    suffix: str = ""


class Group(Record, frozen=True, kw_only=True):
    """The files of one engine, and the name they share."""

    name: str
    items: tuple[Item, ...]


def stem_of(path: Path) -> str:
    """Return a file's name without the words that say its role; the folder's if nothing is left.

    >>> stem_of(Path("out/mobilenet.qat.onnx.engine.profile.json"))
    'mobilenet.qat'
    >>> stem_of(Path("yolo_int8/times.json"))
    'yolo_int8'
    """
    name = plain_path(path).name
    while name:
        last = _SEPARATOR.split(name)[-1]
        if last and last.lower() not in _ROLES:
            return name
        name = name[: len(name) - len(last)].rstrip("._- \t")
    return path.parent.name or path.name


def group_items(items: Sequence[Item]) -> tuple[Group, ...]:
    """Return the files as one group for each engine.

    By folder and stem; then a file that a log's own command line exported joins that log. Profiles
    of operators stay on their own, and of two files of one kind in a group the second does too.
    A comparison of outputs joins every engine in its folder.
    """
    groups: dict[_Key, list[Item]] = defaultdict(list)
    alone = [item for item in items if item.kind in OPERATOR_KINDS]
    for item in items:
        if item.kind not in _APART:
            groups[(item.path.parent, stem_of(item.path), item.process)].append(item)
    _join_exports(groups)
    engines = []
    for (_, stem, _), members in groups.items():
        single, extra = _one_of_each(members)
        if single:
            suffix = next((item.suffix for item in single if item.suffix), "")
            engines.append(Group(name=f"{stem}{suffix}", items=tuple(single)))
        engines += [Group(name=plain_path(item.path).name, items=(item,)) for item in extra]
    engines += [Group(name=f"{stem_of(item.path)}{item.suffix}", items=(item,)) for item in alone]
    engines += [Group(name=item.benchmark.name, items=(item,)) for item in items if item.benchmark]
    return _with_differences(
        engines, [item for item in items if item.kind is ArtifactKind.OUTPUT_DIFF]
    )


def _with_differences(groups: Sequence[Group], differences: Sequence[Item]) -> tuple[Group, ...]:
    """Return the groups with the comparisons of outputs in their folders; others stay alone."""
    joined = []
    for group in groups:
        folders = {item.path.parent for item in group.items}
        own = tuple(difference for difference in differences if difference.path.parent in folders)
        joined.append(Group(name=group.name, items=(*group.items, *own)))
    folders = {item.path.parent for group in groups for item in group.items}
    left = [difference for difference in differences if difference.path.parent not in folders]
    return (*joined, *(Group(name=one.path.name, items=(one,)) for one in left))


def _join_exports(groups: dict[_Key, list[Item]]) -> None:
    by_place = {
        (member.path.parent, plain_path(member.path).name, key[-1]): key
        for key, members in groups.items()
        for member in members
    }
    for key in list(groups):
        for log in [one for one in groups[key] if one.log is not None]:
            for kind, name in exported_names(log):
                places = ((log.path.parent, name, process) for process in (log.process, None))
                home = next((by_place[place] for place in places if place in by_place), None)
                if home is None or home == key or any(one.kind is kind for one in groups[key]):
                    continue
                moved = [
                    one
                    for one in groups[home]
                    if plain_path(one.path).name == name and one.kind is kind
                ]
                groups[key] += moved
                groups[home] = [one for one in groups[home] if one not in moved]
    for key in [key for key, members in groups.items() if not members]:
        del groups[key]


def exported_names(item: Item) -> Iterable[tuple[ArtifactKind, str]]:
    """Yield kind and file name of what a log's command line exported."""
    command = (item.log.report.command if item.log else None) or ""
    for flag, raw in _EXPORT.findall(command):
        path = raw.strip("\"'")
        name = PureWindowsPath(path).name if "\\" in path else PurePosixPath(path).name
        if name:
            yield _EXPORTS[flag], name


def _one_of_each(members: Iterable[Item]) -> tuple[list[Item], list[Item]]:
    seen: set[ArtifactKind] = set()
    kept: list[Item] = []
    extra: list[Item] = []
    for member in members:
        (extra if member.kind in _SINGLE and member.kind in seen else kept).append(member)
        seen.add(member.kind)
    return kept, extra
