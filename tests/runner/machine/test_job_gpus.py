from enginescope.records.environment import Device
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.runner.machine import gpu_condition
from enginescope.runner.machine.gpu_condition import gpus_of


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
