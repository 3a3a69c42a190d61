"""Times of each layer: trtexec's ``--exportProfile``, Torch-TensorRT's, and nestings of them."""

from __future__ import annotations

from typing import Any

from enginescope.core.errors import FormatError
from enginescope.formats.json_walk import finite_number, lists_within
from enginescope.formats.lenient_json import Document, read_json
from enginescope.formats.plan_layer import whole_number
from enginescope.formats.unit_keys import split_unit
from enginescope.model.notice import Notice
from enginescope.model.timing import LayerTiming, Profile

_TOTAL = ("time", "total", "totaltime")
_MEAN = ("average", "avg", "mean", "averagetime", "avgtime", "meantime")
_MEDIAN = ("median", "mediantime")
_SHARE = ("percentage", "percent", "pct", "timepct")
_TIMES = frozenset((*_TOTAL, *_MEAN, *_MEDIAN))


def parse_profile(data: bytes, source: str) -> tuple[Profile, tuple[Notice, ...]]:
    """Return the layer times in a JSON file.

    Parameters
    ----------
    data : bytes
    source : str
        The file, for messages.

    Returns
    -------
    profile : Profile
        Layers in the file's order; repeated names stay apart by position. ``timeMs`` is a total
        over the iterations, ``averageMs`` the time of one.
    notices : tuple of Notice

    Raises
    ------
    FormatError
        It is not JSON, or holds no layer times with a unit.
    """
    return profile_of(read_json(data, source))


def profile_of(document: Document) -> tuple[Profile, tuple[Notice, ...]]:
    """Return the layer times in a file already read; see `parse_profile`."""
    items = _records(document.value)
    if items is None:
        raise FormatError(
            document.source, why="no layer times in it", expected="a list with name and averageMs"
        )
    iterations = _iterations(document.value, items)
    rows = [one for one in items if _is_row(one)]
    layers = tuple(_timing(index, row, iterations) for index, row in enumerate(rows))
    left_out = len(items) - len(rows) - sum(_is_count(one) for one in items)
    notices = document.notices
    if left_out:
        notices = (*notices, _left_out(document.source, left_out))
    source = "trtexec" if _is_trtexec(document.value, iterations, layers) else "torch-tensorrt"
    return Profile(source=source, layers=layers, iterations=iterations), notices


def is_profile(value: Any) -> bool:
    """Whether JSON values look like layer times."""
    return _records(value) is not None


def _records(value: Any) -> list[Any] | None:
    found = (items for _, _, items in lists_within(value))
    return next((items for items in found if any(_is_row(one) for one in items)), None)


def _is_row(raw: Any) -> bool:
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str) or "cat" in raw:
        return False
    fields = (split_unit(key) for key in raw)
    return any(name in _TIMES and factor is not None for name, factor in fields)


def _is_count(raw: Any) -> bool:
    return isinstance(raw, dict) and "count" in raw and "name" not in raw


def _iterations(value: Any, items: list[Any]) -> int | None:
    counts = [one["count"] for one in items if _is_count(one)]
    if isinstance(value, dict):
        counts += [value.get("count"), value.get("iterations")]
    known = (whole_number(one) for one in counts)
    return next((one for one in known if one is not None and one > 0), None)


def _is_trtexec(value: Any, iterations: int | None, layers: tuple[LayerTiming, ...]) -> bool:
    """Torch-TensorRT writes a bare list without a count and without medians."""
    if iterations is not None or not isinstance(value, list):
        return True
    return any(one.median_ms is not None for one in layers)


def _timing(index: int, row: dict[str, Any], iterations: int | None) -> LayerTiming:
    total, mean, median = (_in_ms(row, names) for names in (_TOTAL, _MEAN, _MEDIAN))
    if mean is None and total is not None and iterations:
        mean = total / iterations
    return LayerTiming(
        index=index,
        name=row["name"],
        mean_ms=mean,
        median_ms=median,
        total_ms=total,
        share_pct=_share(row),
    )


def _in_ms(row: dict[str, Any], names: tuple[str, ...]) -> float | None:
    for key, raw in row.items():
        name, factor = split_unit(key)
        value = finite_number(raw)
        if name in names and factor is not None and value is not None:
            return value * factor
    return None


def _share(row: dict[str, Any]) -> float | None:
    found = (finite_number(raw) for key, raw in row.items() if split_unit(key)[0] in _SHARE)
    return next((one for one in found if one is not None), None)


def _left_out(source: str, count: int) -> Notice:
    return Notice(
        code="W-RECORDS",
        message=f"{source} has {count} records that are no layer times; they are left out",
        evidence={"file": source, "left_out": count},
    )
