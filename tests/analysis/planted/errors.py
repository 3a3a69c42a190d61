"""Errors as bugs of engines, exporters and scripts make them, planted in honest outputs.

Each function takes the kind, the reference's samples, an honest run's samples and a generator. It
returns the wrong samples, or None where the kind has no such error.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.analysis.planted.kinds import Kind
from tests.analysis.planted.views import Arrays

Error = Callable[[Kind, Arrays, Arrays, Any], "Arrays | None"]


def _on_channel(
    kind: Kind, reference: Arrays, honest: Arrays, change: Callable[[Any], Any]
) -> Arrays | None:
    if kind.axis is None or honest[0].dtype == object:
        return None
    target, made = kind.target(reference), []
    for one in honest:
        wrong = np.moveaxis(one.copy(), kind.axis, 0)
        wrong[target] = _cast(change(wrong[target].astype(np.float64)), one.dtype)
        made.append(np.moveaxis(wrong, 0, kind.axis))
    return made


def _cast(values: Any, dtype: Any) -> Any:
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)
    return np.asarray(values).astype(dtype)


def _numeric(honest: Arrays, change: Callable[[Any], Any]) -> Arrays | None:
    if honest[0].dtype == object or honest[0].dtype == bool:
        return None
    return [_cast(change(one.astype(np.float64)), one.dtype) for one in honest]


def _each_channel(change: Callable[[Any], Any]) -> Error:
    return lambda kind, reference, honest, rng: _on_channel(kind, reference, honest, change)


def _each_number(change: Callable[[Any], Any]) -> Error:
    return lambda kind, reference, honest, rng: _numeric(honest, change)


def channel_offset(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    """Add the channel's own spread to it."""
    if kind.axis is None or honest[0].dtype == object:
        return None
    target = kind.target(reference)
    own = [np.moveaxis(one, kind.axis, 0)[target].ravel() for one in reference]
    spread = float(np.concatenate(own).astype(np.float64).std())
    return _on_channel(kind, reference, honest, lambda x: x + spread)


