"""Names of tasks and their options, found without importing any."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module, metadata
from typing import TypeVar, cast, get_args, get_type_hints

import msgspec

from enginescope.analysis.tasks.base import Task
from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean

#: name -> "module:class", called with the options as texts. Other packages add theirs as entry
#: points of `ENTRY_POINTS`.
BUILT_IN = {
    "classification": "enginescope.analysis.tasks.classification:ClassificationTask",
    "depth": "enginescope.analysis.tasks.depth:DepthTask",
    "detection": "enginescope.analysis.tasks.detection:DetectionTask",
    "segmentation": "enginescope.analysis.tasks.segmentation:SegmentationTask",
}
ENTRY_POINTS = "enginescope.tasks"

R = TypeVar("R", bound=Record)


def task_names() -> tuple[str, ...]:
    """Return the names of all tasks."""
    outside = {point.name for point in metadata.entry_points(group=ENTRY_POINTS)}
    return tuple(sorted({*BUILT_IN, *outside}))


def parse_task(text: str) -> Task:
    """Return the task in ``NAME[?KEY=VALUE&KEY=VALUE]``.

    Raises:
        UsageError: Not of that form, or there is no such task, option or value.
        MissingDependencyError: An outside package offers it and fails to import.
    """
    name, question, tail = text.partition("?")
    options: dict[str, str] = {}
    for pair in tail.split("&") if question else ():
        key, equals, value = pair.partition("=")
        if not key or not equals:
            hint = "options are written ?key=value&key=value"
            raise UsageError(f"task {text!r}", why=f"{pair!r} is not an option", hint=hint)
        options[key] = value
    return load_task(name, options)


def load_task(name: str, options: Mapping[str, str]) -> Task:
    """Return the task called `name`; raises what `parse_task` raises."""
    if name in BUILT_IN:
        module, _, kind = BUILT_IN[name].partition(":")
        return cast("Task", getattr(import_module(module), kind)(options))
    for point in metadata.entry_points(group=ENTRY_POINTS):
        if point.name == name:
            try:
                return cast("Task", point.load()(options))
            except ImportError as error:
                what = f"task {name} cannot be loaded"
                raise MissingDependencyError(what, why=f"{point.value}: {error}") from error
    raise UsageError(f"no task is called {name!r}", hint=did_you_mean(name, task_names()))


def options_as(kind: type[R], task: str, options: Mapping[str, str]) -> R:
    """Return texts as the fields of a record; numbers and truth values by the fields' types.

    Raises:
        UsageError: No field of that name, or a value of another type.
    """
    known = tuple(field.name for field in msgspec.structs.fields(kind))
    for key in options:
        if key not in known:
            raise UsageError(f"{task} has no option {key!r}", hint=did_you_mean(key, known))
    try:
        return msgspec.convert(dict(options), kind, strict=False)
    except msgspec.ValidationError as error:
        raise _wrong_value(kind, task, options, str(error)) from None


def _wrong_value(
    kind: type[Record], task: str, options: Mapping[str, str], said: str
) -> UsageError:
    why, _, place = said.partition(" - at `$.")
    key = place.rstrip("`")
    if key not in options:
        return UsageError(f"options of {task}", why=said)
    allowed = get_args(get_type_hints(kind)[key])
    words = [one for one in allowed if isinstance(one, str)]
    if not words:
        return UsageError(f"option {key}={options[key]} of {task}", why=why)
    hint = did_you_mean(options[key], words)
    return UsageError(f"option {key}={options[key]} of {task}", why="no such value", hint=hint)
