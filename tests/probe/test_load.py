from enginescope.probe import host
from enginescope.probe.host import LoadMeter


def readings(monkeypatch, *values: tuple[float, float, float]) -> LoadMeter:
    queue = list(values)
    monkeypatch.setattr(host, "_reading", lambda: queue.pop(0))
    return LoadMeter()


def test_own_work_is_not_other_load(monkeypatch) -> None:
    meter = readings(monkeypatch, (0.0, 100.0, 5.0), (10.0, 118.0, 15.0))
    assert meter.other_cores() == 0.8  # 18 s busy, 10 of them ours, over 10 s
    assert readings(monkeypatch, (0.0, 0.0, 0.0), (1.0, 0.9, 1.0)).other_cores() == 0.0
    assert readings(monkeypatch, (0.0, 0.0, 0.0), (0.05, 1.0, 0.0)).other_cores() is None


def test_real_readings_move() -> None:
    before = host._reading()
    sum(range(200_000))
    assert host._reading()[0] > before[0]
