"""Optimization profiles: the shapes an engine is built for."""

from collections.abc import Mapping, Sequence
from typing import Any

from enginescope.backends.profile_bounds import dims_text, is_in_order
from enginescope.backends.varying_shapes import prompt_of
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.formats.onnx.onnx_inputs import is_past
from enginescope.judge.notice import Notice
from enginescope.records.run.job import InputShape, Workload

_Shapes = Sequence[tuple[InputShape, ...]]


class Span(Record, frozen=True, kw_only=True):
    """The shapes of one input in one profile; of a shape tensor, its values."""

    low: tuple[int, ...]
    opt: tuple[int, ...]
    high: tuple[int, ...]


class NetworkInput(Record, frozen=True, kw_only=True):
    """An input of a network.

    Attributes:
        shape: ``None``: dynamic.
        is_shape_tensor: Its values are dimensions of other tensors.
    """

    name: str
    shape: tuple[int | None, ...]
    is_shape_tensor: bool = False


def spans_of(
    inputs: Sequence[NetworkInput], options: dict[str, Any], workload: Workload
) -> tuple[tuple[dict[str, Span], ...], tuple[Notice, ...]]:
    """Return, for each profile, the span of every input that needs one.

    A bound that is not given is its neighbor's, as in trtexec: with the optimum alone all three
    are the optimum. With no shapes for the build, those of the workload are taken; what is still
    open becomes 1, and is noticed. For a decode loop they span all lengths of the past, with the
    optimum at one token after half of the generated ones.
    """
    given = {key: options.get(f"{key}_shapes", ()) for key in ("min", "opt", "max")}
    count = max((len(one) for one in given.values()), default=0)
    names = [one.name for one in inputs]
    for shapes in (*(shapes for one in given.values() for shapes in one), workload.shapes):
        for shape in shapes:
            if shape.name not in names:
                what = f"the model has no input called {shape.name!r}"
                raise UsageError(what, hint=did_you_mean(shape.name, names))
    open_inputs = [one for one in inputs if one.is_shape_tensor or None in one.shape]
    if count and not open_inputs:
        raise UsageError("shapes for the build", why="the model has no dynamic input")
    profiles: list[dict[str, Span]] = []
    assumed: dict[str, tuple[int, ...]] = {}
    for index in range(max(count, 1) if open_inputs else 0):
        bounds = [_of_profile(given[key], index) for key in ("min", "opt", "max")]
        spans = {}
        for one in open_inputs:
            known = [of_profile.get(one.name) for of_profile in bounds]
            spans[one.name] = _span(one, known, workload, assumed)
        if workload.mode.decode is not None and not count:
            spans |= _while_decoding(inputs, spans, workload.mode.decode)
        profiles.append(spans)
    return tuple(profiles), _assumed(assumed)


def _while_decoding(
    inputs: Sequence[NetworkInput], spans: Mapping[str, Span], tokens: int
) -> dict[str, Span]:
    """Return the spans of inputs that are not shape tensors, from the prompt to the last token."""
    shapes = {
        one.name: spans[one.name].opt if one.name in spans else tuple(filter(None, one.shape))
        for one in inputs
        if not one.is_shape_tensor
    }
    if not any(map(is_past, shapes)):
        return {}  # the session says that it cannot generate tokens
    plain = (name for name, shape in shapes.items() if len(shape) == 2)
    prompt = prompt_of(shapes, plain)
    second, middle, last = (prompt.shapes_after(n) for n in (1, max(tokens // 2, 1), tokens - 1))
    return {
        name: Span(
            low=tuple(map(min, shapes[name], second[name])),
            opt=middle[name],
            high=tuple(map(max, shapes[name], last[name])),
        )
        for name in spans
        if name in shapes
    }


def _of_profile(shapes: _Shapes, index: int) -> dict[str, tuple[int, ...]]:
    if not shapes:
        return {}
    if index >= len(shapes):
        what = f"optimization profile {index}"
        raise UsageError(what, why="min, opt and max name unequal numbers of them")
    return {one.name: one.dims for one in shapes[index]}


def _span(
    one: NetworkInput,
    known: Sequence[tuple[int, ...] | None],
    workload: Workload,
    assumed: dict[str, tuple[int, ...]],
) -> Span:
    low, opt, high = known
    opt = opt or high or low or _from_workload(one, workload, assumed)
    span = Span(low=low or opt, opt=opt, high=high or opt)
    for bound in (span.low, span.opt, span.high):
        _check_shape(one, bound)
    if not is_in_order((span.low, span.opt, span.high)):
        least, best, most = map(dims_text, (span.low, span.opt, span.high))
        why = f"min {least}, opt {best}, max {most} are not in ascending order"
        raise UsageError(f"shapes of {one.name}", why=why)
    return span


def _from_workload(
    one: NetworkInput, workload: Workload, assumed: dict[str, tuple[int, ...]]
) -> tuple[int, ...]:
    given = next((shape.dims for shape in workload.shapes if shape.name == one.name), None)
    if given is not None:
        if any(each.input == one.name for each in workload.open_dims):
            assumed[one.name] = given
        return given
    if one.is_shape_tensor:
        dims = (1,) * ((one.shape[0] if one.shape else 1) or 1)
        is_assumed = True
    else:
        batch = workload.batch
        dims = tuple(
            size if size is not None else ((batch or 1) if axis == 0 else 1)
            for axis, size in enumerate(one.shape)
        )
        is_assumed = None in (one.shape if batch is None else one.shape[1:])
    if is_assumed:
        assumed[one.name] = dims
    return dims


def _assumed(shapes: Mapping[str, tuple[int, ...]]) -> tuple[Notice, ...]:
    """Say once, for all inputs, that the engine is built for shapes that nobody asked for."""
    if not shapes:
        return ()
    inputs = ", ".join(f"{name} {dims_text(dims)}" for name, dims in shapes.items())
    first = next(iter(shapes))
    message = (
        f"using size 1 for dynamic dimensions: the engine is built for {inputs} only; "
        f"to set a size: --dim NAME=SIZE, --shape {first}:DIMS or --opt-shape {first}:DIMS"
    )
    evidence = {"shapes": {name: list(dims) for name, dims in shapes.items()}}
    return (Notice("W-BUILD-SHAPE", message, evidence),)


def _check_shape(one: NetworkInput, dims: tuple[int, ...]) -> None:
    if one.is_shape_tensor:
        count = one.shape[0] if one.shape else 1
        if count is not None and len(dims) != count:
            what = f"shape {dims_text(dims)} for input {one.name}"
            raise UsageError(what, why=f"it holds {count} values, which are dimensions")
        return
    what = f"shape {dims_text(dims)} for input {one.name}"
    wanted = "x".join("?" if size is None else str(size) for size in one.shape)
    if len(dims) != len(one.shape):
        raise UsageError(what, why=f"the model expects {wanted}")
    if any(size not in (None, dim) for size, dim in zip(one.shape, dims, strict=True)):
        raise UnsupportedError(what, why=f"the model has fixed dimensions: {wanted}")
