"""Stored runs of older schemas, brought up step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from enginescope.model.run import SCHEMA_VERSION

#: version -> what turns a document of it into one of the next. Version 1 is the first.
STEPS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


def migrated(
    document: dict[str, Any],
    version: int,
    *,
    steps: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] | None = None,
    target: int = SCHEMA_VERSION,
) -> dict[str, Any]:
    """Return `document` as schema `target`."""
    ladder = STEPS if steps is None else steps
    for step in range(version, target):
        document = ladder[step](document) | {"schema_version": step + 1}
    return document
