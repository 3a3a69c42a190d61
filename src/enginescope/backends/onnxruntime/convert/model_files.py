"""Read models for conversion, write the results, and keep them by what decides them.

None lies beside the user's own. An entry is a folder ``<key>/`` with the model, its weights where
they lie apart, and the record of how it came to be. It is made under another name and renamed when
it is whole.

What is to stay in FP32 by name, and is not in the model: an error, or a notice on every run.

Also the graph that ONNX Runtime optimizes. A session optimizes the graph anew each time it is
created; the stored result loads as it is, and several processes can run it.

A message of that size can be neither written nor handed to ONNX's C++ part: so shapes are inferred
before the large weights are read, and large weights are written to a file of their own.

A model with the shapes of its tensors inferred, symbols kept: what ort-trt may ask for.
"""

import hashlib
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import msgspec

from enginescope.backends.onnxruntime.options import STORED_GRAPH, session_options, write_graph
from enginescope.backends.onnxruntime.providers.opening import Setup, open_session
from enginescope.core.errors import (
    BackendError,
    FormatError,
    UsageError,
    innermost_reason,
    os_errors_as,
)
from enginescope.core.jsonio import decode, encode, read_bytes, sha256_of, write_atomic
from enginescope.core.optional import require, versions_of
from enginescope.core.record import replace
from enginescope.core.suggest import closest
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.onnx.onnx_copies import marked_onnx
from enginescope.formats.onnx.onnx_graph import FlowTensor
from enginescope.formats.onnx.onnx_precision import (
    digest_of,
    external_data,
    graphs_of,
    load_without_weights,
    node_name,
)
from enginescope.judge.notice import Notice
from enginescope.records.plan.build import MadeModel as MadeModel
from enginescope.records.run.job import Job

FOLDER = "converted"
_RECORD = "made.json"


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
    if _is_whole(entry) and (found := lookup(entry)) is not None:
        return found
    writing = os_errors_as(BackendError, f"converted models in {entry.parent}")
    with writing, new_entry(entry, lambda: _is_whole(entry)) as part:
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
    onnx = require("onnx", purpose="asking for operators", install="onnx")
    for name in missing:
        near = closest(name, sorted(present))
        if near is not None and not any(one.name == name for one in onnx.defs.get_all_schemas()):
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


OPTIMIZE_TOOL = "onnxruntime.SessionOptions.optimized_model_filepath"


def optimized_model(ort: Any, job: Job, setup: Setup) -> MadeModel:
    """Return the graph that a session of `setup` optimizes, from the job's cache or made now."""

    def write(target: Path) -> dict[str, int]:
        session = session_options(ort, options)
        write_graph(session, target)
        open_session(ort, setup, session)
        return {}

    model = Path(setup.model)
    options = {key: value for key, value in job.backend.options.items() if key != STORED_GRAPH}
    optimized = MadeModel(
        path="",
        kind="optimized",
        tool=OPTIMIZE_TOOL,
        key=key_of(
            digest_of(setup.model), OPTIMIZE_TOOL, setup.provider.name, sorted(options.items())
        ),
        versions=versions_of("onnxruntime", "onnxruntime-gpu"),
        options=options,
    )
    return kept(Path(job.engine_cache or "."), optimized, f"{model.stem}.optimized.onnx", write)


#: Weights of this size may decide a shape; larger ones do not.
_SMALL_BYTES = 1 << 16
#: With more weights than this they are written apart: well below what a message may hold.
_APART_BYTES = 1 << 30


def read_model(path: Path) -> Any:
    """Return a model with its weights, functions inlined, shapes inferred as far as they go."""
    model = load_without_weights(str(path))
    onnx = require("onnx", purpose="reading the model", install="onnx")
    if model.functions:
        from onnx.inliner import inline_local_functions

        model = inline_local_functions(model)
    _load_weights(model, path, below=_SMALL_BYTES)
    try:
        model = onnx.shape_inference.infer_shapes(model)
    except Exception as error:  # C++ exceptions, with no common base
        what = f"the shapes in {path.name} cannot be inferred"
        raise BackendError(what, why=str(error)) from error
    _load_weights(model, path, below=None)
    return model


def state_types(model: Any, path: Path) -> None:
    """State which tensors are FP32, as ONNX Runtime finds them where ONNX's inference does not.

    It knows no operator of ``ai.onnx.ml`` that gives numbers, and nothing behind one. Without a
    type a converter adds no cast.

    Args:
        path: The model's file.
    """
    onnx = require("onnx", purpose="asking for types", install="onnx")
    ort = require("onnxruntime", purpose="asking for types", install="onnxruntime")
    graph, file = model.graph, load_without_weights(str(path)).graph
    known = {one.name for one in (*graph.input, *graph.value_info, *graph.output)}
    unknown = {name for node in file.node for name in node.output if name and name not in known}
    if not unknown:
        return
    for tensor in _inferred(ort, path, unknown):
        if tensor.name in unknown and tensor.type == "tensor(float)":
            kind = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
            graph.value_info.append(onnx.helper.make_value_info(tensor.name, kind))


