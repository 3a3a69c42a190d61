"""A build, a noise floor and the state of the machine in a notebook."""

from __future__ import annotations

from pathlib import Path

from enginescope.notebook.html.fragment import (
    data_table,
    fact_list,
    fragment,
    notice_list,
    paragraph,
)
from enginescope.records.plan.build import BuildReport
from enginescope.records.verdict.noise_floor import NoiseFloor
from enginescope.render.plans.build_text import build_facts
from enginescope.render.verdicts.noise_text import (
    NOISE_HEADERS,
    noise_answer,
    noise_facts,
    noise_rows,
)
from enginescope.services.measurement.doctor import Diagnosis


def build_html(report: BuildReport) -> str:
    """Return the size of an engine, and what its build took."""
    return fragment(
        Path(report.engine).name, fact_list(build_facts(report)), notice_list(report.notices)
    )


def noise_html(floor: NoiseFloor) -> str:
    """Return which differences the machine can detect, and how they are derived."""
    return fragment(
        f"{floor.model} on {floor.backend}, {floor.rounds:,} rounds",
        paragraph(noise_answer(floor)),
        data_table("Differences", NOISE_HEADERS, noise_rows(floor), numbers=NOISE_HEADERS),
        fact_list(noise_facts(floor)),
        notice_list(floor.notices),
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
    )
