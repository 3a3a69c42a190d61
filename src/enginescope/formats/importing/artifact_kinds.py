"""Find what kind of artifact a file holds, by its content, and which files are of one engine.

JSON values one after another, with or without lines between them; JSON in Markdown and among other
lines; JSON inside JSON strings; and the texts in JSON, such as the outputs of a notebook or the
lines of a container's log, which may hold a log or JSON again.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import pairwise
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import msgspec

from enginescope.core.errors import FormatError, foreign
from enginescope.core.packed_files import plain_path
from enginescope.core.record import Record, replace
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.benchmarks.google_benchmark import google_results, is_google_benchmark
from enginescope.formats.benchmarks.hyperfine import hyperfine_results, is_hyperfine
from enginescope.formats.benchmarks.nvbench import is_nvbench, nvbench_results
from enginescope.formats.lenient_json import Document, decode_text, end_of_value, read_json
from enginescope.formats.log_lines import IS_LOG, log_text
from enginescope.formats.onnxruntime.ort_profile import is_ort_profile
from enginescope.formats.plan.plan_json import is_plan
from enginescope.formats.polygraphy.polygraphy_log import IS_POLYGRAPHY_LOG, parse_polygraphy_logs
from enginescope.formats.tensors.output_diff_file import is_output_diff
from enginescope.formats.tensors.tensor_files import is_outputs
from enginescope.formats.torch.torch_trace import is_torch_trace
from enginescope.formats.trex.trex_metadata import is_trex_metadata
from enginescope.formats.trtexec import trtexec_log
from enginescope.formats.trtexec.exported_profile import is_layer_latencies, is_profile
from enginescope.formats.trtexec.time_columns import is_times
from enginescope.judge.notice import Notices

#: Where a value may begin: at the start of a line, or right behind the value before.
_START = re.compile(r"(?:^|(?<=[\]}]))[ \t,]*(?=[{\[])", re.MULTILINE)
#: The same, where the line goes on as JSON does: most texts have no such line.
_LIKELY = re.compile(r"^[ \t]*(?:\{\s*[\"}]|\[\s*[\[{\"\d-])", re.MULTILINE)
_STARTS = ("{", "[", '"')
#: A log's line, not a list.
_LOG_LINE = re.compile(r"\[(?:\d\d/\d\d/\d{4}-|TRT\]|[A-Z]\] )")


def documents_of(data: bytes, source: str, *, is_log: bool) -> tuple[Document, ...]:
    """Return the JSON values of a file, in its order; none if it is a log or another text.

    Args:
        is_log: Whether the text is a known log, so that JSON among its lines is a part of it.
    """
    if data.lstrip()[:1] in (b"{", b"[", b'"'):
        try:
            return (Document(source=source, value=msgspec.json.decode(data)),)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    text, notices = decode_text(data, source)
    begin = text[:4096].lstrip()
    is_json = begin.startswith(_STARTS) and not _LOG_LINE.match(begin)
    if not is_json and (is_log or _LIKELY.search(text) is None):
        return ()
    spans = tuple(_spans(text))
    gaps = pairwise(((0, 0), *spans, (len(text), 0)))
    if is_json and is_log and any(text[end:at].strip(" \t\r\n,") for (_, end), (at, _) in gaps):
        return ()
    if is_json and len(spans) < 2:
        return (read_json(data, source),)
    documents = tuple(_decoded(text, spans, source, is_lenient=is_json))
    return (
        tuple(replace(one, notices=(*notices, *one.notices)) for one in documents[:1])
        + (documents[1:])
    )


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each value; the last may be cut off."""
    at = 0
    while match := _START.search(text, at):
        end = end_of_value(text, match.end())
        yield match.end(), len(text) if end is None else end
        at = len(text) if end is None else max(end, match.end() + 1)


def _decoded(
    text: str, spans: Sequence[tuple[int, int]], source: str, *, is_lenient: bool
) -> Iterator[Document]:
    """Yield the values that can be read; among other lines only objects and lists of these."""
    for start, end in spans:
        piece = text[start:end].encode("utf-8", "replace")
        try:
            if is_lenient:
                yield read_json(piece, source)
                continue
            value = msgspec.json.decode(piece)
        except (FormatError, msgspec.DecodeError, RecursionError):
            continue
        if isinstance(value, dict) or (value and isinstance(value[0], dict)):
            yield Document(source=source, value=value)


