"""Compared outputs in words, cells and pictures: errors by size, place, channel and sample."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from enginescope.analysis.accuracy.binding_check import BindingDifference
from enginescope.analysis.accuracy.output_diff import OutputDiff, SideDiff
from enginescope.analysis.errors.channel_errors import flat_numbers, kind_of
from enginescope.analysis.errors.error_moments import HISTOGRAM_EDGES
from enginescope.analysis.tasks.task_scoring import TaskSide
from enginescope.analysis.validation.validation import ValidatedSide, Validation
from enginescope.core.record import Record, replace
from enginescope.judge.units import counted, format_significant
from enginescope.records.run.run import TensorValues
from enginescope.render.accuracy.task_answer import task_answer
from enginescope.render.base.figures import UNKNOWN
from enginescope.render.base.palette import BLUE, GREY, VERMILLION
from enginescope.render.base.short_names import told_apart
from enginescope.render.html import images

S = TypeVar("S", ValidatedSide, TaskSide)


def answer(found: Validation) -> str:
    """Return the answer in one sentence."""
    if found.task is not None and (found.task.limits or not found.sides):
        said = task_answer(found.task)
        return f"{said}; {_sides_answer(found)}" if found.sides else said
    return _sides_answer(found)


def _sides_answer(found: Validation) -> str:
    if len(found.sides) == 1:
        return side_answer(found.sides[0])
    passed = sum(side.passes for side in found.sides)
    if passed == len(found.sides):
        return f"All {passed} sides pass"
    return f"{len(found.sides) - passed} of {len(found.sides)} sides do not pass"


def side_answer(side: ValidatedSide) -> str:
    """Return a side's answer in one sentence."""
    if side.failure:
        return f"{side.label} could not run"
    if side.diff is None:
        inputs = "; ".join(map(difference_text, side.blocked))
        return f"{side.label} fails: the models have different inputs: {inputs}"
    outputs = side.diff.outputs
    if side.passes:
        exact = all(output.figures and output.figures.unequal == 0 for output in outputs)
        tolerances = (output.tolerance for output in outputs)
        limits = dict.fromkeys(
            "--atol and --rtol" if row.is_given else row.name for row in tolerances
        )
        how = "equal to the reference" if exact else f"within the limits of {', '.join(limits)}"
        answer = f"{side.label} passes: {counted(len(outputs), 'output')} {how}"
        codes = [{notice.code for notice in output.notices} for output in outputs]
        if all("W-CONSTANT-OUTPUT" in known for known in codes):
            return f"{answer}, which shows little: every output is constant"
        return answer
    bad = [output for output in outputs if not output.passes]
    first = _how_far(side.diff, bad[0]) if bad else "no outputs"
    names = "outputs " if bad[1:] else "output "
    names += ", ".join(one.name for one in bad[:3]) + (" …" if len(bad) > 3 else "")
    return f"{side.label} fails: {names} ({first})" if bad else f"{side.label} fails: {first}"


def _how_far(diff: SideDiff, one: OutputDiff) -> str:
    """Return the first limit that an output breaks; of its error how far, and in which samples."""
    code, limit = one.reasons[0].code, one.error_limit
    mine = (each.figures for each in diff.samples if each.output == one.name)
    known = [figures.error_to_spread for figures in mine if figures is not None]
    whole = one.figures.error_to_spread if one.figures is not None else None
    if code != "error" or not limit or whole is None:
        return code
    beyond = sum((error or 0.0) > limit for error in known)
    far = f"{code} {format_significant(whole / limit, 2)} × the limit"
    return f"{far}, {beyond:,} of {counted(len(known), 'sample')}" if known[1:] else far


def limits_text(side: ValidatedSide) -> str:
    """Return which limits hold for a side's outputs, and why those."""
    outputs = side.diff.outputs if side.diff else ()
    given = [output for output in outputs if output.tolerance.is_given]
    if outputs and len(given) == len(outputs):
        return f"those of --atol and --rtol{_beyond(outputs)}"
    names = ", ".join(output.name for output in given)
    more = f"; those of --atol and --rtol for {names}" if given else ""
    return f"{side.tolerance}: {side.tolerance_why}{more}{_beyond(given)}"


