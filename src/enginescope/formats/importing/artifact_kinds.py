"""What kind of artifact a file holds, by its content and never by its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from enginescope.core.errors import FormatError, foreign
from enginescope.core.record import Record, replace
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.benchmarks.google_benchmark import google_results, is_google_benchmark
from enginescope.formats.benchmarks.hyperfine import hyperfine_results, is_hyperfine
from enginescope.formats.benchmarks.nvbench import is_nvbench, nvbench_results
from enginescope.formats.containers import documents_of, joined, may_hold_json, texts_within
from enginescope.formats.lenient_json import Document
from enginescope.formats.log_lines import IS_LOG, log_text
from enginescope.formats.onnxruntime.ort_profile import is_ort_profile
from enginescope.formats.plan.plan_json import is_plan
from enginescope.formats.polygraphy.polygraphy_log import IS_POLYGRAPHY_LOG, parse_polygraphy_logs
from enginescope.formats.tensors.answer_files import is_outputs
from enginescope.formats.tensors.output_diff_file import is_output_diff
from enginescope.formats.torch.torch_trace import is_torch_trace
from enginescope.formats.trex.trex_metadata import is_trex_metadata
from enginescope.formats.trtexec.exported_profile import is_layer_latencies, is_profile
from enginescope.formats.trtexec.time_columns import is_times
from enginescope.formats.trtexec.trtexec_log import (
    TrtexecLog,
    is_script_log,
    parse_script_logs,
    parse_trtexec_logs,
)
from enginescope.judge.notice import Notice

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


_JSON_STARTS = ("{", "[", '"')
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
    return may_hold_json(text) or _log_kind(text) is not None


def _recognised(data: bytes, source: str, nested: int) -> tuple[Recognised, ...]:
    head, _ = log_text(data[:HEAD_BYTES], source)
    log = _log_kind(head)
    is_plain_log = log is not None and not head.lstrip().startswith(_JSON_STARTS)
    documents = () if is_plain_log else documents_of(data, source, is_log=log is not None)
    if not documents and log is not None:
        return (Recognised(kind=log, text=data),)
    if not documents:
        return (_unknown(NEITHER),)
    known = _known(documents)
    if not known and len(documents) > 1:
        known = _known([joined(documents)])
    if not known and nested < _MOST_NESTED:
        texts = "\n".join(text for each in documents for text in texts_within(each.value))
        inner = _recognised(texts.encode("utf-8", "replace"), source, nested + 1) if texts else ()
        known = [each for each in inner if each.kind is not ArtifactKind.UNKNOWN]
    return tuple(known) or (_unknown("JSON of no known kind"),)


def _known(documents: Sequence[Document]) -> list[Recognised]:
    known = []
    for document in documents:
        kind = next((kind for kind, fits in _JSON_KINDS if fits(document.value)), None)
        if kind is not None:
            known.append(Recognised(kind=kind, document=document))
    return known


def _log_kind(head: str) -> ArtifactKind | None:
    return next((kind for kind, fits in _LOG_KINDS if fits(head)), None)


def _unknown(reason: str) -> Recognised:
    return Recognised(kind=ArtifactKind.UNKNOWN, reason=reason)
