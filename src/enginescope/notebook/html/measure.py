"""Results of bench, build, noise, doctor, validate and depth in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.tasks.depth_agreement import DepthBenchmark
from enginescope.notebook.html.fragment import (
    data_table,
    fact_list,
    fragment,
    notice_list,
    paragraph,
)
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.run import OutcomeKind
from enginescope.render.base.data_table import UNKNOWN, number_column
from enginescope.render.base.phrases import Figure, headline, layer_sum_sentence, outcome_text
from enginescope.render.depth.depth_writers import (
    SPEED_HEADERS,
    benchmark_notices,
    benchmark_title,
    speed_cells,
)
from enginescope.render.plans.build_text import build_facts
from enginescope.render.self_test.self_test_answer import recorded_line
from enginescope.services.explain import Explanation
from enginescope.services.measurement.doctor import Diagnosis


def build_html(report: BuildReport) -> str:
    """Return the size of an engine, and what its build took."""
    return fragment(
        Path(report.engine).name, fact_list(build_facts(report)), notice_list(report.notices)
    )


def explanation_html(explanation: Explanation) -> str:
    """Return what a code means, with an example and the next step."""
    return fragment(
        explanation.code,
        paragraph(explanation.meaning),
        fact_list((("Example", explanation.example), ("What to do", explanation.action))),
    )


def diagnosis_html(diagnosis: Diagnosis) -> str:
    """Return the usable backends and extras, and hints on the machine."""
    parts = (("Backends", diagnosis.backends), ("Extras", diagnosis.extras))
    tables = (
        data_table(
            title,
            ("name", "usable", "detail", "to get it"),
            (
                (part.name, "yes" if part.usable else "no", part.detail, part.hint or "")
                for part in capabilities
            ),
        )
        for title, capabilities in parts
    )
    hints = ((hint.code, hint.message, hint.command or "") for hint in diagnosis.hints)
    host = diagnosis.environment.host
    return fragment(
        host.cpu_model or "unknown CPU",
        *tables,
        data_table("Hints", ("code", "hint", "command"), hints),
        *(paragraph(recorded_line(test)) for test in diagnosis.self_tests),
    )


def depth_html(benchmark: DepthBenchmark) -> str:
    """Return the speed of each side, and the warnings."""
    return fragment(
        benchmark_title(benchmark),
        data_table(
            "Latency",
            ("side", *SPEED_HEADERS),
            ((side.label, *speed_cells(side)) for side in benchmark.sides),
            numbers=SPEED_HEADERS,
        ),
        notice_list(benchmark_notices(benchmark)),
    )


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
    times = number_column([one.time_ms for one in shown])
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
