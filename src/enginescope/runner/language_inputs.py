"""Shapes and values of a language model's inputs: masks, positions, past keys and values."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

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
    sizes = {one.name: one.size for one in workload.dims}
    if workload.batch is not None:
        firsts = (dims[0] for name, dims in inputs.dims.items() if dims and not is_past(name))
        sizes = {one: workload.batch for one in firsts if isinstance(one, str)} | sizes
    dims = {name: _with_axis_names(name, one) for name, one in inputs.dims.items()}
    past = next((one[_TOKENS] for name, one in dims.items() if is_past(name) and one[1:]), None)
    if isinstance(past, str):
        sizes.setdefault(past, 0)
    for name, one in dims.items():
        if is_past(name):
            lengths = (dim for dim in one if isinstance(dim, str) and _is_past_length(dim))
            sizes |= {dim: sizes.get(dim, 0) for dim in lengths}
    length = _length(dims, sizes)
    for name, one in dims.items():
        for axis, dim in enumerate(one):
            if not isinstance(dim, str) or dim in sizes:
                continue
            terms = [term.strip() for term in dim.split("+")]
            if len(terms) > 1:
                sizes[dim] = sum(_size(term, sizes) for term in terms)
            elif past is not None and (
                "total" in dim or (is_mask(name) and axis and dim not in _token_dims(dims))
            ):
                sizes[dim] = past_length(dims, sizes) + length
    return replace(inputs, dims=dims), sizes


def _with_axis_names(name: str, dims: Dims) -> Dims:
    """Return dimensions with a name for a dynamic axis of tokens that has none."""
    named = list(dims)
    axis = len(dims) + _TOKENS if is_past(name) else len(dims) - 1
    if axis > 0 and named[axis] is None and (is_past(name) or is_mask(name)):
        named[axis] = "past_sequence_length" if is_past(name) else "total_sequence_length"
    return tuple(named)


def _is_past_length(dim: str) -> bool:
    return "past" in dim and "+" not in dim


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
    given = {file.name for file in workload.files} | {one.name for one in workload.filled}
    given |= {bounds.name for bounds in workload.ranges} - {*workload.index_inputs}
    past = past_length(inputs.dims, sizes)
    found = []
    for name, dims in inputs.dims.items():
        if name in given or len(dims) > 2:
            continue
        if is_mask(name):
            found.append(FilledInput(name=name, first=1))
        elif is_positions(name):
            found.append(FilledInput(name=name, first=past, step=1))
        elif is_segments(name):
            found.append(FilledInput(name=name, first=0))
        elif name == HAS_PAST:
            found.append(FilledInput(name=name, first=int(past > 0)))
    return tuple(found)