def texts_within(value: Any) -> Iterator[str]:
    """Yield the strings in a value; a list of strings is one text, as in notebooks."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, list) and part and all(isinstance(line, str) for line in part):
            yield "".join(part) if part[0].endswith("\n") else "\n".join(part)
        elif isinstance(part, (list, dict)):
            children = list(part.values()) if isinstance(part, dict) else part
            pending += reversed(children)


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
    OTHER_TOOL = "other_tool"
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
    (ArtifactKind.SCRIPT_LOG, trtexec_log.is_script_log),
)
#: Kind -> reader of a log; it returns the facts of each process with their notices.
LOG_READERS: dict[
    ArtifactKind, Callable[[bytes, str], tuple[tuple[trtexec_log.TrtexecLog, Notices], ...]]
] = {
    ArtifactKind.TRTEXEC_LOG: trtexec_log.parse_trtexec_logs,
    ArtifactKind.POLYGRAPHY_LOG: parse_polygraphy_logs,
    ArtifactKind.SCRIPT_LOG: trtexec_log.parse_script_logs,
}
#: Kind -> reader of a file of benchmarks, each of which is a run.
BENCHMARK_READERS: dict[ArtifactKind, Callable[[Document, Path], tuple[BenchmarkResult, ...]]] = {
    ArtifactKind.HYPERFINE: hyperfine_results,
    ArtifactKind.GOOGLE_BENCHMARK: google_results,
    ArtifactKind.NVBENCH: nvbench_results,
}
#: Why a file is not known.
NEITHER = "neither JSON nor a log of trtexec, TensorRT or Polygraphy"


#: JSON inside strings of JSON is looked for so many levels down.
_MOST_NESTED = 3


class Recognised(Record, frozen=True, kw_only=True):
    """A document in a file: its kind, and its values or its text.

    Attributes:
        document: Of JSON.
        text: Of a log, the file's own bytes where nothing is around it.
        number: From 1, where the file has several of the kind.
        reason: Why the kind is not known.
    """

    kind: ArtifactKind
    document: Document | None = None
    text: bytes = b""
    number: int | None = None
    reason: str | None = None


def recognise(data: bytes, source: str) -> tuple[Recognised, ...]:
    """Return the documents in a file that a reader knows, in its order; never raises.

    Where there are none, one of unknown kind says why.
    """
    try:
        with foreign(source, "JSON or a log"):
            documents = _recognised(data, source, nested=0)
    except FormatError as error:
        return (_unknown(f"not readable as JSON, and not a known log: {error.why}"),)
    counts = Counter(document.kind for document in documents)
    seen: Counter[ArtifactKind] = Counter()
    numbered = []
    for document in documents:
        seen[document.kind] += 1
        number = seen[document.kind] if counts[document.kind] > 1 else None
        numbered.append(replace(document, number=number))
    return tuple(numbered)


def kind_of(data: bytes, source: str) -> ArtifactKind:
    """Return the kind of the first document in a file that a reader knows."""
    return recognise(data, source)[0].kind


def may_be_known(head: bytes, source: str) -> bool:
    """Whether a file that begins with `head` is worth reading as a whole."""
    text, _ = log_text(head, source)
    may_hold_json = text.lstrip().startswith(_STARTS) or _LIKELY.search(text) is not None
    return may_hold_json or _log_kind(text) is not None


def _recognised(data: bytes, source: str, nested: int) -> tuple[Recognised, ...]:
    head, _ = log_text(data[:HEAD_BYTES], source)
    log = _log_kind(head)
    is_plain_log = log is not None and not head.lstrip().startswith(_STARTS)
    documents = () if is_plain_log else documents_of(data, source, is_log=log is not None)
    if not documents and log is not None:
        return (Recognised(kind=log, text=data),)
    if not documents:
        return (_unknown(NEITHER),)
    known = _known(documents)
    if not known and len(documents) > 1:  # one list: an object a line, or a layer each
        values = [document.value for document in documents]
        notices = tuple(notice for document in documents for notice in document.notices)
        known = _known([Document(source=documents[0].source, value=values, notices=notices)])
    if not known and nested < _MOST_NESTED:
        texts = "\n".join(text for each in documents for text in texts_within(each.value))
        inner = _recognised(texts.encode("utf-8", "replace"), source, nested + 1) if texts else ()
        known = [each for each in inner if each.kind is not ArtifactKind.UNKNOWN]
    return tuple(known) or (_unknown("JSON of no known kind"),)


def _known(documents: Sequence[Document]) -> list[Recognised]:
    return [
        Recognised(kind=kind, document=document)
        for document in documents
        if (kind := next((kind for kind, fits in _JSON_KINDS if fits(document.value)), None))
    ]


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
#: Each result in such a file is a run.
BENCHMARK_KINDS = frozenset({ArtifactKind.OTHER_TOOL, *BENCHMARK_READERS})
#: Of more than one engine, or of none: not grouped by name.
_APART = OPERATOR_KINDS | BENCHMARK_KINDS | {ArtifactKind.OUTPUT_DIFF}


#: Folder, stem, process.
_Key = tuple[Path, str, int | None]


class Item(Record, frozen=True, kw_only=True):
    """A recognized file.

    Attributes:
        sha256: Of the file as it lies, packed or not.
        document: Of JSON.
        notices: From reading `log`.
        benchmark: One of those in the file.
        reader: Name of the plug-in that read it.
        process: Files of one name and process are of one engine.
        suffix: What the run's name has behind the file's, where a log holds several.
    """

    path: Path
    kind: ArtifactKind
    sha256: str
    size_bytes: int
    document: Document | None = None
    log: trtexec_log.TrtexecLog | None = None
    benchmark: BenchmarkResult | None = None
    reader: str | None = None
    notices: Notices = ()
    process: int | None = None
    suffix: str = ""

    @property
    def kind_name(self) -> str:
        """The reader's name, or the kind."""
        return self.reader or self.kind.value


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
    differences = [item for item in items if item.kind is ArtifactKind.OUTPUT_DIFF]
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
    taken: set[Path] = set()
    for at, group in enumerate(engines):
        folders = {item.path.parent for item in group.items}
        own = (one for one in differences if one.path.parent in folders)
        engines[at] = replace(group, items=(*group.items, *own))
        taken |= folders
    left = (one for one in differences if one.path.parent not in taken)
    return (*engines, *(Group(name=one.path.name, items=(one,)) for one in left))


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