def swapped_channels(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    if kind.axis is None:
        return None
    target, made = kind.target(reference), []
    for one in honest:
        wrong = np.moveaxis(one.copy(), kind.axis, 0)
        other = (target + 1) % len(wrong)
        wrong[[target, other]] = wrong[[other, target]]
        made.append(np.moveaxis(wrong, 0, kind.axis))
    return made


def saturated(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    """Clip to a quarter of the range, as a wrong calibration does."""
    if honest[0].dtype in (object, bool):
        return None
    limit = max(float(np.abs(one[np.abs(one) < 1e8]).max()) for one in reference) / 4
    return _numeric(honest, lambda x: np.clip(x, -limit, limit))


def shared_scale(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    """Round to 255 steps of the whole output's range, as one scale for boxes and scores does."""
    if honest[0].dtype in (object, bool):
        return None
    step = max(float(np.abs(one).astype(np.float64).max()) for one in reference) / 127
    return _numeric(honest, lambda x: step * np.clip(np.rint(x / step), -127, 127))


def swapped_samples(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    """Give each sample the next one's output, cut or repeated to its own shape."""
    return [np.resize(b, a.shape) for a, b in zip(honest, [*honest[1:], honest[0]], strict=True)]


def transposed(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    """Write columns before rows into a buffer of the right shape."""
    if honest[0].ndim < 2:
        return None
    return [one.swapaxes(-1, -2).reshape(one.shape) for one in honest]


def shuffled_rows(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    if honest[0].shape[kind.rows] < 2:
        return None
    return [np.take(one, rng.permutation(one.shape[kind.rows]), kind.rows) for one in honest]


def last_rows_cut(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    if honest[0].shape[kind.rows] < 2:
        return None
    return [np.take(one, range(one.shape[kind.rows] - 1), kind.rows) for one in honest]


def last_rows_unwritten(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    """Leave zeros in the last quarter of the rows, as a kernel that stops early does."""
    if honest[0].dtype == object or honest[0].shape[kind.rows] < 2:
        return None
    made = [one.copy() for one in honest]
    for one in made:
        rows = np.moveaxis(one, kind.rows, 0)
        rows[-max(1, len(rows) // 4) :] = 0
    return made


def shifted_by_one(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    return [np.roll(one, 1, axis=kind.rows) for one in honest] if honest[0].ndim else None


def nan_in_part(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    """Make 1 of 20 elements of one sample NaN, and at least one."""
    if honest[0].dtype.kind != "f":
        return None
    made = [one.copy() for one in honest]
    flat = made[-1].reshape(-1)
    flat[rng.choice(flat.size, max(1, flat.size // 20), replace=False)] = np.nan
    return made


def one_item_wrong(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    """Replace the last sample by one of other inputs."""
    other = kind.reference(kind.draw(np.random.default_rng(rng.integers(1 << 30))))
    return [*honest[:-1], np.resize(other[0], honest[-1].shape).astype(honest[-1].dtype)]


def stuck_at_mean(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    """Give each channel's mean whatever the input is."""
    if honest[0].dtype in (object, bool):
        return None
    if kind.axis is None:
        mean = np.mean([one.astype(np.float64).mean() for one in reference])
        return [_cast(np.full(one.shape, mean), one.dtype) for one in honest]
    every = [np.moveaxis(one, kind.axis, -1).reshape(-1, one.shape[kind.axis]) for one in reference]
    mean = np.concatenate(every).astype(np.float64).mean(0)
    shape = [1] * honest[0].ndim
    shape[kind.axis] = -1
    return [_cast(np.broadcast_to(mean.reshape(shape), one.shape), one.dtype) for one in honest]


def noise_instead(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    """Replace the values by noise of the same mean and spread in each channel."""
    means = stuck_at_mean(kind, reference, honest, rng)
    if means is None:
        return None
    made = []
    for one, mean in zip(honest, means, strict=True):
        spread = (one.astype(np.float64) - mean).std()
        if kind.axis is not None:
            others = tuple(at for at in range(one.ndim) if at != kind.axis % one.ndim)
            spread = (one.astype(np.float64) - mean).std(axis=others, keepdims=True)
        made.append(_cast(mean + spread * rng.standard_normal(one.shape), one.dtype))
    return made


def best_two_swapped(kind: Kind, reference: Arrays, honest: Arrays, rng: Any) -> Arrays | None:
    """Swap the best class and the runner-up of the least sure item that is still sure.

    Of all items, the one whose margin is the median.
    """
    if kind.name not in ("classification", "tokens", "masked logits", "OCR"):
        return None
    made = [one.copy() for one in honest]
    rows = [row for one in made for row in one.reshape(-1, one.shape[-1])]
    margins = [float(np.diff(np.partition(row, -2)[-2:])[0]) for row in rows]
    chosen = rows[int(np.argsort(margins)[len(rows) // 2])]
    first, second = np.argsort(chosen)[-1], np.argsort(chosen)[-2]
    chosen[[first, second]] = chosen[[second, first]]
    return made


ERRORS: dict[str, Error] = {
    "zeroed channel": _each_channel(lambda x: 0 * x),
    "channel × 0.5": _each_channel(lambda x: 0.5 * x),
    "channel + its spread": channel_offset,
    "swapped channels": swapped_channels,
    "all × 1.01": _each_number(lambda x: 1.01 * x),
    "all × 0.5": _each_number(lambda x: 0.5 * x),
    "sign flipped": _each_number(lambda x: -x),
    "saturated at ¼ of the range": saturated,
    "one INT8 scale for all": shared_scale,
    "swapped samples": swapped_samples,
    "transposed": transposed,
    "shuffled rows": shuffled_rows,
    "last row cut": last_rows_cut,
    "last rows unwritten": last_rows_unwritten,
    "shifted by one row": shifted_by_one,
    "NaN in part": nan_in_part,
    "one item wrong": one_item_wrong,
    "stuck at the mean": stuck_at_mean,
    "noise instead": noise_instead,
    "best two classes swapped": best_two_swapped,
}
