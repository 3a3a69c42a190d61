"""Stored runs of older schemas, brought up step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from enginescope.core.errors import FormatError, StoreError
from enginescope.records.run.run import SCHEMA_VERSION

Document: TypeAlias = dict[str, Any]
Step: TypeAlias = Callable[[Document], Document]

#: version -> what turns a document of it into one of the next. Version 1 is the first.
STEPS: dict[int, Step] = {}


def migrated(
    document: Document,
    *,
    source: str,
    steps: Mapping[int, Step] = STEPS,
    target: int = SCHEMA_VERSION,
) -> Document:
    """Return `document` as schema `target`.

    Args:
        document: The decoded JSON of a run; arrays are still references to files.
        source: Names the run in errors.

    Raises:
        FormatError: No schema version, one that never was, or a document that a step cannot read.
        StoreError: It was written by a newer enginescope.
    """
    version = document.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise FormatError(source, why="no schema_version", expected="a stored run")
    if version > target:
        raise StoreError(
            source,
            why=f"it has schema {version}, this enginescope reads up to {target}",
            hint="install a newer enginescope",
        )
    for step in range(version, target):
        if step not in steps:
            raise FormatError(source, where="schema_version", why=f"there is no schema {step}")
        try:
            document = steps[step](document) | {"schema_version": step + 1}
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            why = f"not a run of schema {step} ({type(error).__name__}: {error})"
            raise FormatError(source, why=why) from error
    return document
