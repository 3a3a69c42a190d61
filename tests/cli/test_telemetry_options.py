import pytest

from enginescope.cli.main import main
from enginescope.cli.process_options import telemetry_of
from enginescope.core.errors import UsageError
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.runner.jobs import watched
from enginescope.services.measurement.jobs import check_telemetry

NONE = {"telemetry": None, "telemetry_time": None, "gpu_sample_interval": None, "timeout": None}


@pytest.mark.parametrize(("given", "depth"), [(None, "clock"), (True, "full"), (False, "off")])
def test_three_depths(given, depth) -> None:
    assert telemetry_of(NONE | {"telemetry": given}).depth == depth


def test_time_and_interval() -> None:
    asked = NONE | {"telemetry": True, "telemetry_time": 20_000.0, "gpu_sample_interval": 50.0}
    rule = telemetry_of(asked)
    assert (rule.duration_ms, rule.interval_ms) == (20_000, 50)
    assert rule.whole_ms > 20_000


@pytest.mark.parametrize("option", ["telemetry_time", "gpu_sample_interval"])
@pytest.mark.parametrize("wanted", [None, False])
def test_a_part_of_a_pass_that_there_is_not(option, wanted) -> None:
    with pytest.raises(UsageError, match=option.replace("_", "-")) as caught:
        telemetry_of(NONE | {"telemetry": wanted, option: 500.0})
    assert caught.value.hint == "--telemetry"


def test_an_interval_that_no_gpu_can_be_asked_in(capsys) -> None:
    asked = ["--telemetry", "--gpu-sample-interval", "1ms"]
    assert main(["bench", __file__, "--on", "fake", *asked]) == 2
    assert "at least 5ms" in capsys.readouterr().err
    with pytest.raises(UsageError, match="at least 5ms"):
        check_telemetry(telemetry_of(NONE | {"telemetry": True, "gpu_sample_interval": 1.0}))


def test_the_pass_has_time_of_its_own_unless_that_is_bounded() -> None:
    job = Job(subject=Subject(name="a"), backend=BackendSpec(name="fake"))
    rule = telemetry_of(NONE | {"telemetry": True, "telemetry_time": 3_600_000.0})
    (more,) = watched((job,), rule)
    assert more.limits.timeout_s > job.limits.timeout_s + 3_600
    (bounded,) = watched((job,), rule, is_bounded=True)
    assert bounded.limits.timeout_s == job.limits.timeout_s