def _beyond(outputs: Sequence[OutputDiff]) -> str:
    """Return the largest share of elements beyond a user's limits, and the share allowed."""
    known = [
        (output.figures.mismatch_pct, output.tolerance.mismatch_pct or 0.0)
        for output in outputs
        if output.figures is not None and output.figures.mismatch_pct is not None
    ]
    if not known:
        return ""
    beyond, allowed = max(known, key=lambda pair: pair[0] - pair[1])
    return f"; {beyond:.3g} % of the elements are beyond them, {allowed:.3g} % may be"


def bindings_text(found: Validation) -> str:
    """Return in one line whether everyone takes and gives the same tensors."""
    counts = f"{counted(len(found.inputs), 'input')}, {counted(len(found.outputs), 'output')}"
    blocked = [side.label for side in found.sides if side.blocked]
    if blocked:
        return f"incompatible: {', '.join(blocked)}"
    if any(side.bindings for side in found.sides):
        return f"compatible, with differences: {counts}"
    return f"the same: {counts}" if found.outputs else "not known"


def difference_text(one: BindingDifference) -> str:
    """Return a difference of bindings as a phrase."""
    what = f"{one.role} {one.name!r}"
    if one.what == "missing":
        return f"only the reference has {what}"
    if one.what == "extra":
        return f"only this side has {what}"
    return f"{what} is {one.side}, {one.reference} in the reference"


#: Limits on figures of the whole output: where one is broken, others mostly are too.
_ON_FIGURES = frozenset({"underflow", "error", "peak", "channel-error", "channel-peak", "mismatch"})


def reason_texts(one: OutputDiff) -> tuple[str, ...]:
    """Return why an output fails: of its limits on figures the first in words, others by name."""
    on_figures = [reason for reason in one.reasons if reason.code in _ON_FIGURES]
    others = list(dict.fromkeys(reason.code for reason in on_figures))[1:]
    also = f"; also {', '.join(others)}" if others else ""
    return tuple(
        f"{one.name}: {reason.message} ({reason.code}{also if reason.code in _ON_FIGURES else ''})"
        for reason in one.reasons
        if reason.code not in _ON_FIGURES or reason is on_figures[0]
    )


def worst_text(diff: SideDiff) -> str | None:
    """Return which sample is farthest from its reference."""
    worst = diff.worst
    if worst is None or (worst.figures and not worst.figures.unequal):
        return None
    ratio = worst.figures.error_to_spread if worst.figures else None
    how = "not equal" if worst.figures else worst.reason
    how = how if ratio is None else f"err ÷ spread {error_text(ratio)}"
    return f"sample {worst.sample} ({worst.name}): {worst.output}, {how}"


def error_text(value: float | None) -> str:
    """Return an error to three figures; its power of ten where it is small."""
    return UNKNOWN if value is None else f"{value:.3g}"


def cosine_text(value: float | None) -> str:
    """Return a cosine with the digits that tell it from 1."""
    return UNKNOWN if value is None else f"{value:.6f}"


def called_apart(found: Validation) -> tuple[Validation, str | None]:
    """Return a comparison whose sides have short names, and the options that these leave out.

    Files have the names whole. Of a single side nothing is left out.
    """
    labels = [side.label for side in found.sides]
    apart = told_apart(labels)
    if apart.shared is None:
        return found, None
    short = dict(zip(labels, apart.labels, strict=True))

    def renamed(side: S) -> S:
        return replace(side, label=short.get(side.label, side.label))

    task = found.task and replace(found.task, sides=tuple(map(renamed, found.task.sides)))
    return replace(found, sides=tuple(map(renamed, found.sides)), task=task), apart.shared


#: Fewer rows or columns are no map; more are thinned out.
_LEAST, _MOST = 16, 512


class WorstAnswer(Record, frozen=True, kw_only=True, eq=False):
    """An output of a sample on both sides.

    Attributes:
        side: Its label.
        name: The sample's.
    """

    side: str
    sample: int
    name: str
    reference: TensorValues
    candidate: TensorValues


def panels_of(worst: WorstAnswer) -> images.Panels | None:
    """Return the maps of an output; ``None`` where it is not a map."""
    maps = _map(worst.reference), _map(worst.candidate)
    if maps[0] is None or maps[1] is None or maps[0].shape != maps[1].shape:
        return None
    known = maps[0][np.isfinite(maps[0])]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    with np.errstate(invalid="ignore"):
        error = np.abs(maps[1] - maps[0])
    most = float(np.max(error, where=np.isfinite(error), initial=0.0))
    return images.Panels(
        title=f"{worst.reference.name} of sample {worst.sample} ({worst.name}), {worst.side}",
        panels=(
            _panel("reference", maps[0], low, high),
            _panel("this side", maps[1], low, high),
            _panel("|error|", error, 0.0, most),
        ),
    )


