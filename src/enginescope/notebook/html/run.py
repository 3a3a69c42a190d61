"""A run in a notebook: its figures, their notices, and its layers by type."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.runs.run_view import RunView
from enginescope.notebook.html.fragment import data_table, fact_list, fragment, notice_list
from enginescope.records.run.run import OutcomeKind
from enginescope.render.base.data_table import UNKNOWN, number_column
from enginescope.render.base.phrases import Figure, headline, layer_sum_sentence, outcome_text

_TOP = 5


def run_html(view: RunView) -> str:
    """Return the headline, the notices and the time by type of layer."""
    run = view.run
    return fragment(
        f"{run.job.subject.name} · {run.job.backend} · run {view.id[:8]}",
        fact_list(_facts(view)),
        notice_list(view.notices),
        _types(view),
    )


def _facts(view: RunView) -> Iterator[tuple[str, str]]:
    outcome = view.run.outcome
    if outcome.kind is not OutcomeKind.OK:
        text = outcome_text(outcome)
        yield "outcome", f"{text}: {outcome.message}" if outcome.message else text
    found = headline(view)
    for one in ((found.main,) if found.main else ()) + found.beside:
        yield one.label, _figure(one)
    if view.layer_sum is not None:
        yield "layers", layer_sum_sentence(view.layer_sum)


def _figure(one: Figure) -> str:
    note = "; ".join((one.note or "").splitlines())
    return f"{one.value}{' !' if one.is_weak else ''}{f' ({note})' if note else ''}"


def _types(view: RunView) -> str:
    shares = view.time_by_type
    shown = shares[:_TOP]
    times = number_column([one.mean_ms for one in shown])
    rows = (
        (
            ms,
            UNKNOWN if one.share_pct is None else f"{one.share_pct:.1f}",
            f"{one.layers:,}",
            one.key or "not known",
        )
        for one, ms in zip(shown, times, strict=True)
    )
    more = len(shares) - len(shown)
    return data_table(
        "Time by type",
        ("ms", "%", "layers", "type"),
        rows,
        numbers=("ms", "%", "layers"),
        note=f"and {more:,} more" if more else None,
    )
