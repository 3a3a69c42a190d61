"""What an ONNX model consists of: its nodes, and the files its weights lie in."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from enginescope.core.digest import sha256_of
from enginescope.core.errors import BackendError
from enginescope.core.optional import require


def node_at(path: str, index: int) -> tuple[str | None, str | None]:
    """Return name and operator of a model's node; ``None`` for both if it cannot be told."""
    try:
        nodes = _load(path).graph.node
    except BackendError:
        return None, None
    if not 0 <= index < len(nodes):
        return None, None
    node = nodes[index]
    domain = f"{node.domain}::" if node.domain else ""
    return node.name or None, f"{domain}{node.op_type}"


def digest_of(path: str) -> str:
    """Return a SHA-256 over the model and every file its weights lie in.

    Raises
    ------
    BackendError
        It is not an ONNX model, or a file of its weights is missing.
    """
    model = Path(path)
    digest = hashlib.sha256(sha256_of(model).encode())
    for name in external_files(path):
        file = model.parent / name
        if not file.is_file():
            raise BackendError(f"{path}", why=f"its weights file {name} is missing")
        digest.update(name.encode() + b"\0" + sha256_of(file).encode())
    return digest.hexdigest()


def external_files(path: str) -> tuple[str, ...]:
    """Return the files beside a model that hold its weights, sorted."""
    require("onnx", purpose="reading the model", install="onnx")
    from onnx.external_data_helper import ExternalDataInfo, _get_all_tensors, uses_external_data

    tensors = (one for one in _get_all_tensors(_load(path)) if uses_external_data(one))
    return tuple(sorted({ExternalDataInfo(one).location for one in tensors}))


def _load(path: str) -> Any:
    require("onnx", purpose="reading the model", install="onnx")
    import onnx
    from google.protobuf.message import DecodeError

    try:  # whatever the name ends in: what TensorRT parses is the binary form
        return onnx.load(path, format="protobuf", load_external_data=False)
    except (DecodeError, OSError) as error:
        raise BackendError(f"{path} cannot be read", why=f"not an ONNX model ({error})") from error
