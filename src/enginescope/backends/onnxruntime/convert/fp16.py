"""A model in FP16, by ONNX Runtime's own converter.

What it leaves out is added: operators without an FP16 form stay in FP32, casts are put into the
graph they belong to, once, and nodes into an order that a checker accepts.

A provider without FP16 kernels gets casts around each node, and the optimizer removes the casts:
ONNX Runtime then runs the converted model in FP32, which a notice says.
"""

from pathlib import Path
from typing import Any

from enginescope.backends.onnxruntime.convert import fp16_repair, model_files
from enginescope.backends.onnxruntime.options import fp16_way, session_options, write_graph
from enginescope.backends.onnxruntime.providers.opening import Setup, open_session
from enginescope.core.errors import (
    BackendError,
    EnginescopeError,
    UnsupportedError,
    UsageError,
    innermost_reason,
)
from enginescope.core.optional import require, versions_of
from enginescope.core.record import Record
from enginescope.core.suggest import closest
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.onnx.onnx_precision import (
    digest_of,
    graphs_of,
    load_without_weights,
    node_name,
)
from enginescope.judge.notice import Notice
from enginescope.records.notice import NOT_FP16
from enginescope.records.run.job import Job

_FP32, _FP16 = "tensor(float)", "tensor(float16)"


def without_fp16(model: Any, exempt: frozenset[str]) -> frozenset[str]:
    """Return the operators of which some tensor may be FP32 and not FP16 at the model's opset.

    Args:
        exempt: Operators of which the converter knows which input to leave.
    """
    versions = {one.domain or "ai.onnx": one.version for one in model.opset_import}
    used = {
        (node.op_type, node.domain or "ai.onnx")
        for graph in graphs_of(model.graph)
        for node in graph.node
    }
    return frozenset(
        name
        for name, domain in used
        if name not in exempt and _lacks_fp16(name, domain, versions.get(domain, 1))
    )


def _lacks_fp16(name: str, domain: str, version: int) -> bool:
    onnx = require("onnx", purpose="asking operators for their types", install="onnx")
    known = "" if domain == "ai.onnx" else domain
    try:
        schema = onnx.defs.get_schema(name, max_inclusive_version=version, domain=known)
    except onnx.defs.SchemaError:  # an operator of somebody else's: nothing is known of it
        return False
    return any(
        _FP32 in one.types and _FP16 not in one.types for one in (*schema.inputs, *schema.outputs)
    )


TOOL = "onnxruntime.transformers.float16"
#: Raised when this module makes another model of the same source.
_REVISION = 5
_PURPOSE = "converting a model to fp16"
_QUANTISING = frozenset({"QuantizeLinear", "DequantizeLinear"})


class Fp16Options(Record, frozen=True, kw_only=True):
    """What is converted.

    Attributes:
        keep_io_types: Inputs and outputs stay FP32: the same data go in and come out, through a
            cast each.
        op_block_list: Operators that stay in FP32, beside those that have no FP16 form and the
            converter's own.
        node_block_list: Nodes that stay in FP32; one without a name is called ``node_of_`` and its
            first output.
    """

    keep_io_types: bool = True
    op_block_list: tuple[str, ...] = ()
    node_block_list: tuple[str, ...] = ()

    def as_text(self) -> dict[str, str]:
        """Return the options by name, empty lists left out."""
        lists = {"op_block_list": self.op_block_list, "node_block_list": self.node_block_list}
        return {
            "keep_io_types": "1" if self.keep_io_types else "0",
            **{key: ",".join(names) for key, names in lists.items() if names},
        }