def _panel(title: str, values: Any, low: float, high: float) -> images.Panel:
    png = base64.b64encode(images.heat_png(values, low, high)).decode()
    text = f"{error_text(low)} … {error_text(high)}"
    return images.Panel(title=title, image=f"data:image/png;base64,{png}", range_text=text)


def _map(values: TensorValues) -> Any | None:
    """Return height × width of a tensor: its first item, the mean of few channels, or the first."""
    shape = tuple(one for one in values.shape if one != 1)
    if kind_of(values.dtype) not in ("float", "int") or len(shape) not in (2, 3, 4):
        return None
    array = flat_numbers(values).astype(np.float64).reshape(shape)
    while array.ndim > 3:
        array = array[0]
    if array.ndim == 3:
        planes = np.moveaxis(array, 2, 0) if array.shape[2] in (3, 4) else array
        with np.errstate(invalid="ignore"):
            array = planes.mean(axis=0) if len(planes) in (3, 4) else planes[0]
    if min(array.shape) < _LEAST:
        return None
    step = max(1, -(-max(array.shape) // _MOST))
    return array[::step, ::step]


_POINTS = 2_000
#: Outputs that are drawn, those that fail first.
MOST_DRAWN = 6


def output_charts(key: str, diff: SideDiff, worst: Sequence[WorstAnswer]) -> Iterator[images.Chart]:
    """Yield the pictures of a side: its worst sample, each sample, and each output.

    Args:
        key: Begins the names of the charts; no other's.
    """
    drawn = sorted(diff.outputs, key=lambda one: one.passes)[:MOST_DRAWN]
    charts = [_value_pairs(one, f"{key}-values") for one in worst[:1]]
    charts.append(_sample_errors(diff, f"{key}-samples"))
    for at, one in enumerate(drawn):
        charts.append(_error_histogram(one, f"{key}-o{at}-errors"))
        charts.append(_channel_errors(one, f"{key}-o{at}-channels"))
    yield from (chart for chart in charts if chart is not None)


def _error_histogram(one: OutputDiff, key: str) -> images.Chart | None:
    """Elements by |error|; ``None`` where there is no error."""
    filled = [at for at, count in enumerate(one.errors) if count]
    if not filled:
        return None
    exact = f"{one.zero_errors:,} elements have no error" if one.zero_errors else None
    edges = (0.0, *HISTOGRAM_EDGES, HISTOGRAM_EDGES[-1])
    return _bars(
        key,
        f"{one.name}: elements by |error|",
        ("|error| from", "to", "elements"),
        [
            (f"{edges[at]:.3g}", f"{edges[at + 1]:.3g}", one.errors[at])
            for at in range(filled[0], filled[-1] + 1)
        ],
        subtitle=exact,
    )


def _channel_errors(one: OutputDiff, key: str) -> images.Chart | None:
    """RMSE of every channel; ``None`` where the output has no channels, or no error."""
    found = one.channels
    if found is None:
        return None
    limits = found.rmse_limit or (None,) * len(found.rmse)
    parts = {
        at: rmse / limit if limit else rmse
        for at, (rmse, limit) in enumerate(zip(found.rmse, limits, strict=True))
        if rmse is not None
    }
    if not any(parts.values()):
        return None
    shown = sorted(sorted(parts, key=lambda at: -parts[at])[:256])
    fewer = f"The {len(shown)} of {len(found.rmse):,} nearest to their limits or beyond them"
    return _bars(
        key,
        f"{one.name}: error by channel",
        (f"channel (axis {found.axis})", "largest |error|", "RMSE"),
        [(str(at), f"{found.max_abs_error[at]:.4g}", found.rmse[at]) for at in shown],
        subtitle=fewer if len(shown) < len(found.rmse) else None,
    )


def _bars(
    key: str,
    title: str,
    headers: tuple[str, str, str],
    rows: Sequence[tuple[str, str, Any]],
    *,
    subtitle: str | None = None,
) -> images.Chart:
    """Return a bar for each row: its place, what a tooltip tells besides, and its height."""
    place, beside, height = headers
    values = [dict(zip(("place", "beside", "height"), row, strict=True)) for row in rows]
    labels = {"labelAngle": 0, "labelOverlap": True}
    spec = images.marks(
        values,
        {"type": "bar", "color": BLUE, "width": {"band": 0.9}},
        x={"field": "place", "type": "ordinal", "sort": None, "title": place, "axis": labels},
        y=images.quantity("height", height, axis={"format": "~g"} if height == "RMSE" else {}),
        tooltip=images.tooltip(place=place, beside=beside, height=f"{height}#"),
    )
    table = images.ChartTable(
        headers=headers,
        rows=tuple((a, b, f"{c:,}" if isinstance(c, int) else f"{c:.4g}") for a, b, c in rows),
    )
    return images.Chart(
        key=key, title=title, subtitle=(subtitle,) if subtitle else (), spec=spec, table=table
    )


def _sample_errors(side: SideDiff, key: str) -> images.Chart | None:
    """RMSE ÷ spread of every sample; ``None`` for one sample alone."""
    rows = [
        {"sample": sample.sample, "name": sample.name, "output": sample.output,
         "error": sample.figures.error_to_spread}
        for sample in side.samples
        if sample.figures is not None and sample.figures.error_to_spread is not None
    ]  # fmt: skip
    if len({row["sample"] for row in rows}) < 2:
        return None
    step = -(-len(rows) // _POINTS)
    return images.Chart(
        key=key,
        title="Error of each sample",
        subtitle=(f"One of {step} is drawn",) if step > 1 else (),
        spec=images.marks(
            rows[::step],
            {"type": "point", "filled": True, "size": 40},
            x=images.quantity("sample", "sample", axis={"tickMinStep": 1}),
            y=images.quantity("error", "RMSE ÷ spread of the reference", axis={"format": "~g"}),
            color={"field": "output", "type": "nominal", "title": "output"},
            tooltip=images.tooltip(sample="sample", name="name", output="output", error="error#"),
        ),
        table=images.ChartTable(
            headers=("sample", "output", "RMSE ÷ spread"),
            rows=tuple(
                (str(r["sample"]), str(r["output"]), f"{r['error']:.4g}")
                for r in rows[:: -(-len(rows) // 200)]
            ),
        ),
    )


def _value_pairs(worst: WorstAnswer, key: str) -> images.Chart | None:
    """Values of a sample's output against the reference's; ``None`` for what are not numbers."""
    kinds = {kind_of(one.dtype) for one in (worst.reference, worst.candidate)}
    if not kinds <= {"float", "int"} or worst.reference.shape != worst.candidate.shape:
        return None
    a, b = (flat_numbers(one).astype(np.float64) for one in (worst.reference, worst.candidate))
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    if a.size < 2:
        return None
    at: Sequence[int] = range(a.size)
    if a.size > _POINTS:  # some places evenly, and those of the largest errors
        far = np.argpartition(np.abs(b - a), -200)[-200:]
        even = np.linspace(0, a.size - 1, _POINTS - 200).astype(int)
        at = [int(place) for place in np.unique(np.concatenate([far, even]))]
    low, high = float(min(a.min(), b.min())), float(max(a.max(), b.max()))
    points = [{"r": float(a[one]), "c": float(b[one])} for one in at]
    x = images.quantity("r", "reference", scale={"zero": False})
    y = images.quantity("c", "this side", scale={"zero": False})
    equal: list[images.Spec] = [{"r": low, "c": low}, {"r": high, "c": high}]
    point = {"type": "point", "filled": True, "size": 18, "color": VERMILLION, "opacity": 0.6}
    layers = [
        images.marks(equal, {"type": "line", "color": GREY, "strokeDash": [4, 4]}, x=x, y=y),
        images.marks(
            points, point, x=x, y=y, tooltip=images.tooltip(r="reference#", c="this side#")
        ),
    ]
    fewer = f"{len(at):,} of {a.size:,} values, those with the largest errors among them"
    return images.Chart(
        key=key,
        title=f"{worst.reference.name} of the worst sample, {worst.sample} ({worst.name})",
        subtitle=(fewer,) if len(at) < a.size else (),
        spec={"layer": layers},
        table=images.ChartTable(
            headers=("reference", "this side"),
            rows=tuple((f"{p['r']:.6g}", f"{p['c']:.6g}") for p in points[:100]),
        ),
    )
