"""Models in mixed precision: by ModelOpt's AutoCast, or with some nodes in INT8.

ModelOpt pins an ONNX Runtime of its own, so it never shares one with what is measured: the
interpreter of its environment is named, and started as a child.
"""

import logging
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options, name_nodes
from enginescope.backends.onnxruntime.convert.model_files import (
    MadeModel,
    kept,
    key_of,
    lacking_nodes,
    lacking_operators,
    read_model,
    write_model,
)
from enginescope.core.errors import (
    BackendError,
    EnginescopeError,
    MissingDependencyError,
    innermost_reason,
    os_errors_as,
)
from enginescope.core.optional import require
from enginescope.formats.onnx.onnx_precision import digest_of, graphs_of, load_without_weights

AUTOCAST_TOOL = "modelopt.onnx.autocast"
_ASK_VERSION = "import importlib.metadata as m; print(m.version('nvidia-modelopt'))"
_VERSION_TIMEOUT_S = 120
_TIMEOUT_S = 3_600


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
        tool=AUTOCAST_TOOL,
        key=key_of(digest_of(str(model)), AUTOCAST_TOOL, version, options),
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
    with os_errors_as(MissingDependencyError, what, hint="autocast_python=…/bin/python"):
        ended = _run([python, "-c", _ASK_VERSION], _VERSION_TIMEOUT_S)
    if ended.returncode != 0:
        hint = f"{python} -m pip install 'nvidia-modelopt[onnx]'"
        raise MissingDependencyError(what, why="nvidia-modelopt is not installed there", hint=hint)
    return ended.stdout.strip()


def _cast(model: Path, target: Path, python: str, options: Fp16Options) -> dict[str, int]:
    command = [python, "-m", AUTOCAST_TOOL, "--onnx_path", str(model), "--output_path", str(target)]
    command += ["--low_precision_type", "fp16"]
    command += ["--keep_io_types"] if options.keep_io_types else []
    command += ["--op_types_to_exclude", *options.op_block_list] if options.op_block_list else []
    command += ["--nodes_to_exclude", *options.node_block_list] if options.node_block_list else []
    ended = _run(command, _TIMEOUT_S)
    if ended.returncode != 0 or not target.is_file():
        said = [one for one in (ended.stderr or ended.stdout).splitlines() if one.strip()]
        why = "; ".join(said[-6:]) or f"it ended with status {ended.returncode}"
        raise BackendError(f"AutoCast failed on {model.name}", why=why, hint="fp16_by=converter")
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
        what = f"{' '.join(command[:3])} …"
        raise BackendError(what, why=f"did not end within {timeout_s:g} s") from error


QUANTIZE_TOOL = "onnxruntime.quantization"
_NAMED = "named.onnx"


def quantize(
    model: Path, target: Path, feeds: Sequence[Mapping[str, Any]], nodes: Sequence[str]
) -> int:
    """Write `model` with some of its nodes in INT8: Q/DQ nodes, unsigned activations.

    Everything else is the quantizer's default: one scale per tensor, ranges by minimum and maximum.

    Args:
        feeds: Inputs for the calibration, by name.
        nodes: By name; one without a name is called ``node_of_`` and its first output.

    Returns:
        Number of QuantizeLinear and DequantizeLinear nodes: 0 where no node has an INT8 form.
    """
    quantization = require(QUANTIZE_TOOL, purpose="quantizing a model", install="onnxruntime")

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self._left = iter(feeds)

        def get_next(self) -> Any:
            found = next(self._left, None)
            return None if found is None else dict(found)

    source = read_model(model)
    name_nodes(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    named = target.with_name(_NAMED)  # the quantizer finds nodes by their names
    write_model(source, named, like=model)
    try:
        with _quiet():
            quantization.quantize_static(
                str(named),
                str(target),
                Reader(),
                quant_format=quantization.QuantFormat.QDQ,
                activation_type=quantization.QuantType.QUInt8,
                weight_type=quantization.QuantType.QInt8,
                nodes_to_quantize=list(nodes),
            )
    except (EnginescopeError, MemoryError):
        raise
    except Exception as error:  # the quantizer raises whatever it runs into
        what = f"{model.name} cannot be quantized"
        raise BackendError(what, why=innermost_reason(error, QUANTIZE_TOOL)) from error
    finally:
        for file in target.parent.glob(f"{_NAMED}*"):
            file.unlink()
    graph = load_without_weights(str(target)).graph
    kinds = ("QuantizeLinear", "DequantizeLinear")
    return sum(node.op_type in kinds for one in graphs_of(graph) for node in one.node)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence advice on preprocessing, which the quantizer gives to the root logger."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
