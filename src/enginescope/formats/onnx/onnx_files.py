"""The files an ONNX model consists of: itself, and those its weights lie in."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from enginescope.core.digest import sha256_of
from enginescope.core.errors import BackendError
from enginescope.core.optional import require


def load_without_weights(path: str) -> Any:
    """Return a model's proto; weights in files of their own stay there.

    Raises:
        BackendError: It is not an ONNX model, or cannot be read.
    """
    onnx = require("onnx", purpose="reading the model", install="onnx")
    try:  # whatever the name ends in: what runtimes parse is the binary form
        return onnx.load(path, format="protobuf", load_external_data=False)
    except OSError as error:
        raise BackendError(f"{path} cannot be read", why=error.strerror or str(error)) from error
    except Exception as error:  # each protobuf runtime has a DecodeError of its own
        raise BackendError(f"{path} cannot be read", why=f"not an ONNX model ({error})") from error


def external_files(path: str) -> tuple[str, ...]:
    """Return the files beside a model that hold its weights, sorted."""
    model = load_without_weights(path)
    from onnx.external_data_helper import ExternalDataInfo, _get_all_tensors, uses_external_data

    tensors = (tensor for tensor in _get_all_tensors(model) if uses_external_data(tensor))
    return tuple(sorted({ExternalDataInfo(tensor).location for tensor in tensors}))


def digest_of(path: str) -> str:
    """Return a SHA-256 over the model and every file its weights lie in.

    Raises:
        BackendError: It is not an ONNX model, or a file of its weights is missing.
    """
    model = Path(path)
    names = external_files(path)
    digest = hashlib.sha256(sha256_of(model).encode())
    for name in names:
        file = model.parent / name
        if not file.is_file():
            raise BackendError(f"{path}", why=f"its weights file {name} is missing")
        digest.update(name.encode() + b"\0" + sha256_of(file).encode())
    return digest.hexdigest()
