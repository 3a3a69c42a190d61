"""A mean over models in words, for the tables of upgrade and gate alike."""

from __future__ import annotations

from enginescope.analysis.verdicts.model_mean import ModelMean
from enginescope.judge.units import signed_pct
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.verdicts.verdict_phrases import confidence_text, title_of

#: Models without a ratio that a line names; the rows above have each.
_NAMED = 3


def mean_cells(mean: ModelMean, unit: str) -> tuple[str, ...]:
    """Return a row below the eight headers of a report: the change where a model has its own.

    Args:
        unit: ``"model"`` or ``"job"``.
    """
    who, why = f"{len(mean.models)} {unit}s", f"geometric mean{_without(mean)}"
    return ("mean", who, title_of(mean.metric), UNKNOWN, UNKNOWN, *_figures(mean), why)


def mean_lines(mean: ModelMean, unit: str) -> str:
    """Return the mean for a column of the terminal."""
    change, interval = _figures(mean)
    level = f" ({confidence_text(mean.interval)} CI {interval})" if mean.interval else ""
    text = f"{title_of(mean.metric)}, geometric mean of {len(mean.models)} {unit}s"
    return f"{text}{_without(mean)}\n{change}{level or ', no interval'}"


def _figures(mean: ModelMean) -> tuple[str, str]:
    change = f"{signed_pct(100 * (mean.ratio - 1))} %"
    if mean.interval is None:
        return change, UNKNOWN
    low, high = (signed_pct(100 * (end - 1)) for end in (mean.interval.low, mean.interval.high))
    return change, f"{low} … {high} %"


def _without(mean: ModelMean) -> str:
    names = ", ".join(f"{name} ({why})" for name, why in mean.left_out[:_NAMED])
    more = len(mean.left_out) - _NAMED
    names += f" and {more:,} more" if more > 0 else ""
    return f", without {printable(names)}" if names else ""
