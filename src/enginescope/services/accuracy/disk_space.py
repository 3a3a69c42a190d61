"""Whether the disk has room for the outputs of all sides, before any side runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.core.units import format_bytes
from enginescope.records.tensor import Tensor


def check_space(folder: Path, sides: Iterable[Iterable[Tensor]], samples: int) -> None:
    """Raise if the outputs to so many samples do not fit on the disk of `folder`.

    Args:
        sides: What each side gives for a sample. A dimension that is not known counts as 1, a type
            or shape that is not known as nothing: the outputs need no less.
    """
    needed = samples * sum(_least_bytes(output) for outputs in sides for output in outputs)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UsageError(
            f"outputs for {samples:,} samples",
            why=f"they need {format_bytes(needed)} or more in {folder}, "
            f"{format_bytes(free)} are free",
            hint="TMPDIR or `output` on another disk, or fewer `samples`",
        )


def _least_bytes(output: Tensor) -> int:
    if output.shape is None:
        return 0
    shape = tuple(1 if dim is None else dim for dim in output.shape)
    return replace(output, shape=shape).nbytes or 0
