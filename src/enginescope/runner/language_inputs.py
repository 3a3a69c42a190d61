"""Shapes and values of a language model's inputs: masks, positions, past keys and values."""

from __future__ import annotations

from collections.abc import Mapping

from enginescope.core.record import replace
from enginescope.formats.onnx.language_names import (
    HAS_PAST,
    is_mask,
    is_past,
    is_positions,
    is_segments,
    is_tokens,
)
from enginescope.formats.onnx.onnx_inputs import OnnxInputs
from enginescope.records.run.job import FilledInput, Workload

Dims = tuple[int | str | None, ...]
#: Of the axes of a key or value, the one along which tokens lie, without a name.
_TOKENS = -2


def with_language_sizes(
    inputs: OnnxInputs, workload: Workload
) -> tuple[OnnxInputs, dict[str, int]]:
    """Return the inputs with a name for each axis of tokens, and the sizes that follow from names.

    The past is empty unless the workload gives it a length. A mask is as long as the past and the
    tokens together.
    """
    sizes = {dim.name: dim.size for dim in workload.dims}
    if not any(map(is_past, inputs.dims)):
        return inputs, sizes
    if workload.batch is not None:
        firsts = (shape[0] for name, shape in inputs.dims.items() if shape and not is_past(name))
        sizes = {dim: workload.batch for dim in firsts if isinstance(dim, str)} | sizes
    dims = {name: _with_axis_names(name, shape) for name, shape in inputs.dims.items()}
    pasts = [shape for name, shape in dims.items() if is_past(name)]
    empty = {
        dim
        for shape in pasts
        for axis, dim in enumerate(shape, -len(shape))
        if isinstance(dim, str) and (axis == _TOKENS or ("past" in dim and "+" not in dim))
    }
    sizes = dict.fromkeys(empty, 0) | sizes
    total = past_length(dims, sizes) + _length(dims, sizes)
    for name, shape in dims.items():
        for axis, dim in enumerate(shape):
            if not isinstance(dim, str) or dim in sizes:
                continue
            terms = [term.strip() for term in dim.split("+")]
            if len(terms) > 1:
                sizes[dim] = sum(_size(term, sizes) for term in terms)
            elif "total" in dim or (is_mask(name) and axis and dim not in _token_dims(dims)):
                sizes[dim] = total
    return replace(inputs, dims=dims), sizes


def _with_axis_names(name: str, dims: Dims) -> Dims:
    """Return dimensions with a name for a dynamic axis of tokens that has none."""
    named = list(dims)
    axis = len(dims) + _TOKENS if is_past(name) else len(dims) - 1
    if axis > 0 and named[axis] is None and (is_past(name) or is_mask(name)):
        named[axis] = "past_sequence_length" if is_past(name) else "total_sequence_length"
    return tuple(named)


def past_length(dims: Mapping[str, Dims], sizes: Mapping[str, int]) -> int:
    """Return how many tokens the past holds."""
    pasts = (one[_TOKENS] for name, one in dims.items() if is_past(name) and one[1:])
    return next((_size(one, sizes) for one in pasts if one is not None), 0)


def _token_dims(dims: Mapping[str, Dims]) -> set[str]:
    """Return the names of the last dimensions of token ids."""
    of_ids = (one[-1] for name, one in dims.items() if is_tokens(name) and len(one) == 2)
    return {one for one in of_ids if isinstance(one, str)}


def _length(dims: Mapping[str, Dims], sizes: Mapping[str, int]) -> int:
    """Return how many tokens are fed: the last dimension of the ids."""
    of_ids = (one[-1] for name, one in dims.items() if is_tokens(name) and len(one) == 2)
    return next((_size(one, sizes) for one in of_ids if one is not None), 1)


def _size(dim: int | str, sizes: Mapping[str, int]) -> int:
    if isinstance(dim, int):
        return dim
    return int(dim) if dim.isdecimal() else sizes.get(dim, 1)


def filled_inputs(
    inputs: OnnxInputs, sizes: Mapping[str, int], workload: Workload
) -> tuple[FilledInput, ...]:
    """Return the inputs whose values follow from their names; those with a file or range do not."""
    known = {file.name for file in workload.files} | {one.name for one in workload.filled}
    known |= {bounds.name for bounds in workload.ranges} - {*workload.index_inputs}
    past = past_length(inputs.dims, sizes)
    filled = []
    for name, dims in inputs.dims.items():
        if name in known or len(dims) > 2:
            continue
        if is_mask(name):
            filled.append(FilledInput(name=name, first=1))
        elif is_positions(name):
            filled.append(FilledInput(name=name, first=past, step=1))
        elif is_segments(name):
            filled.append(FilledInput(name=name, first=0))
        elif name == HAS_PAST:
            filled.append(FilledInput(name=name, first=int(past > 0)))
    return tuple(filled)
