"""Outputs that are maps: of depth, of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.analysis.errors.output_numbers import flat_numbers, kind_of
from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.records.run.tensor_values import TensorValues

#: Fewer rows or columns are no map.
_LEAST = 2


def single_maps(values: TensorValues) -> Any | None:
    """Return an output as maps in float64, items × height × width; ``None`` where it is none.

    Height × width, items × height × width, and either with an axis of 1 for channels.
    """
    shape = values.shape
    if kind_of(values.dtype) not in ("float", "int"):
        return None
    if len(shape) == 4 and 1 in (shape[1], shape[3]):
        shape = (shape[0], shape[2], shape[3]) if shape[1] == 1 else shape[:3]
    if len(shape) == 2:
        shape = (1, *shape)
    if len(shape) != 3 or min(shape[1:]) < _LEAST:
        return None
    return flat_numbers(values).astype(np.float64).reshape(shape)


def first_maps(answers: Sequence[TensorValues], output: str | None, task: str) -> Any:
    """Return the maps of the first output that is one, items × height × width.

    Raises:
        UsageError: None is a map, or none is called `output`.
    """
    for one in named_output(answers, output, task):
        maps = single_maps(one)
        if maps is not None:
            return maps
    shapes = ", ".join(f"{answer.name} {'×'.join(map(str, answer.shape))}" for answer in answers)
    raise UsageError(f"{task}: no output is a map", why=shapes, hint="height × width, one channel")


def named_output(
    answers: Sequence[TensorValues], name: str | None, task: str
) -> Sequence[TensorValues]:
    """Return all answers, or the one called `name`.

    Raises:
        UsageError: There is none of that name.
    """
    if name is None:
        return answers
    found = [answer for answer in answers if answer.name == name]
    if not found:
        known = [answer.name for answer in answers]
        raise UsageError(
            f"{task}: no output is called {name!r}", hint=did_you_mean(name, dict.fromkeys(known))
        )
    return found
