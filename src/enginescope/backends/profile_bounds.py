"""Check shapes of optimization profiles as options, ``min_shapes=x:1x3;x:8x3``.

The next step where a model rejects random integers: bounds for them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise

from enginescope.core.errors import BackendError, UsageError
from enginescope.formats.trtexec.trtexec_flags import read_shapes
from enginescope.judge.notice import Notice

_KEYS = ("min_shapes", "opt_shapes", "max_shapes")


def check_bounds(options: Mapping[str, str]) -> None:
    """Raise where least, best and largest shapes contradict each other, whatever the model.

    Args:
        options: Each of ``min_shapes``, ``opt_shapes`` and ``max_shapes`` readable, or missing.
    """
    given = {key: read_shapes(options[key]) for key in _KEYS if key in options}
    if len({len(one) for one in given.values()}) > 1:
        counts = ", ".join(f"{key} {len(one)}" for key, one in given.items())
        what = "optimization profiles"
        raise UsageError(what, why=f"min, opt and max name unequal numbers of them: {counts}")
    for of_profile in zip(*given.values(), strict=True):
        dims = [{shape.name: shape.dims for shape in shapes} for shapes in of_profile]
        for name in dict.fromkeys(name for dim in dims for name in dim):
            _check_order(name, [dim.get(name) for dim in dims], tuple(given))


def check_index(options: Mapping[str, str], index: int | None) -> None:
    """Raise unless an engine that is built with these options has that profile."""
    count = max((len(read_shapes(options[key])) for key in _KEYS if key in options), default=1)
    if index is not None and index >= count:
        has = "one optimization profile" if count == 1 else f"{count} optimization profiles"
        what = f"profile_index={index}"
        hint = "min_shapes, opt_shapes and max_shapes name more, with ; between them"
        raise UsageError(what, why=f"the engine is built with {has}, from 0", hint=hint)


def is_in_order(bounds: Sequence[tuple[int, ...]]) -> bool:
    """Whether shapes have the same axes, none of them shorter than in the shape before."""
    return all(
        len(low) == len(high) and all(a <= b for a, b in zip(low, high, strict=True))
        for low, high in pairwise(bounds)
    )


def dims_text(dims: tuple[int, ...]) -> str:
    """Return ``1x3x224x224``, or ``scalar``."""
    return "x".join(map(str, dims)) or "scalar"


def _check_order(name: str, bounds: Sequence[tuple[int, ...] | None], keys: Sequence[str]) -> None:
    known = [(key, dims) for key, dims in zip(keys, bounds, strict=True) if dims is not None]
    if not is_in_order([dims for _, dims in known]):
        told = ", ".join(f"{key[:3]} {dims_text(dims)}" for key, dims in known)
        raise UsageError(f"shapes of {name}", why=f"{told} are not in ascending order")


@contextmanager
def hinting_at_inputs(
    random_integers: tuple[str, ...], notices: Sequence[Notice] = ()
) -> Iterator[None]:
    """In this block, a failure names what to suspect first: unbounded integers, and sizes of 1.

    Args:
        notices: On the inputs.
    """
    try:
        yield
    except BackendError as error:
        hints = [notice.message for notice in notices if notice.code == "W-DYNAMIC-SHAPE"]
        if random_integers:
            names, bounds = ", ".join(random_integers), f"--range {random_integers[0]}:0:99"
            hints.append(
                f"{names} has random integers; if they index a table, set bounds: {bounds}, or "
                "ranges of a suite's [[model]]"
            )
        if error.hint or not hints:
            raise
        raise BackendError(error.what, why=error.why, hint="; ".join(hints)) from error
