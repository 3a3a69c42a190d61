"""A model in mixed precision by ModelOpt's AutoCast, in ModelOpt's own environment.

ModelOpt pins an ONNX Runtime of its own, so it never shares one with what is measured: the
interpreter of its environment is named, and started as a child.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options
from enginescope.backends.onnxruntime.convert.model_cache import (
    MadeModel,
    kept,
    key_of,
    lacking_nodes,
    lacking_operators,
)
from enginescope.core.errors import BackendError, MissingDependencyError
from enginescope.formats.onnx.onnx_precision import digest_of

TOOL = "modelopt.onnx.autocast"
_ASK_VERSION = "import importlib.metadata as m; print(m.version('nvidia-modelopt'))"
_VERSION_TIMEOUT_S = 120
_TIMEOUT_S = 3_600
_TAIL_LINES = 6


def autocast_model(model: Path, folder: Path, python: str, options: Fp16Options) -> MadeModel:
    """Return `model` in mixed FP16 and FP32 as AutoCast chooses: kept, or made now.

    Args:
        folder: Where converted models are kept.
        python: Interpreter of an environment with ``nvidia-modelopt[onnx]``.
        options: What stays in FP32 whatever AutoCast would choose.
    """
    version = _version(python)
    made = MadeModel(
        path="",
        kind="autocast",
        tool=TOOL,
        key=key_of(digest_of(str(model)), TOOL, version, options),
        versions={"nvidia-modelopt": version},
        options=options.as_text(),
        notices=(
            *lacking_operators(model, options.op_block_list),
            *lacking_nodes(model, options.node_block_list),
        ),
    )
    name = f"{model.stem}.autocast.onnx"
    return kept(folder, made, name, lambda target: _cast(model, target, python, options))


def _version(python: str) -> str:
    what = f"AutoCast behind {python}"
    try:
        ended = _run([python, "-c", _ASK_VERSION], _VERSION_TIMEOUT_S)
    except OSError as error:
        why = error.strerror or str(error)
        raise MissingDependencyError(what, why=why, hint="autocast_python=…/bin/python") from error
    if ended.returncode != 0:
        raise MissingDependencyError(
            what,
            why="nvidia-modelopt is not installed there",
            hint=f"{python} -m pip install 'nvidia-modelopt[onnx]'",
        )
    return ended.stdout.strip()


def _cast(model: Path, target: Path, python: str, options: Fp16Options) -> dict[str, int]:
    command = [python, "-m", TOOL, "--onnx_path", str(model), "--output_path", str(target)]
    command += ["--low_precision_type", "fp16"]
    command += ["--keep_io_types"] if options.keep_io_types else []
    command += ["--op_types_to_exclude", *options.op_block_list] if options.op_block_list else []
    command += ["--nodes_to_exclude", *options.node_block_list] if options.node_block_list else []
    ended = _run(command, _TIMEOUT_S)
    if ended.returncode != 0 or not target.is_file():
        said = [one for one in (ended.stderr or ended.stdout).splitlines() if one.strip()]
        raise BackendError(
            f"AutoCast failed on {model.name}",
            why="; ".join(said[-_TAIL_LINES:]) or f"it ended with status {ended.returncode}",
            hint="fp16_by=converter",
        )
    return {}


def _run(command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BackendError(
            f"{' '.join(command[:3])} …", why=f"did not end within {timeout_s:g} s"
        ) from error
