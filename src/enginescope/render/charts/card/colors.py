"""What the colour of a layer can mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.report_card.layer_quantities import QUANTITIES
from enginescope.analysis.roofline.convolution_params import kernel_of
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.render.base.palette import (
    AMOUNTS,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    OTHER,
    PURPLE,
    SKY,
    VERMILLION,
    YELLOW,
    family_color,
    precision_color,
    type_family,
)
from enginescope.render.charts.bars import group_color
from enginescope.render.charts.card.wording import NOT_KNOWN, shape
from enginescope.render.html.spec import Spec

_IN_TURN = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, YELLOW, GREY)


class Coloring(Record, frozen=True, kw_only=True):
    """A property of layers that has a colour.

    Attributes:
        name: As a legend says it.
        group: The property of a layer, as text.
        colors: From every group to its own colour; ``None``: in turn.
    """

    name: str
    group: Callable[[LayerFacts], str]
    colors: Callable[[str | None], str] | None = None

    def channel(self, groups: Sequence[str]) -> Spec:
        """Return the colour channel for the field ``group``."""
        order = list(dict.fromkeys(groups))
        turns = dict(zip(order, _IN_TURN, strict=False))
        return group_color(
            self.name, order, self.colors or (lambda one: turns.get(one or "", OTHER))
        )


GROUPS = {
    "precision": Coloring(
        name="precision", group=lambda row: row.precision or NOT_KNOWN, colors=precision_color
    ),
    "output_precision": Coloring(
        name="output precision",
        group=lambda row: row.output_precision or NOT_KNOWN,
        colors=precision_color,
    ),
    "work": Coloring(
        name="kind of work", group=lambda row: type_family(row.layer.type), colors=family_color
    ),
    "kernel": Coloring(name="kernel", group=lambda row: shape(kernel_of(row.layer))),
}
#: Few numbers, so that they have room below a short scale.
AMOUNT_LEGEND = {
    "titleLimit": 400,
    "gradientLength": 200,
    "tickCount": 4,
    "labelOverlap": "greedy",
    "labelSeparation": 6,
}
#: What `color` can be anywhere.
COLORS = (*GROUPS, *QUANTITIES)


def check_color(color: str) -> None:
    """Raise unless `color` is one of `COLORS`."""
    if color not in COLORS:
        raise UsageError(
            f"{color!r} is no colour of layers",
            why=f"there are {', '.join(COLORS)}",
            hint=did_you_mean(color, COLORS),
        )


def amount_channel(name: str) -> Spec:
    """Return the channel of an amount, in the field ``shade``; grey where it is not known."""
    return {
        "condition": {"test": "!isValid(datum.shade)", "value": OTHER},
        "field": "shade",
        "type": "quantitative",
        "title": QUANTITIES[name].title,
        "scale": {"scheme": AMOUNTS, "zero": True},
        "legend": AMOUNT_LEGEND,
    }


def color_channel(color: str, groups: Sequence[str]) -> Spec:
    """Return the channel for `color`; `groups` are those of the rows, in the legend's order."""
    return GROUPS[color].channel(groups) if color in GROUPS else amount_channel(color)


def color_fields(color: str, row: LayerFacts) -> Spec:
    """Return the fields that a row needs for its colour."""
    if color in GROUPS:
        return {"group": GROUPS[color].group(row)}
    return {"shade": QUANTITIES[color].value(row)}


def color_title(color: str) -> str:
    """Return what the colour means, as it stands within a title."""
    return GROUPS[color].name if color in GROUPS else QUANTITIES[color].title
