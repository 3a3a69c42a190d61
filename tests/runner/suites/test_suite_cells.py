from pathlib import Path

import pytest

from enginescope.core.errors import UsageError
from enginescope.core.jsonio import decode, encode
from enginescope.core.record import replace
from enginescope.formats.suites.suite_file import (
    GeneralPart,
    ModelPart,
    SuiteFile,
    TimingPart,
    ValidationPart,
)
from enginescope.records.suite.suite import Cell, Suite
from enginescope.runner.suites.suite_cells import cells_of
from enginescope.runner.suites.suite_plan import suite_of


@pytest.fixture
def zoo(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.onnx").write_bytes(name.encode())
    data = tmp_path / "a" / "test_data_set_0"
    data.mkdir()
    (data / "input_0.pb").write_bytes(b"in")
    return tmp_path


def made(zoo, *, models=(), timing=None, checks=None, **general) -> Suite:
    file = SuiteFile(
        suite=GeneralPart(models=() if models else (".",), **general),
        model=tuple(models),
        timing=timing or TimingPart(),
        validation=checks or ValidationPart(),
    )
    return suite_of(file, zoo, name="suite", samples=zoo / "samples")


def cells(zoo, **general) -> tuple[Cell, ...]:
    return cells_of(made(zoo, **general))


def labels(found) -> list[str]:
    return [one.label for one in found]


def test_models_by_backends_by_precisions_by_batches(zoo) -> None:
    found = cells(zoo, backends=("ort-cpu", "fake"), batches=(1, 8))
    assert labels(found) == [
        f"{model} · {spec} · batch {batch}"
        for model in ("a", "b")
        for spec in ("ort-cpu", "fake")
        for batch in (1, 8)
    ]
    assert len({one.key for one in found}) == 8
    found = cells(
        zoo, backends=("ort-cpu?intra_op_num_threads=1", "trt:int8"), precisions=("default", "int9")
    )
    specs = [one.spec for one in found if one.model == "a"]
    assert specs == [
        "ort-cpu?intra_op_num_threads=1",
        "ort-cpu:int9?intra_op_num_threads=1",
        "trt:int8",
    ]
    refused = [one for one in found if one.refusal]
    assert {one.spec for one in refused} == {specs[1]}  # a row, not the end of the suite
    assert "int9" in (refused[0].refusal or "")
    one = "ort:NoSuchProvider?device_type=CPU"
    found = cells(zoo, backends=(one,), precisions=("default", "fp16"), include=("a",))
    assert [cell.spec for cell in found] == [one, "ort:NoSuchProvider:fp16?device_type=CPU"]


def test_what_is_mistyped_ends_the_suite_before_it_begins(zoo) -> None:
    with pytest.raises(UsageError, match="ort-cpo"):
        cells(zoo, backends=("ort-cpo",))
    with pytest.raises(UsageError, match="fault"):
        cells(zoo, backends=("fake?fault=segfalt",))
    with pytest.raises(UsageError, match="not one of the suite's backends") as caught:
        cells(zoo, backends=("ort-cpu", "trt:fp16"), baseline="trt:fp61")
    assert caught.value.hint == "did you mean trt:fp16?"
    with pytest.raises(UsageError, match="there is no file"):
        cells(zoo, models=[ModelPart(path="c/model.onnx")])
    with pytest.raises(UsageError, match="remove all of 2") as caught:
        cells(zoo, include=("resnet",))
    assert caught.value.hint is not None
    assert "patterns of models' names" in caught.value.hint
    with pytest.raises(UsageError, match="2 models have that name"):
        cells(zoo, models=[ModelPart(path=f"{one}/model.onnx", name="x") for one in "ab"])
    with pytest.raises(UsageError, match="duration"):
        cells(zoo, timing=TimingPart(iterations=3, duration="1s"))


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("timeout", "soon", "timeout: 'soon' is not a duration"),
        ("timeout", "", "timeout: '' is not a duration"),
        ("build_timeout", "0s", "build_timeout: '0s' is not above 0"),
        ("memory_limit", "lots", "memory_limit: 'lots' is not a size"),
        ("memory_limit", "0", "memory_limit: '0' is not above 0"),
        ("warmup", "-3", "warmup: '-3' is not a duration"),
        ("duration", "0s", "duration: '0s' is not above 0"),
        ("max_time", "never", "max_time: 'never' is not a duration"),
    ],
)
def test_a_quantity_that_is_none_is_named_with_its_key(zoo, key, text, said) -> None:
    is_timing = key in TimingPart.__struct_fields__
    given = {"timing": TimingPart(**{key: text})} if is_timing else {key: text}
    with pytest.raises(UsageError) as caught:
        cells(zoo, **given)
    assert caught.value.what == said
    assert caught.value.hint


def test_a_data_set_is_fed_where_it_is_there_and_a_warm_up_may_be_nothing(zoo) -> None:
    assert made(zoo, timing=TimingPart(warmup="0s")).warmup.time_ms == 0
    part = ModelPart(path="b/model.onnx", data="b")  # as older lists name it, whatever is there
    assert labels(cells_of(made(zoo, models=[part])))
    with pytest.raises(UsageError, match=r"data of b/model\.onnx"):
        made(zoo, models=[part], input="dataset")
    found = cells(zoo, input="dataset")
    assert [one.input for one in found] == ["dataset", "random"]
    assert found[0].job.workload.data_set == found[0].data_sets[0]
    assert cells(zoo)[0].data_sets == ()
    batched = cells(zoo, input="dataset", batches=(1, 8), include=("a",))
    assert [one.input for one in batched] == ["dataset", "random"]


