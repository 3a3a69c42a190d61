"""Error against time: the choices that no other one beats in both are joined by a line."""

import math
from collections.abc import Mapping, Sequence

from enginescope.render.base.palette import GREY
from enginescope.render.html.images import Spec, category, quantity
from enginescope.render.html.images import marks as layer


def error_time(
    points: Sequence[Spec],
    *,
    x: Spec,
    y_title: str,
    marks: Mapping[str, tuple[str, str]],
    tips: list[Spec],
) -> list[Spec]:
    """Return layers: the line, an interval of each time, and a mark, large on the line.

    Args:
        points: Each with ``time``, ``low``, ``high``, ``error`` and ``kind``; on the line if
            ``is_best``.
        x: The channel of ``time``.
        marks: Color and shape of each kind, in the order of the legend.
        tips: Tooltip of a mark.
    """
    errors = [point["error"] for point in points if point["error"] > 0]
    floor = min(errors, default=1e-9) / 10  # errors of 0 have no logarithm
    rows = [{**point, "drawn": max(point["error"], floor)} for point in points]
    axis: Spec = {"tickCount": 5, "format": ".1~e"}
    if len(errors) < len(rows):  # one of 0 has the lowest tick
        words = f"datum.value < {1.01 * floor!r} ? '0' : format(datum.value, '.1~e')"
        axis = {"values": [floor, *_steps(errors)], "labelExpr": words}
    scale = {"type": "log", "nice": False, "padding": 22}
    legend: Spec = {"orient": "top", "columns": 1, "title": None, "labelLimit": 300}
    y = quantity("drawn", f"{y_title} (log)", scale=scale, axis=axis)
    best = sorted((row for row in rows if row["is_best"]), key=lambda row: row["time"])
    shown = [kind for kind in marks if any(row["kind"] == kind for row in rows)]
    color, shape = (
        category("kind", {kind: marks[kind][part] for kind in shown}, legend=legend)
        for part in (0, 1)
    )
    line = {"type": "line", "interpolate": "step-after", "strokeDash": [4, 3], "color": GREY}
    size = {"condition": {"test": "datum.is_best", "value": 110}, "value": 45}
    ends: Spec = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y}
    point = {"type": "point", "filled": True, "opacity": 1}
    looks: Spec = {"color": color, "shape": shape, "size": size}
    return [
        layer(best, line, x=x, y=y),
        layer(rows, {"type": "rule", "strokeWidth": 1.4}, **ends),
        layer(rows, point, x=x, y=y, **looks, tooltip=tips),
    ]


def _steps(errors: Sequence[float]) -> list[float]:
    """Return powers of ten, or 1, 2 and 5 of each, from the smallest error to the largest."""
    if not errors:
        return []
    first, last = (math.floor(math.log10(end)) for end in (min(errors), max(errors)))
    shares = (1,) if last - first > 1 else (1, 2, 5)
    steps = [share * 10.0**power for power in range(first, last + 2) for share in shares]
    return [step for step in steps if min(errors) / 2 < step < 2 * max(errors)]
