"""Can a provider be started at all? Only a session can tell.

Run as a module with a provider's name, it opens a one-node model and prints why that failed: in
a process of its own, because a provider's libraries write to standard error and may take the
process with them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import redirect_stdout
from typing import Any

from enginescope.backends.onnxruntime.providers.failures import translated
from enginescope.backends.onnxruntime.providers.opening import preload
from enginescope.backends.onnxruntime.providers.placement import require_provider
from enginescope.backends.onnxruntime.providers.providers import provider_called
from enginescope.core.errors import BackendError
from enginescope.core.optional import require

_TIMEOUT_S = 60
_MISSING_LIBRARY = re.compile(r"(\S+\.so[.\d]*): cannot open shared object file")


def probe_failure(provider: str) -> str | None:
    """Return why `provider` cannot be started here, or ``None`` if it can."""
    command = [sys.executable, "-m", __name__, provider]
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",  # libraries of several makers write to it
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"starting it took more than {_TIMEOUT_S} s"
    if ended.returncode < 0:
        return f"starting it kills the process (signal {-ended.returncode})"
    reason = ended.stdout.strip()
    missing = _MISSING_LIBRARY.search(ended.stderr)
    if reason and missing:
        return f"library {missing[1]} is missing"
    if ended.returncode != 0 and not reason:
        return ended.stderr.strip().splitlines()[-1] if ended.stderr.strip() else "unknown"
    return reason or None


def start(ort: Any, provider: str) -> None:
    """Open a one-node model on `provider`.

    Raises:
        BackendError: It did not start.
    """
    options = ort.SessionOptions()
    if provider_called(provider).on_cuda:
        with redirect_stdout(sys.stderr):  # it says on standard output what it cannot load
            preload(ort)
    with translated(f"starting {provider}"):
        session = ort.InferenceSession(
            _one_node_model(), options, providers=[provider], enable_fallback=0
        )
        require_provider(ort, session, provider_called(provider), ())


def _one_node_model() -> bytes:
    require("onnx", purpose="probing an execution provider", install="onnx")
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "probe", [x], [y])
    # set both: onnx writes newer versions by default than onnxruntime reads
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString())


def main(arguments: list[str]) -> int:
    """Start the provider named on the command line; write the reason if it fails."""
    import onnxruntime

    try:
        start(onnxruntime, arguments[0])
    except BackendError as error:
        sys.stdout.write(str(error).splitlines()[0])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
