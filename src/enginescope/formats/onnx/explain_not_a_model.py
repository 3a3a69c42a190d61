"""What a file is that was given as a model and is none, where its first bytes say so."""

from __future__ import annotations

from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.core.safe_zip import ZIP_TAGS

#: How a file begins, what it then is, and the next step. No model and no engine begins so.
_BEGINNINGS = (
    ((b"version https://git-lfs",), "it is a pointer of Git LFS to the model", "git lfs pull"),
    ((b"{", b"["), "it is JSON", "of a plan, enginescope explore; else give the model"),
    ((b"<",), "it is a page or XML, as a download leaves that failed", "fetch the model again"),
    (ZIP_TAGS, "it is a zip file, as PyTorch saves models", "export it: torch.onnx.export"),
)
_HEAD_BYTES = 64


def check_model_file(path: Path) -> None:
    """Raise unless a file may be a model.

    Raises:
        UsageError: It begins as something else does.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    for beginnings, why, hint in _BEGINNINGS:
        if head.startswith(beginnings):
            raise UsageError(f"{path} is no model", why=why, hint=hint)
