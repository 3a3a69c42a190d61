"""What kind of artefact a file is, by its content and never by its name."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.formats.foreign_text import decode_text
from enginescope.formats.lenient_json import Document, read_json
from enginescope.formats.onnxruntime.ort_profile import is_ort_profile
from enginescope.formats.plan.plan_json import is_plan
from enginescope.formats.tensors.exported_outputs import is_outputs
from enginescope.formats.tensors.output_diff_file import is_output_diff
from enginescope.formats.trex.trex_metadata import is_trex_metadata
from enginescope.formats.trtexec.exported_profile import is_profile
from enginescope.formats.trtexec.log_lines import IS_LOG
from enginescope.formats.trtexec.time_columns import is_times

#: So much of a file is looked at before it is read as a whole.
HEAD_BYTES = 1 << 20


class ArtifactKind(Enum):
    """Kinds of files that become part of a run; the value is the stored artefact's kind."""

    PLAN = "plan"
    TIMES = "trtexec_times"
    PROFILE = "trtexec_profile"
    TRTEXEC_LOG = "trtexec_log"
    TREX_METADATA = "trex_metadata"
    ORT_PROFILE = "ort_profile"
    OUTPUTS = "trtexec_outputs"
    OUTPUT_DIFF = "output_diff"
    UNKNOWN = "unknown"


# In this order: a metadata file's lists would pass for times.
_JSON_KINDS: tuple[tuple[ArtifactKind, Callable[[Any], bool]], ...] = (
    (ArtifactKind.PLAN, is_plan),
    (ArtifactKind.TREX_METADATA, is_trex_metadata),
    (ArtifactKind.ORT_PROFILE, is_ort_profile),
    (ArtifactKind.PROFILE, is_profile),
    (ArtifactKind.TIMES, is_times),
    (ArtifactKind.OUTPUTS, is_outputs),
    (ArtifactKind.OUTPUT_DIFF, is_output_diff),
)


class Recognised(Record, frozen=True, kw_only=True):
    """A file's kind and, for JSON, its values.

    Attributes:
        reason: Why the kind is not known.
    """

    kind: ArtifactKind
    document: Document | None = None
    reason: str | None = None


def recognise(data: bytes, source: str) -> Recognised:
    """Return what kind of artefact `data` is; never raises.

    Args:
        data: The whole file.
        source: The file, for messages.
    """
    head, _ = decode_text(data[:HEAD_BYTES], source)
    if IS_LOG.search(head):
        return Recognised(kind=ArtifactKind.TRTEXEC_LOG)
    if not head.lstrip().startswith(("{", "[")):
        return _unknown("neither JSON nor a log of trtexec")
    try:
        document = read_json(data, source)
    except FormatError as error:
        return _unknown(f"not readable as JSON: {error.why}")
    for kind, fits in _JSON_KINDS:
        if fits(document.value):
            return Recognised(kind=kind, document=document)
    return _unknown("JSON of no known kind")


def may_be_known(head: bytes, source: str) -> bool:
    """Whether a file that begins with `head` is worth reading as a whole."""
    text, _ = decode_text(head, source)
    return text.lstrip().startswith(("{", "[")) or IS_LOG.search(text) is not None


def _unknown(reason: str) -> Recognised:
    return Recognised(kind=ArtifactKind.UNKNOWN, reason=reason)
