import pytest

from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.environment import Environment, Host
from enginescope.records.run.job import BackendSpec, Conditions, Job, StopRule, Subject, Workload
from enginescope.records.run.run import Outcome, OutcomeKind, Run, StopReport, WarmUpReport
from enginescope.records.run.telemetry import CpuLoss
from enginescope.runner import assemble as notices
from enginescope.runner.assemble import notices_of_run

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
    return [one.code for one in notices_of_run(replace(CALM, **changes))]


def test_a_calm_unknown_or_failed_run_has_none() -> None:
    assert codes() == []
    assert codes(environment=Environment(), warmup=None, stop=None, other_load_cores=None) == []
    assert codes(outcome=Outcome(kind=OutcomeKind.CRASHED), other_load_cores=2.0) == []


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("W-GOVERNOR", {"environment": Environment(host=Host(governor="powersave"))}),
        ("W-LOAD", {"other_load_cores": 0.8}),
        ("W-WARMUP", {"warmup": WarmUpReport(iterations=9, duration_ms=2e3, ended_by="limit")}),
        (
            "I-SHORT-OF-GOAL",
            {
                "stop": StopReport(
                    rule="max_time", iterations=300, duration_ms=1e4, half_width_pct=1.25
                )
            },
        ),
        ("W-STOPPED-SHORT", {"stop": StopReport(rule="hard_limit", iterations=9, duration_ms=6e4)}),
    ],
)
def test_what_weakens_it_is_said(code, changes) -> None:
    assert codes(**changes) == [code]


def load_of(other: float, cores: int = 8) -> Notice:
    host = Host(governor="performance", cores_logical=cores)
    changed = replace(CALM, environment=Environment(host=host), other_load_cores=other)
    (notice,) = notices_of_run(changed)
    return notice


def test_the_sentence_has_the_figures() -> None:
    notice = load_of(0.84)
    assert notice.message == "other programs kept 0.8 of 8 cores busy"
    assert notice.evidence == {"other_cores": 0.84, "cores": 8, "unstable": False}
    loss = CpuLoss(steal_pct=12.34, throttled_periods=3, periods=40, throttled_ms=250.0)
    steal, quota = notices_of_run(replace(CALM, cpu_loss=loss))
    assert "the hypervisor took 12.3 %" in steal.message
    assert "in 3 of 40 periods, its threads for 250 ms" in quota.message
    stop = StopReport(rule="max_time", iterations=300, duration_ms=1e4, half_width_pct=1.25)
    (notice,) = notices_of_run(replace(CALM, stop=stop))
    for part in ("--max-time after 10 s", "±1.2 %", "goal is ±0.5 %"):
        assert part in notice.message
    fixed = Job(
        subject=Subject(name="m"),
        backend=BackendSpec(name="fake"),
        workload=Workload(stop=StopRule(precision_pct=None)),
    )
    assert codes(stop=stop, job=fixed) == []


@pytest.mark.parametrize(("other", "cores"), [(2.0, 8), (0.5, 2), (0.3, 1)])
def test_a_machine_a_quarter_of_which_is_busy_is_called_busy(other, cores) -> None:
    notice = load_of(other, cores)
    assert notice.code == "W-LOAD"
    assert notice.message.startswith("busy machine: other programs kept ")
    assert notice.evidence["unstable"] is True


def test_processor_time_that_was_withheld() -> None:
    assert codes(cpu_loss=CpuLoss(steal_pct=0.9, throttled_periods=0, periods=40)) == []
    assert codes(cpu_loss=CpuLoss()) == []
    assert codes(cpu_loss=CpuLoss(steal_pct=12.34)) == ["W-STEAL"]
    quota = CpuLoss(throttled_periods=3, periods=40, throttled_ms=250.0)
    assert codes(cpu_loss=quota) == ["W-CPU-QUOTA"]


def test_pinned_to_two_threads_of_a_core(monkeypatch) -> None:
    monkeypatch.setattr(notices, "shared_cores", lambda cores: ((0, 4),) if 4 in cores else ())
    pinned = replace(CALM.job, conditions=Conditions(pinned_cores=(0, 1, 4)))
    (notice,) = notices_of_run(replace(CALM, job=pinned))
    assert notice.code == "W-SMT-SIBLINGS"
    assert "0 and 4" in notice.message
    assert codes(job=replace(CALM.job, conditions=Conditions(pinned_cores=(0, 1)))) == []
