"""Which files belong to one engine."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from enginescope.core.record import Record
from enginescope.formats.importing.recognise import ArtifactKind
from enginescope.formats.lenient_json import Document
from enginescope.formats.trtexec.trtexec_log import TrtexecLog
from enginescope.records.notice import Notice

# Words in a file's name that say what part of an engine's story it holds.
_ROLES = frozenset(
    {
        *("graph", "plan", "layers", "layer", "layerinfo", "engineinfo", "info", "engine"),
        *("profile", "profiling", "timing", "timings", "times", "time", "metadata", "perf"),
        *("build", "run", "bench", "inference", "export", "log", "stdout", "stderr", "output"),
        "outputs",
        *("trtexec", "json", "txt", "out", "err", "onnx"),
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
    {ArtifactKind.PLAN, ArtifactKind.TIMES, ArtifactKind.PROFILE, ArtifactKind.OUTPUTS}
)
#: Of more than one engine, or of none: not grouped by name.
_APART = frozenset({ArtifactKind.ORT_PROFILE, ArtifactKind.OUTPUT_DIFF})


class Item(Record, frozen=True, kw_only=True):
    """A recognised file.

    Attributes:
        sha256: Of its content.
        document: Of JSON.
        notices: From reading `log`.
    """

    path: Path
    kind: ArtifactKind
    sha256: str
    size_bytes: int
    document: Document | None = None
    log: TrtexecLog | None = None
    notices: tuple[Notice, ...] = ()


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
    name = path.name
    while name:
        last = _SEPARATOR.split(name)[-1]
        if last and last.lower() not in _ROLES:
            return name
        name = name[: len(name) - len(last)].rstrip("._- \t")
    return path.parent.name or path.name


def group_items(items: Sequence[Item]) -> tuple[Group, ...]:
    """Return the files as one group for each engine.

    By folder and stem; then a file that a log's own command line exported joins that log. Profiles
    of ONNX Runtime stay on their own, and of two files of one kind in a group the second does too.
    A comparison of answers joins every engine in its folder.
    """
    groups: dict[tuple[Path, str], list[Item]] = defaultdict(list)
    alone = [item for item in items if item.kind is ArtifactKind.ORT_PROFILE]
    for item in items:
        if item.kind not in _APART:
            groups[(item.path.parent, stem_of(item.path))].append(item)
    _join_exports(groups)
    found = []
    for (_, stem), members in groups.items():
        kept, extra = _one_of_each(members)
        if kept:
            found.append(Group(name=stem, items=tuple(kept)))
        found += [Group(name=one.path.name, items=(one,)) for one in extra]
    found += [Group(name=stem_of(one.path), items=(one,)) for one in alone]
    return _with_differences(
        found, [item for item in items if item.kind is ArtifactKind.OUTPUT_DIFF]
    )


def _with_differences(groups: Sequence[Group], differences: Sequence[Item]) -> tuple[Group, ...]:
    """Return the groups with the comparisons of answers in their folders; others stay alone."""
    joined = []
    for group in groups:
        folders = {item.path.parent for item in group.items}
        own = tuple(difference for difference in differences if difference.path.parent in folders)
        joined.append(Group(name=group.name, items=(*group.items, *own)))
    folders = {item.path.parent for group in groups for item in group.items}
    left = [difference for difference in differences if difference.path.parent not in folders]
    return (*joined, *(Group(name=one.path.name, items=(one,)) for one in left))


def _join_exports(groups: dict[tuple[Path, str], list[Item]]) -> None:
    by_place = {
        (member.path.parent, member.path.name): key
        for key, members in groups.items()
        for member in members
    }
    for key in list(groups):
        for log in [one for one in groups[key] if one.log is not None]:
            for kind, name in exported_names(log):
                home = by_place.get((log.path.parent, name))
                if home is None or home == key or any(one.kind is kind for one in groups[key]):
                    continue
                moved = [one for one in groups[home] if one.path.name == name and one.kind is kind]
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
