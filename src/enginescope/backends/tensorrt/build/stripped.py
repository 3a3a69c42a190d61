"""Engines whose weights were left out of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enginescope.core.units import format_bytes
from enginescope.records.notice import Notice


def stripped_notice(trt: Any, engine: Any, options: Mapping[str, Any]) -> Notice | None:
    """Warn of an engine that was not given back the weights that its build left out.

    Args:
        options: Of the backend, read: what an engine was built with is known where it cannot be
            asked.
    """
    size = stripped_bytes(trt, engine)
    if "refit_from" in options or not (size or options.get("strip_plan")):
        return None
    weights = f"{format_bytes(size)} of weights" if size else "the weights"
    return Notice(
        code="W-STRIPPED-WEIGHTS",
        message=f"the engine lacks {weights} that its build left out (strip_plan): its plan and "
        "its times may hold, its answers do not; the option refit_from=MODEL.onnx of trt puts "
        "those of the model back",
        evidence={"stripped_bytes": size},
    )


def stripped_bytes(trt: Any, engine: Any) -> int | None:
    """Return the size of the weights left out, 0 for none; ``None``: this TensorRT cannot tell."""
    kinds, ask = getattr(trt, "EngineStat", None), getattr(engine, "get_engine_stat", None)
    if kinds is None or ask is None:
        return None
    return max(int(ask(kinds.STRIPPED_WEIGHTS_SIZE)), 0)