def test_a_model_has_settings_and_limits_of_its_own(zoo) -> None:
    model = ModelPart(
        path="a/model.onnx",
        backends=("fake",),
        batches=(4,),
        shapes=({"x": "1x3"}, {"x": (2, 3)}),
        ranges={"ids": (0, 9)},
        gpu="H200",
    )
    found = cells(zoo, models=[model], backends=("ort-cpu",), precisions=("default", "fp16"))
    assert labels(found) == ["a · fake · batch 4 · x 1×3", "a · fake · batch 4 · x 2×3"]
    assert (found[0].needs.gpu, found[0].job.workload.ranges[0].high) == ("H200", 9)
    models = [
        ModelPart(path="a/model.onnx", timeout="9s"),
        ModelPart(path="b/model.onnx", memory_limit="1GiB"),
    ]
    a, b = (one.job.limits for one in cells(zoo, models=models, timeout="60s"))
    assert (a.timeout_s, a.memory_bytes) == (9.0, None)
    assert (b.timeout_s, b.memory_bytes) == (60.0, 2**30)


def test_quantities_and_checks_reach_the_cells(zoo) -> None:
    (one, _) = cells(
        zoo,
        mode="both",
        timeout="30s",
        build_timeout="5min",
        memory_limit="1GiB",
        retries=2,
        timing=TimingPart(warmup="50ms", max_time="2s", min_samples=7),
        checks=ValidationPart(rtol=0.5, samples=3),
    )
    job = one.job
    assert (job.limits.timeout_s, job.limits.build_timeout_s) == (30.0, 300.0)
    assert job.limits.memory_bytes == 2**30
    assert (job.workload.warmup.time_ms, job.workload.stop.max_time_ms) == (50.0, 2000.0)
    assert job.workload.stop.min_samples == 7
    assert (one.retries, one.checking.samples, one.checking.rtol) == (2, 3, 0.5)
    assert cells(zoo, timing=TimingPart(warmup=12))[0].job.workload.warmup.iterations == 12


def keys(zoo, **general) -> list[str]:
    return [one.key for one in cells(zoo, **general)]


def test_a_key_is_of_content_and_options_and_not_of_places(zoo, tmp_path_factory) -> None:
    before = keys(zoo)
    assert keys(zoo) == before
    assert keys(zoo, timeout="1s") == before  # what failed for its limit is seen to elsewhere
    assert not set(keys(zoo, seed=1)) & set(before)
    assert not set(keys(zoo, layers=False)) & set(before)
    assert not set(keys(zoo, timing=TimingPart(iterations=9))) & set(before)
    assert keys(zoo, input="dataset")[0] != before[0]
    (zoo / "a" / "model.onnx").write_bytes(b"retrained")
    after = keys(zoo)
    assert (after[0] != before[0], after[1] == before[1]) == (True, True)
    (zoo / "b" / "model.onnx.data").write_bytes(b"weights")  # may be its weights
    assert keys(zoo)[1] != before[1]
    elsewhere = tmp_path_factory.mktemp("moved")
    (zoo / "a").rename(elsewhere / "a")
    assert keys(elsewhere)[0] == after[0]


def test_data_sets_and_checks_count_where_answers_are_compared(zoo) -> None:
    before = keys(zoo, input="dataset")
    (zoo / "a" / "test_data_set_0" / "input_0.pb").write_bytes(b"other")
    assert keys(zoo, input="dataset")[0] != before[0]
    loose = ValidationPart(rtol=1.0)
    assert keys(zoo, checks=loose) == keys(zoo)
    assert keys(zoo, checks=loose, mode="both") != keys(zoo, mode="both")
    for one in cells(zoo, backends=("ort-cpu", "fake?seed=3"), batches=(2,)):
        assert decode(encode(one), Cell, source="cell") == one
        assert replace(one, retries=1) != one


def test_a_reference_lies_beside_the_suite_and_counts_by_its_content(zoo, tmp_path_factory) -> None:
    def keyed(folder, reference: str) -> str:
        checks = ValidationPart(reference=reference)
        one = cells(folder, mode="validate", checks=checks, include=("b",))[0]
        assert Path(str(one.checking.reference)).is_absolute() == (reference != "ort-cpu")
        return one.key

    (zoo / "outputs").mkdir()
    (zoo / "outputs" / "y.npy").write_bytes(b"1")
    names = ("ort-cpu", "a/model.onnx", "outputs")
    before = {name: keyed(zoo, name) for name in names}
    assert len(set(before.values())) == 3
    (zoo / "a" / "model.onnx").write_bytes(b"retrained")
    (zoo / "outputs" / "y.npy").write_bytes(b"2")
    after = {name: keyed(zoo, name) for name in names}
    assert [after[name] == before[name] for name in names] == [True, False, False]
    moved = zoo.rename(tmp_path_factory.mktemp("moved") / "zoo")
    assert {name: keyed(moved, name) for name in names} == after
