import pytest

from enginescope.core.record import replace
from enginescope.records.environment import Device
from enginescope.records.run.job import BackendSpec, Conditions, Cooldown, Job, Subject
from enginescope.runner.machine import gpu_condition
from enginescope.runner.machine.gpu_condition import cool_down, gpus_of

JOB = Job(subject=Subject(name="m"), backend=BackendSpec(name="fake"))


class Room:
    """A GPU that cools while it is waited for, and a clock that only waiting moves."""

    def __init__(self, monkeypatch, *temperatures: float | None) -> None:
        self.now_s = 0.0
        self.told: list[str] = []
        self._left = list(temperatures)
        monkeypatch.setattr(gpu_condition.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(gpu_condition.time, "sleep", self._sleep)
        monkeypatch.setattr(gpu_condition, "gpus_of", lambda _: ("GPU-0",))
        monkeypatch.setattr(gpu_condition, "gpu_temperature_c", lambda _: self._temperature())

    def wait(self, temperature_c: float, limit_s: float = 180.0):
        rule = Cooldown(temperature_c=temperature_c, limit_s=limit_s)
        job = replace(JOB, conditions=Conditions(cooldown=rule))
        return cool_down(job, lambda progress: self.told.append(f"{progress.detail}"))

    def _sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now_s += seconds

    def _temperature(self) -> float | None:
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


def test_it_waits_until_the_gpu_is_cool_or_the_limit_ends_it(monkeypatch) -> None:
    room = Room(monkeypatch, 72, 66, 60)
    cooled = room.wait(60)
    assert cooled.notices == ()
    assert (cooled.phase.name, cooled.phase.duration_ms) == ("cooldown", 1000.0)
    assert room.told == ["72 °C, waiting for 60 °C", "66 °C, waiting for 60 °C"]
    room = Room(monkeypatch, 41)
    assert (room.wait(60).phase.duration_ms, room.told) == (0.0, [])
    room = Room(monkeypatch, 71)
    (notice,) = room.wait(60, limit_s=1.2).notices
    assert notice.code == "W-COOLDOWN"
    assert "at 71 °C after 1 s of waiting for 60 °C" in notice.message
    assert notice.evidence["waited_s"] == pytest.approx(1.2)
    assert room.now_s == pytest.approx(1.2)
    (notice,) = Room(monkeypatch, 72, None).wait(60).notices
    assert notice.code == "W-COOLDOWN"
    assert "reports its temperature" in notice.message
    assert cool_down(JOB, lambda _: pytest.fail("waited")) is None


def job(**options: str) -> Job:
    return Job(subject=Subject(name="m"), backend=BackendSpec(name="trt", options=options))


def test_each_gpu_once_and_the_first_where_none_is_named(monkeypatch) -> None:
    seen = {0: Device(name="A", uuid="GPU-a"), 2: Device(name="C", uuid="GPU-c")}
    monkeypatch.setattr(gpu_condition, "probe_device", seen.get)
    assert gpus_of([job(), job(device="2"), job(device_id="0"), job(device="2")]) == (
        "GPU-a",
        "GPU-c",
    )
    assert gpus_of([job(args="--fp16 --device=2")]) == ("GPU-c",)
    assert gpus_of([job(args="--devices=2")]) == ("GPU-a",)
    assert gpus_of([job(device="1")]) == ()
    assert gpus_of([]) == ()
