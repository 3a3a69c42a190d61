"""The engine inspector: what the engine consists of, as TensorRT tells it."""

from __future__ import annotations

from typing import Any

from enginescope.backends.tensorrt.libraries import Libraries
from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import read_json
from enginescope.formats.plan.plan_json import plan_of
from enginescope.records.notice import Notice
from enginescope.records.plan.plan import Plan

_COMPATIBLE = "as is so for version-compatible ones"


def inspect(
    libraries: Libraries, engine: Any, context: Any, name: str
) -> tuple[str | None, Plan | None, tuple[Notice, ...]]:
    """Return the inspector's JSON as it came, the plan in it, and what is to be said of it.

    Args:
        context: With its shapes set: shapes in the plan are then those of the run.
        name: Of the plan.
    """
    # the lean bindings have the method and not the class of what it gives: calling it raises
    if not hasattr(libraries.trt, "EngineInspector"):
        return None, None, (_silent(f"the {libraries.runtime} runtime has no inspector"),)
    inspector = engine.create_engine_inspector()
    if inspector is None:
        return None, None, (_silent(f"TensorRT gives no inspector for this plan, {_COMPATIBLE}"),)
    inspector.execution_context = context
    kind = libraries.trt.LayerInformationFormat.JSON
    text = inspector.get_engine_information(kind)
    if not text:
        return None, None, (_silent(f"TensorRT tells nothing of this plan, {_COMPATIBLE}"),)
    try:
        plan, notices = plan_of(read_json(text.encode(), f"{name}.graph.json"), name=name)
    except FormatError as error:
        return text, None, (_silent(f"the inspector's JSON cannot be read: {error}"),)
    return text, plan, notices


def _silent(why: str) -> Notice:
    return Notice(
        code="W-NO-PLAN", message=f"there is no plan to look into: {why}", evidence={"why": why}
    )
