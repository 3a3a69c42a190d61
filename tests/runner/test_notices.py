from __future__ import annotations

import msgspec
import pytest

from enginescope.model.environment import Environment, Host
from enginescope.model.job import BackendSpec, Job, Subject
from enginescope.model.run import Outcome, OutcomeKind, Run, StopReport, WarmUpReport
from enginescope.runner.notices import notices_of_run

CALM = Run(
    id="a1",
    created="2026-01-01T00:00:00+00:00",
    origin="measured",
    job=Job(subject=Subject(name="m"), backend=BackendSpec(name="ort-cpu")),
    environment=Environment(host=Host(governor="performance", cores_logical=2)),
    warmup=WarmUpReport(iterations=10, duration_ms=200, ended_by="steady"),
    stop=StopReport(rule="precision", iterations=100, duration_ms=1000),
    other_load_cores=0.02,
)


def codes(**changes) -> list[str]:
    return [one.code for one in notices_of_run(msgspec.structs.replace(CALM, **changes))]


def test_a_calm_run_has_none() -> None:
    assert codes() == []


def test_unknown_is_not_suspicious() -> None:
    assert codes(environment=Environment(), warmup=None, stop=None, other_load_cores=None) == []


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("W-GOVERNOR", {"environment": Environment(host=Host(governor="powersave"))}),
        ("W-LOAD", {"other_load_cores": 0.8}),
        ("W-WARMUP", {"warmup": WarmUpReport(iterations=9, duration_ms=2e3, ended_by="limit")}),
        ("W-STOPPED-SHORT", {"stop": StopReport(rule="hard_limit", iterations=9, duration_ms=6e4)}),
    ],
)
def test_what_weakens_it_is_said(code, changes) -> None:
    assert codes(**changes) == [code]


def test_a_failed_run_has_no_conditions() -> None:
    assert codes(outcome=Outcome(kind=OutcomeKind.CRASHED), other_load_cores=2.0) == []


def test_the_sentence_has_the_figures() -> None:
    (notice,) = notices_of_run(msgspec.structs.replace(CALM, other_load_cores=0.84))
    assert notice.message == "other load on this machine: 0.8 of 2 cores busy"
    assert notice.evidence == {"other_cores": 0.84, "cores": 2}
