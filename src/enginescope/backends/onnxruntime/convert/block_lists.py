"""What is to stay in FP32 by name, and is not in the model: an error, or a notice on every run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from enginescope.core.errors import UsageError
from enginescope.core.optional import require
from enginescope.core.suggest import closest
from enginescope.formats.onnx.onnx_files import load_without_weights
from enginescope.formats.onnx.onnx_subgraphs import graphs_of, node_name
from enginescope.records.notice import Notice


def lacking_operators(model: Path, operators: Sequence[str]) -> tuple[Notice, ...]:
    """Return a notice on the operators that a model has no node of.

    No error, as one list may serve a whole suite.

    Raises:
        UsageError: A name is no operator of ONNX, and one of the model's is called almost so.
        BackendError: The model cannot be read.
    """
    if not operators:
        return ()
    present = {node.op_type for node in _nodes(model)}
    missing = [one for one in operators if one not in present]
    for name in missing:
        near = closest(name, sorted(present))
        if near is not None and not _is_known(name):
            raise UsageError(f"{model.name} has no operator {name!r}", hint=f"did you mean {near}?")
    return _notice(model, "op_block_list", "operator", missing, sorted(present))


def lacking_nodes(model: Path, patterns: Sequence[str]) -> tuple[Notice, ...]:
    """Return a notice on the regular expressions that fit the name of no node of a model.

    Raises:
        UsageError: One is no regular expression.
        BackendError: The model cannot be read.
    """
    if not patterns:
        return ()
    names = [node_name(node) for node in _nodes(model)]
    missing = []
    for one in patterns:
        try:
            fits = re.compile(one).search
        except re.error as error:
            why = f"no regular expression: {error}"
            raise UsageError(f"node_block_list {one!r}", why=why) from error
        if not any(map(fits, names)):
            missing.append(one)
    return _notice(model, "node_block_list", "node", missing, names)


def _nodes(model: Path) -> Iterable[Any]:
    proto = load_without_weights(str(model))
    for outer in (proto.graph, *proto.functions):
        for graph in graphs_of(outer):
            yield from graph.node


def _is_known(name: str) -> bool:
    onnx = require("onnx", purpose="asking for operators", install="onnx")
    return any(one.name == name for one in onnx.defs.get_all_schemas())


def _notice(
    model: Path, option: str, kind: str, missing: Sequence[str], present: Sequence[str]
) -> tuple[Notice, ...]:
    """Return a notice on names that keep nothing in FP32, each with the nearest of the model's."""
    if not missing:
        return ()
    near = {name: closest(name, present) for name in missing}
    names = (f"{name} (nearest: {other})" if other else name for name, other in near.items())
    message = f"{model.name} has no {kind} {', '.join(names)}: {option} keeps nothing in FP32 by it"
    evidence = {"option": option, "missing": list(missing), "nearest": near}
    return (Notice(code="W-BLOCK-LIST", message=message, evidence=evidence),)
