"""What trtexec says between the device and the measurement: parsing, building, loading, binding."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.compat.trtexec.log.log import Line, info, number, on_one_line, warning
from enginescope.compat.trtexec.settings import Settings
from enginescope.compat.trtexec.shapes import dims_text
from enginescope.records.run.run import Run
from enginescope.records.tensor import DataType, Tensor


def parsing_lines(run: Run) -> tuple[Line, ...]:
    """Return the line that comes before what TensorRT says of the model."""
    return () if run.phase_ms("parse") is None else info("Start parsing network model.")


def engine_lines(run: Run, settings: Settings) -> tuple[Line, ...]:
    """Return the lines on the engine: how long it took, how large it is."""
    is_built = settings.load_engine is None
    texts = [*(_build(run, settings) if is_built else _load(run, settings))]
    deserialized = run.phase_ms("load")
    if deserialized is not None:
        texts.append(f"Engine deserialized in {number(deserialized / 1e3)} sec.")
    context = run.device_memory.activation_bytes if run.device_memory else None
    if context is not None and settings.arguments.version.at_least(9, 3):
        size = number(context / 2**20)
        texts.append(f"Created execution context with device memory size: {size} MiB")
    return info(*texts)


def binding_lines(run: Run, settings: Settings) -> tuple[Line, ...]:
    """Return the lines on inputs and outputs, up to the start of the inference."""
    from_files = {one.name: one.path for one in settings.files}
    lines: list[Line] = []
    for tensor in run.inputs:
        name = on_one_line(tensor.name)
        file = from_files.get(tensor.name)
        source = f"values loaded from {file}" if file else "random values"
        lines += info(f"Using {source} for input {name}", _binding("Input", tensor, settings))
    lines += info(*(_binding("Output", tensor, settings) for tensor in run.outputs))
    return (*_overridden(run), *lines)


def graph_lines(run: Run, settings: Settings) -> tuple[Line, ...]:
    """Return what became of the CUDA graph, where one was asked for."""
    if not settings.timing.cuda_graph:
        return ()
    version = settings.arguments.version
    if run.job.workload.mode.cuda_graph is not False:
        text = "Successfully captured CUDA graph for the current execution context"
        return info(text) if version.major >= 10 else ()
    if version.major >= 11:
        last = "CUDA graph capture failed. The inference will be launched without using CUDA graph."
    else:
        last = (
            "The specified --useCudaGraph flag has been ignored. The inference will be launched "
            "without using CUDA graph launch."
        )
    return warning(
        "The CUDA graph capture on the stream has failed.",
        "The built TensorRT engine contains operations that are not permitted under CUDA graph "
        "capture mode.",
        last,
    )


def type_name(dtype: DataType) -> str:
    """Return a type's name as trtexec spells it: ``fp32``, ``int8``, ``bool``."""
    return dtype.value.lower()


def _build(run: Run, settings: Settings) -> list[str]:
    texts = []
    parse, build = run.phase_ms("parse"), run.phase_ms("build")
    if parse is not None:
        texts.append(f"Finished parsing network model. Parse time: {number(parse / 1e3)}")
    if build is not None:
        covers_parsing = not settings.arguments.version.at_least(9)
        whole = build + (parse or 0.0 if covers_parsing else 0.0)
        texts.append(f"Engine built in {number(whole / 1e3)} sec.")
    if run.build is not None and settings.arguments.version.at_least(9):
        texts.append(f"Created engine with size: {number(run.build.engine_bytes / 2**20)} MiB")
    return texts


def _load(run: Run, settings: Settings) -> Iterator[str]:
    size = run.job.subject.size_bytes
    if size is not None and settings.arguments.version.at_least(9):
        yield f"Loaded engine with size: {number(size / 2**20)} MiB"


def _binding(role: str, tensor: Tensor, settings: Settings) -> str:
    name = on_one_line(tensor.name)
    if tensor.shape is None or any(dim is None for dim in tensor.shape):
        return (
            f"{role} binding for {name} is dynamic and will be created during execution "
            "using OutputAllocator."
        )
    dims = dims_text(tensor.shape)
    if settings.arguments.version.major < 10 or tensor.dtype is None:
        return f"{role} binding for {name} with dimensions {dims} is created."
    kind = type_name(tensor.dtype)
    return f"{role} binding for {name} with dimensions {dims} and type {kind} is created."


def _overridden(run: Run) -> Iterator[Line]:
    """Say which dynamic dimensions were taken as 1, as the run's notices have them."""
    for one in run.notices:
        if one.code not in ("I-DYNAMIC-SHAPE", "W-DYNAMIC-SHAPE"):
            continue
        shapes = dict(one.evidence.get("shapes", {}))
        if "input" in one.evidence:  # of runs stored before one notice was for all inputs
            shapes[str(one.evidence["input"])] = one.evidence.get("shape", ())
        for name, shape in shapes.items():
            yield Line(
                "W",
                f"Dynamic dimensions required for input: {on_one_line(name)}, but no shapes were "
                f"provided. Automatically overriding shape to: {dims_text(tuple(shape))}",
            )
