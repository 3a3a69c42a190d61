"""What a file in an archive is."""

from __future__ import annotations

from pathlib import PurePosixPath

from enginescope.formats.importing.recognise import ArtifactKind, may_be_known, recognise
from enginescope.formats.plan.engine_file import is_engine_file

#: Where the folders of stored runs are.
RUNS = "runs"
RUN_DOCUMENT = "run.json"
#: Beyond this no text is looked at as a whole.
MOST_TEXT_BYTES = 512 << 20
#: What trex's EngineArchive writes beside the engine.
_OF_TREX = {
    "build.txt": "build_log",
    "build_cfg.json": "trex_build_configuration",
    "plan_cfg.json": "trex_engine_configuration",
}
_BY_SUFFIX = {".cache": "timing_cache", ".onnx": "model", ".tea": "archive"}
#: Kinds that no reading verb can read by itself.
OPAQUE = frozenset({"engine", "timing_cache", "model", "archive"})


def kind_by_name(name: str, head: bytes) -> str | None:
    """Return what a file is by its name and how it begins; ``None`` if its content must tell.

    Args:
        name: Its path in the archive.
        head: At most its first `HEAD_BYTES`.
    """
    path = PurePosixPath(name)
    if path.name == RUN_DOCUMENT or path.suffix == ".npy" or RUNS in path.parts[:1]:
        return "run"
    if path.name in _OF_TREX:
        return _OF_TREX[path.name]
    suffix = path.suffix.lower()
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if may_be_known(head, path.name):
        return None
    if is_engine_file(head, suffix):
        return "engine"
    return "log" if suffix == ".log" else "other"


def kind_by_content(data: bytes, name: str) -> str:
    """Return what a text is."""
    kind = recognise(data, PurePosixPath(name).name).kind
    return "other" if kind is ArtifactKind.UNKNOWN else kind.value