def _inferred(ort: Any, path: Path, names: Iterable[str]) -> Sequence[Any]:
    """Return what ONNX Runtime infers of some tensors, and of the model's outputs."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.add_session_config_entry("session.disable_prepacking", "1")
    with temporary_folder() as folder:
        copy = marked_onnx(path, dict.fromkeys(sorted(names), FlowTensor()), Path(folder))
        try:
            session = ort.InferenceSession(str(copy), options, providers=["CPUExecutionProvider"])
        except Exception:  # noqa: BLE001 - operators that this build does not have: unknown
            return ()
    outputs: Sequence[Any] = session.get_outputs()
    return outputs


def varying_shapes(ort: Any, path: Path) -> dict[str, list[int | str | None] | None]:
    """Return the shapes with dimensions that no number fixes, of tensors between the nodes.

    Args:
        path: The graph as a session wrote it.

    Returns:
        Numbers and names of dimensions; ``None`` for a tensor whose shape cannot be inferred. Empty
        for a model whose inputs have fixed shapes: all others follow from them.
    """
    graph = load_without_weights(str(path)).graph
    weights = {one.name for one in graph.initializer}
    given = [one for one in graph.input if one.name not in weights]
    dims = [dim for one in given for dim in one.type.tensor_type.shape.dim]
    if all(dim.HasField("dim_value") for dim in dims):
        return {}
    names = {name for node in graph.node for name in node.output if name}
    found = {one.name: one.shape for one in _inferred(ort, path, names)}
    shapes = {name: found.get(name) for name in sorted(names)}
    return {
        name: shape
        for name, shape in shapes.items()
        if not shape or not all(isinstance(dim, int) for dim in shape)
    }


def write_model(model: Any, target: Path, like: Path) -> None:
    """Write `model` and check what was written.

    Args:
        like: The model it was made from, for messages.
    """
    onnx = require("onnx", purpose="writing the model", install="onnx")
    is_apart = weight_bytes(model) > _APART_BYTES
    apart = {"save_as_external_data": True, "location": f"{target.name}.data"} if is_apart else {}
    onnx.save_model(model, str(target), **apart)
    error = _rejection(target)
    if error is None or _rejection(like) is not None:  # ONNX Runtime loads some that it rejects
        return
    why = " ".join(str(error).split())
    kinds = {node.op_type for graph in graphs_of(model.graph) for node in graph.node}
    what, why = f"{like.name} cannot be converted", f"ONNX's checker rejects the result: {why}"
    raise BackendError(what, why=why, hint=blocking_hint(why, kinds)) from error


def _rejection(path: Path) -> Exception | None:
    """Return what ONNX's checker says of a file; ``None``: it is valid."""
    onnx = require("onnx", purpose="checking a model", install="onnx")
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:  # noqa: BLE001 - checker and inference raise different ones
        return error
    return None


def blocking_hint(reason: str, kinds: Iterable[str]) -> str | None:
    """Return how to keep the operator in FP32 that a reason names; ``None``: it names none."""
    words = frozenset(re.findall(r"\w+", reason))
    named = next((kind for kind in sorted(kinds) if kind in words), None)
    return f"?op_block_list={named} keeps {named} in fp32" if named else None


def weight_bytes(model: Any) -> int:
    """Return the size of what the model holds as raw data."""
    return sum(len(one.raw_data) for one in _tensors(model))


def _load_weights(model: Any, path: Path, below: int | None) -> None:
    """Read external weights: only those smaller than `below`, if it is given."""
    from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

    for tensor in _tensors(model):
        if not uses_external_data(tensor):
            continue
        length = external_data(tensor, str(path)).length
        if below is not None and (not length or int(length) > below):
            continue
        try:
            load_external_data_for_tensor(tensor, str(path.parent))
        except Exception as error:  # its errors differ by version
            why = f"weights of {tensor.name}: {error}"
            raise BackendError(f"{path} cannot be read", why=why) from error
        tensor.data_location = tensor.DEFAULT
        del tensor.external_data[:]


def _tensors(model: Any) -> Iterator[Any]:
    for graph in graphs_of(model.graph):
        yield from graph.initializer
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors


SHAPE_TOOL = "onnxruntime.tools.symbolic_shape_infer"
#: What ONNX Runtime says when a provider needs shapes that the model does not state.
ASKED_FOR = "shape inference"
_PURPOSE = "inferring shapes"


def inferred_model(model: Path, folder: Path) -> MadeModel:
    """Return `model` with the shapes that ONNX Runtime's own tool infers: kept, or made now.

    Args:
        folder: Where converted models are kept.
    """
    require("sympy", purpose=_PURPOSE, install="enginescope[convert]")
    versions = versions_of("onnxruntime", "onnxruntime-gpu", "onnx", "sympy")
    key = key_of(digest_of(str(model)), SHAPE_TOOL, versions)
    made = MadeModel(path="", kind="shapes", tool=SHAPE_TOOL, key=key, versions=versions)
    return kept(folder, made, f"{model.stem}.shapes.onnx", lambda target: _infer(model, target))


def _infer(model: Path, target: Path) -> dict[str, int]:
    tool = require(SHAPE_TOOL, purpose=_PURPOSE, install="onnxruntime")
    source = read_model(model)
    before = len(source.graph.value_info)
    try:
        made = tool.SymbolicShapeInference.infer_shapes(
            source, int_max=2**31 - 1, auto_merge=True, guess_output_rank=False, verbose=0
        )
    except Exception as error:  # it raises whatever it runs into
        what = f"the shapes in {model.name} cannot be inferred"
        hint = "infer_shapes=never, or a model exported with its shapes"
        raise BackendError(what, why=innermost_reason(error, SHAPE_TOOL), hint=hint) from error
    write_model(made, target, like=model)
    return {"shapes_before": before, "shapes": len(made.graph.value_info)}