def fp16_model(
    model: Path, folder: Path, options: Fp16Options | None = None
) -> model_files.MadeModel:
    """Return `model` converted to FP16: the kept one, or made now.

    Args:
        model: An ONNX model; nothing is written beside it.
        folder: Where converted models are kept: the folder of the engine cache.

    Raises:
        MissingDependencyError: ``onnx-ir`` is not installed.
        UsageError: A node that is to stay in FP32 is not in the model, or an operator is misspelt.
        UnsupportedError: It holds nothing in FP32, or is quantized in a way that has no FP16 form.
        BackendError: It cannot be read, or what the converter makes of it is not valid.
    """
    asked = options or Fp16Options()
    require("onnx_ir", purpose=_PURPOSE, install="enginescope[convert]")
    versions = versions_of("onnxruntime", "onnxruntime-gpu", "onnx", "onnx-ir")
    made = model_files.MadeModel(
        path="",
        kind="fp16",
        tool=TOOL,
        key=model_files.key_of(digest_of(str(model)), asked, versions, _REVISION),
        versions=versions,
        options=asked.as_text(),
        notices=model_files.lacking_operators(model, asked.op_block_list),
    )
    name = f"{model.stem}.fp16.onnx"
    return model_files.kept(folder, made, name, lambda target: convert(model, target, asked))


def convert(model: Path, target: Path, options: Fp16Options) -> dict[str, int]:
    """Write `model` in FP16 to `target`.

    Returns:
        ``nodes``, ``nodes_in_fp32`` (those asked for and those without an FP16 form) and ``casts``
        (added).
    """
    source = model_files.read_model(model)
    model_files.state_types(source, model)
    name_nodes(source)
    fp16_repair.name_apart(source)
    operators, nodes = _staying(source, options, model)
    fp16_repair.constants_as_initializers(source)
    every = [node for graph in graphs_of(source.graph) for node in graph.node]
    in_fp32 = sum(node.op_type in operators or node.name in nodes for node in every)
    counts = {"nodes": len(every), "nodes_in_fp32": in_fp32}
    del every  # the conversion uses the nodes up
    if not _holds_fp32(source):
        what, why = f"{model.name} cannot be converted to fp16", "it holds no FP32 tensor"
        raise UnsupportedError(what, why=why, hint="measure it as it is, without :fp16")
    casts_before = _cast_count(source)
    made = _converted(source, operators, nodes, options, model)
    model_files.write_model(made, target, like=model)
    return {**counts, "casts": _cast_count(made) - casts_before}


def _converted(
    source: Any, operators: list[str], nodes: list[str], options: Fp16Options, model: Path
) -> Any:
    """Convert `source`, which is used up: a copy of the weights may be more than fits."""
    float16 = require(TOOL, purpose=_PURPOSE, install="onnxruntime")
    header = type(source)(ir_version=source.ir_version, opset_import=source.opset_import)
    listed = fp16_repair.take_out_listed_weights(source)
    outputs = fp16_repair.take_out_repeated_outputs(source)
    kinds = {node.op_type for graph in graphs_of(source.graph) for node in graph.node}
    try:
        made = float16.convert_float_to_float16(
            source,
            keep_io_types=options.keep_io_types,
            disable_shape_infer=True,  # done, in a way that large models bear
            op_block_list=operators,
            node_block_list=nodes,
        )
        fp16_repair.list_weights(made, listed)
        made = fp16_repair.repaired(made, header)
        fp16_repair.list_outputs(made, outputs)
        return made
    except (EnginescopeError, MemoryError):
        raise
    except Exception as error:  # the converter asserts, and raises whatever it runs into
        what, why = f"{model.name} cannot be converted to fp16", innermost_reason(error, TOOL)
        raise BackendError(what, why=why, hint=model_files.blocking_hint(why, kinds)) from error


