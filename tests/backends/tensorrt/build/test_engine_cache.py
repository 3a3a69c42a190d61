"""When a kept engine is taken, and when it is not."""

from functools import partial
from pathlib import Path

import onnx

from enginescope.backends.tensorrt import cuda as cuda_module
from enginescope.backends.tensorrt.backend import TrtBackend
from enginescope.backends.tensorrt.build.engine_cache import key_of
from enginescope.backends.tensorrt.cuda import Driver
from enginescope.core.record import replace
from enginescope.records.environment import Device
from tests.backends.tensorrt.driving import build, job, report, shapes, workload
from tests.fakes import models

GPU = Device(name="Fake H200", compute_capability="9.0", driver="1")


def key(one, version: str = "10.16.1", device: Device = GPU) -> str:
    return key_of(one, version, device)


def test_what_was_built_is_taken_again(each, perceptron, engines) -> None:
    one = job(perceptron, engine_cache=str(engines))
    assert TrtBackend().engine_for(one) is None
    made = report(build(one))
    kept = TrtBackend().engine_for(one)
    assert kept.from_cache
    assert replace(kept, from_cache=False) == made
    assert {notice.code for notice in kept.notices} == {"W-BUILD-SHAPE"}
    assert TrtBackend().engine_for(job(perceptron)) is None  # there is no cache


def test_everything_that_decides_the_engine_is_in_its_key(perceptron, tmp_path) -> None:
    plain = job(perceptron)
    cache = tmp_path / "calibration.cache"
    cache.write_bytes(b"1")
    others = [
        job(perceptron, "fp16"),
        job(perceptron, workspace="1MiB"),
        job(perceptron, workspace="2MiB"),
        job(perceptron, calibration_cache=str(cache)),
        job(perceptron, workload=workload(batch=2)),
        job(perceptron, workload=workload(shapes=shapes(x=(2, 4)))),
        job(perceptron, opt_shapes="x:2x4"),
    ]
    keys = {key(one) for one in (plain, *others)}
    keys |= {key(plain, "8.6.0")}
    for field in ("name", "compute_capability", "driver"):
        keys |= {key(plain, device=replace(GPU, **{field: "other"}))}
    assert len(keys) == len(others) + 5
    before = key(others[3])
    cache.write_bytes(b"2")
    assert key(others[3]) != before
    cache.unlink()
    assert key(others[3]) not in (before, key(plain))  # the build says what is wrong with it


def test_what_only_runs_it_is_not(perceptron) -> None:
    ways = [
        job(perceptron),
        job(perceptron, log_level="verbose"),
        job(perceptron, profile_index="1"),
        job(perceptron, device="0", stamps="1", managed_memory="1"),
        job(perceptron, workload=workload(99)),
        job(perceptron, timing_cache="elsewhere"),
    ]
    assert len({key(one) for one in ways}) == 1


def test_a_request_within_the_builds_own_shapes_needs_no_other_engine(tmp_path) -> None:
    path = models.two_inputs(tmp_path / "two.onnx")
    sizes = {"min_shapes": "a:1x4,b:1x4", "max_shapes": "a:8x4,b:8x4"}
    keys = {
        key(job(path, workload=workload(shapes=shapes(a=(n, 4), b=(n, 4))), **sizes))
        for n in (1, 2, 3)
    }
    assert len(keys) == 1
    partly = {"min_shapes": "a:1x4;a:1x4,b:1x4"}  # the first profile takes b from the request
    keys = {key(job(path, workload=workload(shapes=shapes(b=(n, 4))), **partly)) for n in (1, 2)}
    assert len(keys) == 2


def test_a_model_counts_by_its_bytes_and_its_weights(tmp_path) -> None:
    path = models.external(tmp_path / "external.onnx")
    weights = tmp_path / "external.weights"
    first = key(job(path))
    data = bytearray(weights.read_bytes())
    data[0] ^= 1
    weights.write_bytes(data)
    second = key(job(path))
    model = onnx.load(path, load_external_data=False)
    model.doc_string = "changed"
    path.write_bytes(model.SerializeToString())
    assert len({first, second, key(job(path))}) == 3


def test_a_model_that_cannot_be_read_is_left_to_the_build(use, tmp_path, engines) -> None:
    use()
    path = models.external(tmp_path / "external.onnx")
    for damage in (
        (tmp_path / "external.weights").unlink,
        partial(path.write_bytes, b"garbage"),
        path.unlink,
    ):
        damage()
        assert TrtBackend().engine_for(job(path, engine_cache=str(engines))) is None


def test_an_entry_that_is_not_whole_is_none(use, perceptron, engines) -> None:
    use()
    one = job(perceptron, engine_cache=str(engines))
    engine = Path(report(build(one)).engine)
    whole = engine.read_bytes()
    engine.write_bytes(whole[:-1])
    assert TrtBackend().engine_for(one) is None
    engine.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))  # as large as it was
    assert TrtBackend().engine_for(one) is None
    engine.write_bytes(whole)
    assert TrtBackend().engine_for(one) is not None
    (engine.parent / "build.json").write_text("{")
    assert TrtBackend().engine_for(one) is None
    engine.unlink()
    assert TrtBackend().engine_for(one) is None


def test_a_gpu_is_what_cuda_says_and_its_driver_nvmls(use, monkeypatch) -> None:
    driver = Driver(use().cuda)
    assert driver.described().driver is None
    told = Device(name="Fake H200", uuid="GPU-1", driver="570.1", compute_capability="9.0")
    monkeypatch.setattr(cuda_module, "probe_device", lambda _: told)
    found = driver.described()
    assert (found.name, found.uuid, found.driver) == ("Fake H200", "GPU-1", "570.1")
    assert found.sm_count == 132
    # NVML counts by slot and CUDA by speed: the first of the one may be the second of the other
    other = replace(told, name="Small GPU", compute_capability="6.1")
    monkeypatch.setattr(cuda_module, "probe_device", lambda _: other)
    found = driver.described()
    assert (found.name, found.compute_capability) == ("Fake H200", "9.0")
    assert (found.uuid, found.driver) == (None, "570.1")
