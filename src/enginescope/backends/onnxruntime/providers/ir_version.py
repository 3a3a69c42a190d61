"""Models of an IR version that this ONNX Runtime does not know, read as one that it does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from enginescope.core.errors import UnsupportedError
from enginescope.judge.notice import Notice

_NEWER = re.compile(r"Unsupported model IR version: (\d+), max supported IR version: (\d+)")
#: Where ONNX Runtime looks for weights beside a model that is passed as bytes.
_FOLDER = "session.model_external_initializers_file_folder_path"
#: Larger models are not copied.
_MOST_BYTES = 1 << 30


def lowered_model(path: str, error: Exception, options: Any) -> tuple[bytes, Notice] | None:
    """Return a model with the newest IR version that the runtime reads; ``None``: not the cause.

    What else a newer version brings, such as new types, the runtime refuses itself.

    Args:
        error: What the runtime said of the model.
        options: Of the session, which is told where weights lie.
    """
    match = _NEWER.search(str(error))
    file = Path(path)
    if match is None or file.stat().st_size > _MOST_BYTES:
        return None
    import onnx

    model = onnx.load(str(file), load_external_data=False)
    stated, newest = int(match[1]), int(match[2])
    model.ir_version = newest
    options.add_session_config_entry(_FOLDER, str(file.parent.resolve()))
    notice = Notice(
        code="I-IR-LOWERED",
        message=f"{file.name} has IR version {stated}; this onnxruntime reads up to {newest}, so "
        f"enginescope loads the model as {newest}",
        evidence={"ir_version": stated, "newest": newest},
        level="info",
    )
    return model.SerializeToString(), notice


def newer_ir(what: str, text: str, version: str) -> UnsupportedError | None:
    """Return what to say of a model whose IR version is too new; ``None``: that is not the cause.

    Args:
        what: What failed.
        text: The runtime's own words.
        version: Of the runtime.
    """
    match = _NEWER.search(text)
    if match is None:
        return None
    return UnsupportedError(
        what,
        why=f"its IR version is {match[1]}; onnxruntime {version} reads up to {match[2]}",
        hint=f"a newer onnxruntime, or save the model with ir_version = {match[2]}",
    )
