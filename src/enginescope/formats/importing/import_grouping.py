"""Which files belong to one engine.

What kind of artifact a file is, by its content and never by its name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.packed_files import plain_path
from enginescope.core.record import Record
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.benchmarks.google_benchmark import google_results, is_google_benchmark
from enginescope.formats.benchmarks.hyperfine import hyperfine_results, is_hyperfine
from enginescope.formats.benchmarks.nvbench import is_nvbench, nvbench_results
from enginescope.formats.lenient_json import Document, read_json
from enginescope.formats.log_facts import IS_LOG, log_text
from enginescope.formats.onnxruntime.ort_profile import is_ort_profile
from enginescope.formats.plan.plan_json import is_plan
from enginescope.formats.polygraphy.polygraphy_log import IS_POLYGRAPHY_LOG, parse_polygraphy_logs
from enginescope.formats.tensors.answer_files import is_outputs
from enginescope.formats.tensors.output_diff_file import is_output_diff
from enginescope.formats.torch.torch_trace import is_torch_trace
from enginescope.formats.trex.trex_metadata import is_trex_metadata
from enginescope.formats.trtexec.exported_profile import is_profile
from enginescope.formats.trtexec.layer_latencies import is_layer_latencies
from enginescope.formats.trtexec.script_log import is_script_log, parse_script_logs
from enginescope.formats.trtexec.time_columns import is_times
from enginescope.formats.trtexec.trtexec_log import TrtexecLog, parse_trtexec_logs
from enginescope.records.notice import Notice

#: So much of a file is looked at before it is read as a whole.
HEAD_BYTES = 1 << 20


class ArtifactKind(Enum):
    """Kinds of files that become part of a run; the value is the stored artifact's kind."""

    PLAN = "plan"
    TIMES = "trtexec_times"
    PROFILE = "trtexec_profile"
    LAYER_LATENCIES = "layer_latencies"
    TRTEXEC_LOG = "trtexec_log"
    SCRIPT_LOG = "tensorrt_log"
    POLYGRAPHY_LOG = "polygraphy_log"
    TREX_METADATA = "trex_metadata"
    ORT_PROFILE = "ort_profile"
    TORCH_TRACE = "torch_trace"
    OUTPUTS = "trtexec_outputs"
    OUTPUT_DIFF = "output_diff"
    HYPERFINE = "hyperfine"
    GOOGLE_BENCHMARK = "google_benchmark"
    NVBENCH = "nvbench"
    UNKNOWN = "unknown"


# In this order: lists of a metadata file or a benchmark would pass for times.
_JSON_KINDS: tuple[tuple[ArtifactKind, Callable[[Any], bool]], ...] = (
    (ArtifactKind.HYPERFINE, is_hyperfine),
    (ArtifactKind.NVBENCH, is_nvbench),
    (ArtifactKind.GOOGLE_BENCHMARK, is_google_benchmark),
    (ArtifactKind.PLAN, is_plan),
    (ArtifactKind.TREX_METADATA, is_trex_metadata),
    (ArtifactKind.ORT_PROFILE, is_ort_profile),
    (ArtifactKind.TORCH_TRACE, is_torch_trace),
    (ArtifactKind.PROFILE, is_profile),
    (ArtifactKind.TIMES, is_times),
    (ArtifactKind.OUTPUTS, is_outputs),
    (ArtifactKind.OUTPUT_DIFF, is_output_diff),
    (ArtifactKind.LAYER_LATENCIES, is_layer_latencies),
)
_LOG_KINDS: tuple[tuple[ArtifactKind, Callable[[str], Any]], ...] = (
    (ArtifactKind.TRTEXEC_LOG, IS_LOG.search),
    (ArtifactKind.POLYGRAPHY_LOG, IS_POLYGRAPHY_LOG.search),
    (ArtifactKind.SCRIPT_LOG, is_script_log),
)
#: Kind -> reader of a log; it returns the facts of each process with their notices.
LOG_READERS: dict[
    ArtifactKind, Callable[[bytes, str], tuple[tuple[TrtexecLog, tuple[Notice, ...]], ...]]
] = {
    ArtifactKind.TRTEXEC_LOG: parse_trtexec_logs,
    ArtifactKind.POLYGRAPHY_LOG: parse_polygraphy_logs,
    ArtifactKind.SCRIPT_LOG: parse_script_logs,
}
#: Kind -> reader of a file of benchmarks, each of which is a run.
BENCHMARK_READERS: dict[ArtifactKind, Callable[[Document, Path], tuple[BenchmarkResult, ...]]] = {
    ArtifactKind.HYPERFINE: hyperfine_results,
    ArtifactKind.GOOGLE_BENCHMARK: google_results,
    ArtifactKind.NVBENCH: nvbench_results,
}
#: Why a file is not known.
NEITHER = "neither JSON nor a log of trtexec, TensorRT or Polygraphy"


class Recognised(Record, frozen=True, kw_only=True):
    """A file's kind and, for JSON, its values.

    Attributes:
        reason: Why the kind is not known.
    """

    kind: ArtifactKind
    document: Document | None = None
    reason: str | None = None


def recognise(data: bytes, source: str) -> Recognised:
    """Return what kind of artifact `data` is; never raises.

    Args:
        data: The whole file.
        source: The file, for messages.
    """
    head, _ = log_text(data[:HEAD_BYTES], source)
    log = _log_kind(head)
    if log is not None:
        return Recognised(kind=log)
    if not head.lstrip().startswith(("{", "[")):
        return _unknown(NEITHER)
    try:
        document = read_json(data, source)
    except FormatError as error:
        return _unknown(f"not readable as JSON, and not a known log: {error.why}")
    for kind, fits in _JSON_KINDS:
        if fits(document.value):
            return Recognised(kind=kind, document=document)
    return _unknown("JSON of no known kind")


def may_be_known(head: bytes, source: str) -> bool:
    """Whether a file that begins with `head` is worth reading as a whole."""
    text, _ = log_text(head, source)
    return text.lstrip().startswith(("{", "[")) or _log_kind(text) is not None


def _log_kind(head: str) -> ArtifactKind | None:
    return next((kind for kind, fits in _LOG_KINDS if fits(head)), None)


def _unknown(reason: str) -> Recognised:
    return Recognised(kind=ArtifactKind.UNKNOWN, reason=reason)


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
    engines += [Group(name=stem_of(item.path), items=(item,)) for item in alone]
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
        (member.path.parent, plain_path(member.path).name): key
        for key, members in groups.items()
        for member in members
    }
    for key in list(groups):
        for log in [one for one in groups[key] if one.log is not None]:
            for kind, name in exported_names(log):
                home = by_place.get((log.path.parent, name))
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
