"""What came of keeping parts of a side in FP32, as a part of its section on the page."""

from __future__ import annotations

from enginescope.analysis.precision_trials import PrecisionTrials
from enginescope.core.record import Record
from enginescope.render.charts.precision_front import precision_front
from enginescope.render.charts.spec import Chart
from enginescope.render.figures import Figures
from enginescope.render.precision_phrases import FRONT, failures, suggestion_text, trial_row


class PrecisionSection(Record, frozen=True, kw_only=True):
    """What the page says of keeping nodes in FP32."""

    suggestion: str
    facts: tuple[tuple[str, str], ...]
    table: Figures | None
    charts: tuple[Chart, ...]
    failures: tuple[str, ...]


def precision_section(found: PrecisionTrials, key: str, limit: float | None) -> PrecisionSection:
    """Return the section; `key` sets its chart's name apart from other sides'."""
    one = found.suggested
    told = (
        ("That is", one.specification if one and one.kind != "none" else None),
        ("Tried by", found.way or None),
        ("Each answered", f"{found.samples:,} samples" if found.trials else None),
    )
    chart = precision_front(found, f"{key}-precision", limit)
    return PrecisionSection(
        suggestion=suggestion_text(found),
        facts=tuple((name, text) for name, text in told if text),
        table=_table(found) if found.trials else None,
        charts=(chart,) if chart else (),
        failures=failures(found),
    )


def _table(found: PrecisionTrials) -> Figures:
    return Figures(
        caption=f"What was tried; {FRONT} nothing tried is both faster and nearer",
        headers=("Kept in FP32", "Nodes", "", "RMSE ÷ spread", "Median ms", "95 % CI ms", FRONT),
        rows=tuple(trial_row(one, found) for one in found.trials),
        numbers=(1, 3, 4, 5),
    )
