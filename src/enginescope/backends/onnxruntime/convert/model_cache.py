"""Models made from a user's, kept by everything that decides what they become.

None lies beside the user's own. An entry is a folder ``<key>/`` with the model, its weights where
they lie apart, and the record of how it came to be. It is made under another name and renamed when
it is whole.

What is to stay in FP32 by name, and is not in the model: an error, or a notice on every run.

Also the graph that ONNX Runtime optimizes. A session optimizes the graph anew each time it is
created; the stored result loads as it is, and several processes can run it.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import msgspec

from enginescope.backends.onnxruntime.options import STORED_GRAPH, session_options, write_graph
from enginescope.backends.onnxruntime.providers.opening import Setup, open_session
from enginescope.core.digest import sha256_of
from enginescope.core.errors import BackendError, FormatError, UsageError
from enginescope.core.jsonio import decode, encode, read_bytes, write_atomic
from enginescope.core.optional import require
from enginescope.core.record import replace
from enginescope.core.suggest import closest
from enginescope.formats.onnx.onnx_precision import (
    digest_of,
    graphs_of,
    load_without_weights,
    node_name,
)
from enginescope.judge.notice import Notice
from enginescope.records.plan.build import MadeModel as MadeModel
from enginescope.records.run.job import Job

FOLDER = "converted"
_RECORD = "made.json"


def versions_of(*packages: str) -> dict[str, str]:
    """Return the installed versions of `packages`; those that are not installed are left out."""
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def key_of(*parts: Any) -> str:
    """Return the digest of what decides what a model becomes."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def kept(
    folder: Path, made: MadeModel, name: str, make: Callable[[Path], Mapping[str, int]]
) -> MadeModel:
    """Return the model called for by `made`'s key, making it if it is not there yet.

    Args:
        folder: The cache; entries lie in ``converted/``.
        made: What is known before: all but the path.
        name: The file's name.
        make: Writes the model to the path it is given, with weights beside it; returns the details.
    """
    entry = folder.expanduser().absolute() / FOLDER / made.key
    found = lookup(entry)
    if found is not None and is_sound(found):
        return found
    try:
        with new_entry(entry, lambda: _is_whole(entry)) as part:
            begin = perf_counter_ns()
            details = make(part / name)
            done = replace(
                made,
                path=name,
                details=dict(details),
                made_ms=(perf_counter_ns() - begin) / 1e6,
                size_bytes=sum(one.stat().st_size for one in part.iterdir()),
                digests={one.name: sha256_of(one) for one in sorted(part.iterdir())},
            )
            write_atomic(part / _RECORD, encode(done))
    except OSError as error:
        why = error.strerror or str(error)
        raise BackendError(f"converted models in {entry.parent}", why=why) from error
    return replace(done, path=str(entry / name))


def is_sound(made: MadeModel) -> bool:
    """Whether every file of a model has the content that was kept; reads them whole."""
    folder = Path(made.path).parent
    try:
        return all(sha256_of(folder / name) == digest for name, digest in made.digests.items())
    except OSError:
        return False


def lookup(entry: Path) -> MadeModel | None:
    """Return the model of an entry whose files are there in full size; ``None`` if there is none.

    `is_sound` says whether they are what was kept.
    """
    try:
        made = decode(read_bytes(entry / _RECORD), MadeModel, source=str(entry / _RECORD))
        held = sum(one.stat().st_size for one in entry.iterdir() if one.name != _RECORD)
    except (FormatError, OSError):
        return None
    if not (entry / made.path).is_file() or held < made.size_bytes:  # cut off, weights are gone
        return None
    return replace(made, path=str(entry / made.path), from_cache=True)


def _is_whole(entry: Path) -> bool:
    found = lookup(entry)
    return found is not None and is_sound(found)


@contextmanager
def new_entry(entry: Path, is_whole: Callable[[], bool]) -> Iterator[Path]:
    """Yield a new folder, which becomes `entry` if nothing is raised.

    A whole one that another process has made meanwhile stays: it is the same, and may be in use.

    Args:
        is_whole: Whether the entry that is there is one.
    """
    part = entry.with_name(f".{entry.name}.{secrets.token_hex(4)}")
    part.mkdir(parents=True)
    try:
        yield part
        try:
            part.rename(entry)
        except OSError:
            if not is_whole():
                shutil.rmtree(entry, ignore_errors=True)
                part.rename(entry)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def lacking_operators(model: Path, operators: Sequence[str]) -> tuple[Notice, ...]:
    """Return a notice on the operators that a model has no node of.

    No error, as one list may serve a whole suite.
    """
    if not operators:
        return ()
    present = {node.op_type for node in _nodes(model)}
    missing = [operator for operator in operators if operator not in present]
    for name in missing:
        near = closest(name, sorted(present))
        if near is not None and not _is_known(name):
            raise UsageError(f"{model.name} has no operator {name!r}", hint=f"did you mean {near}?")
    return _notice(model, "op_block_list", "operator", missing, sorted(present))


def lacking_nodes(model: Path, patterns: Sequence[str]) -> tuple[Notice, ...]:
    """Return a notice on the regular expressions that fit the name of no node of a model."""
    if not patterns:
        return ()
    names = [node_name(node) for node in _nodes(model)]
    missing = []
    for pattern in patterns:
        try:
            fits = re.compile(pattern).search
        except re.error as error:
            why = f"no regular expression: {error}"
            raise UsageError(f"node_block_list {pattern!r}", why=why) from error
        if not any(map(fits, names)):
            missing.append(pattern)
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
    return (Notice("W-BLOCK-LIST", message, evidence),)


TOOL = "onnxruntime.SessionOptions.optimized_model_filepath"


def optimized_model(ort: Any, job: Job, setup: Setup) -> MadeModel:
    """Return the graph that a session of `setup` optimizes, from the job's cache or made now."""
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
    write_graph(options, target)
    open_session(ort, setup, options)
    return {}
