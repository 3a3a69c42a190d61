"""What a file is that was given as a plan and is none."""

from __future__ import annotations

from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.formats.importing.recognise import ArtifactKind, recognise

_KINDS = {
    ArtifactKind.PROFILE: ("layer times", "give the plan, and these with --profile"),
    ArtifactKind.TIMES: ("times of requests", "give the plan; enginescope import reads these"),
    ArtifactKind.TREX_METADATA: ("trex's metadata", "give the plan, and this with --metadata"),
    ArtifactKind.ORT_PROFILE: ("a profile of ONNX Runtime", "enginescope import reads it"),
    ArtifactKind.TRTEXEC_LOG: (
        "a log of trtexec",
        "give the plan, and this with --build-log; enginescope import reads it too",
    ),
}


def mistaken_plan(path: Path, data: bytes) -> UsageError | None:
    """Return what to say of a file that holds no plan; ``None`` if its kind is not known.

    Args:
        data: The whole file.
    """
    if not data:
        return UsageError(f"{path} is empty", hint="give what trtexec --exportLayerInfo writes")
    if path.suffix.lower() == ".onnx":
        return UsageError(
            f"{path} is a model, no plan",
            hint="enginescope build makes an engine and its plan; beside a plan: --onnx",
        )
    known = _KINDS.get(recognise(data, path.name).kind)
    if known is None:
        return None
    what, hint = known
    return UsageError(f"{path} is no plan", why=f"it holds {what}", hint=hint)