def _staying(source: Any, options: Fp16Options, model: Path) -> tuple[list[str], list[str]]:
    float16 = require(TOOL, purpose=_PURPOSE, install="onnxruntime")
    present = {node.name for graph in graphs_of(source.graph) for node in graph.node}
    for name in options.node_block_list:
        if name not in present:
            near = closest(name, sorted(present))
            few = ", ".join(sorted(present)[:5])
            hint = f"did you mean {near}?" if near else f"its nodes are called {few}, …"
            raise UsageError(f"{model.name} has no node {name!r}", hint=hint)
    lacking = without_fp16(source, exempt=frozenset(float16.ALWAYS_FLOAT_INPUTS))
    if lacking & _QUANTISING:
        why = "it is quantized, and QuantizeLinear has no FP16 form below opset 19"
        hint = "export it again at opset 19 or later, or convert the model before quantization"
        raise UnsupportedError(f"{model.name} cannot be converted to fp16", why=why, hint=hint)
    operators = {*float16.DEFAULT_OP_BLOCK_LIST, *lacking, *options.op_block_list}
    return sorted(operators), sorted(options.node_block_list)


def operators_in_fp32(model: Path) -> frozenset[str]:
    """Return the operators that a conversion leaves in FP32."""
    return frozenset(_staying(model_files.read_model(model), Fp16Options(), model)[0])


def name_nodes(source: Any) -> None:
    """Give nodes without a name the one that TensorRT gives them."""
    for graph in graphs_of(source.graph):
        for node in graph.node:
            node.name = node_name(node)


def _holds_fp32(source: Any) -> bool:
    onnx = require("onnx", purpose=_PURPOSE, install="onnx")
    kinds: set[int] = set()
    for graph in graphs_of(source.graph):
        values = (*graph.input, *graph.output, *graph.value_info)
        kinds |= {one.data_type for one in graph.initializer}
        kinds |= {one.type.tensor_type.elem_type for one in values}
    return onnx.TensorProto.FLOAT in kinds


def _cast_count(model: Any) -> int:
    return sum(node.op_type == "Cast" for graph in graphs_of(model.graph) for node in graph.node)


#: Operators that move or convert values and compute none: they have FP16 kernels everywhere.
_MOVES = frozenset(
    {
        *("Cast", "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements"),
        *("GatherND", "Identity", "Pad", "Reshape", "Slice", "SpaceToDepth", "Split", "Squeeze"),
        *("Tile", "Transpose", "Unsqueeze", "Where"),
    }
)


def fp16_notice(ort: Any, job: Job, setup: Setup) -> tuple[Notice, ...]:
    """Return a notice if no node that computes is left in FP16; nothing without a conversion.

    Opens a session that writes its optimized graph; a provider that cannot write it says nothing.
    """
    if fp16_way(job.backend, setup.provider) not in ("converter", "autocast"):
        return ()
    options = session_options(ort, job.backend.options, job.conditions.pinned_cores)
    with temporary_folder() as folder:
        file = folder / "optimized.onnx"
        write_graph(options, file)
        try:
            open_session(ort, setup, options)
            left, nodes = _in_fp16(load_without_weights(str(file)))
        except BackendError:  # the session that is measured says what is wrong
            return ()
    name = setup.provider.name
    none = f"{name} runs none of the {nodes} nodes that compute in FP16"
    rounded = "the weights are rounded to FP16, the computation is FP32"
    message = f"not FP16: {none}; {rounded}; measure without :fp16"
    return () if left else (Notice(NOT_FP16, message, {"nodes": nodes, "provider": name}),)


def _in_fp16(model: Any) -> tuple[int, int]:
    """Return how many of the nodes that compute read or write FP16, and how many compute."""
    onnx = require("onnx", purpose="reading the optimized model", install="onnx")
    half, left, count = onnx.TensorProto.FLOAT16, 0, 0
    names: set[str] = set()
    for graph in graphs_of(model.graph):
        values = (*graph.value_info, *graph.input, *graph.output)
        names |= {value.name for value in values if value.type.tensor_type.elem_type == half}
        names |= {one.name for one in graph.initializer if one.data_type == half}
        for node in graph.node:
            computes = node.op_type not in _MOVES
            count += computes
            left += computes and not names.isdisjoint((*node.input, *node.output))
    return left, count
