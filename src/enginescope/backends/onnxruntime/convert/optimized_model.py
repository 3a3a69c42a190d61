"""The graph that ONNX Runtime optimizes, stored: a build that several processes can run.

A session optimizes the graph anew each time it is created. Stored, the result is loaded as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from enginescope.backends.onnxruntime.convert.model_cache import (
    MadeModel,
    kept,
    key_of,
    versions_of,
)
from enginescope.backends.onnxruntime.options import STORED_GRAPH, session_options
from enginescope.backends.onnxruntime.providers.opening import Setup, open_session
from enginescope.formats.onnx.onnx_precision import digest_of
from enginescope.records.run.job import Job

TOOL = "onnxruntime.SessionOptions.optimized_model_filepath"
_EXTERNAL = "session.optimized_model_external_initializers"
#: Smaller weights stay in the file; ONNX Runtime cannot write a file above 2 GB.
_LEAST_BYTES = 1 << 20


def optimized_model(ort: Any, job: Job, setup: Setup) -> MadeModel:
    """Return the graph that a session of `setup` optimizes: kept in the job's cache, or made now.

    Raises:
        BackendError: ONNX Runtime cannot load the model, or cannot write its graph.
    """
    model = Path(setup.model)
    options = {key: value for key, value in job.backend.options.items() if key != STORED_GRAPH}
    versions = versions_of("onnxruntime", "onnxruntime-gpu")
    optimized = MadeModel(
        path="",
        kind="optimized",
        tool=TOOL,
        key=key_of(digest_of(setup.model), TOOL, setup.provider.name, sorted(options.items())),
        versions=versions,
        options=options,
    )
    return kept(
        Path(job.engine_cache or "."),
        optimized,
        f"{model.stem}.optimized.onnx",
        lambda target: _write(ort, session_options(ort, options), setup, target),
    )


def _write(ort: Any, options: Any, setup: Setup, target: Path) -> dict[str, int]:
    options.optimized_model_filepath = str(target)
    options.add_session_config_entry(f"{_EXTERNAL}_file_name", f"{target.name}.weights")
    options.add_session_config_entry(f"{_EXTERNAL}_min_size_in_bytes", str(_LEAST_BYTES))
    open_session(ort, setup, options)
    return {}
