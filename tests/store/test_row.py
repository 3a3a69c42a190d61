import math
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Device, Environment, Host
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.store.row import Filter, RunOrder, RunRow, row_of, select
from enginescope.store.sql.database import Index
from enginescope.store.sql.quick_rows import quick_rows
from tests.store.stored_runs import a_run


def test_a_row_has_what_is_known() -> None:
    run = a_run(
        job=Job(
            subject=Subject(name="m.onnx", sha256="ab"),
            backend=BackendSpec(name="ort-cpu", precision="fp16", options={"x": "1"}),
        ),
        environment=Environment(
            host=Host(name="box", cpu_model="CPU"), devices=(Device(name="H200"),)
        ),
        tags=("b", "a"),
    )
    row = row_of(run, size_bytes=7)
    assert (row.backend, row.precision, row.model_sha256) == ("ort-cpu:fp16?x=1", "fp16", "ab")
    assert (row.metric, row.samples, row.median_ms) == ("latency", 11, 1.5)
    assert (row.host, row.cpu, row.gpu, row.size_bytes) == ("box", "CPU", "H200", 7)
    assert row.tags == ("a", "b")
    row = row_of(a_run(samples=()))
    assert (row.metric, row.samples, row.median_ms, row.gpu) == (None, None, None, None)
    unknown = Samples(metric="latency", values_ms=frozen([math.nan, 1.0]))
    assert row_of(a_run(samples=(unknown,))).median_ms is None


NAME = st.sampled_from(["resnet18.onnx", "ResNet50.onnx", "100%_a.onnx", "b_c.onnx"])
ROW = st.builds(
    RunRow,
    id=st.from_regex(r"[0-9a-f]{1,3}", fullmatch=True),
    created=st.sampled_from([f"2026-01-0{day}T23:59:59.9Z" for day in (1, 2, 3)]),
    origin=st.just("measured"),
    model=NAME,
    backend=st.sampled_from(["ort-cpu", "ort-cuda:fp16", "trt:fp16"]),
    outcome=st.sampled_from(["ok", "crashed"]),
    median_ms=st.none() | st.sampled_from([0.5, 2.0, 10.0]),
    tags=st.lists(st.sampled_from("abc"), unique=True).map(sorted).map(tuple),
)
FILTER = st.builds(
    Filter,
    tag=st.none() | st.sampled_from("abc"),
    model=st.none() | st.sampled_from(["resnet", "%", "_", "RESNET18", "onnx"]),
    backend=st.none() | st.sampled_from(["ort", "ORT-CUDA", "trt:fp16", "%"]),
    outcome=st.none() | st.sampled_from(["ok", "crashed", "o"]),
    since=st.none() | st.sampled_from(["2026-01-02", "2026-01-03"]),
    until=st.none() | st.sampled_from(["2026-01-01", "2026-01-02"]),
    order=st.sampled_from(get_args(RunOrder)),
    limit=st.none() | st.integers(1, 4),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    made = Index.in_folder(tmp_path_factory.mktemp("index"))
    made.prepare()
    return made


@settings(max_examples=40, deadline=None)
@given(st.lists(ROW, unique_by=lambda row: row.id, max_size=12), st.lists(FILTER, max_size=6))
def test_the_index_its_quick_reader_and_the_folders_answer_alike(index, rows, filters) -> None:
    index.replace(rows)
    names = {row.id for row in rows}
    for wanted in (Filter(), *filters):
        expected = select(rows, wanted)
        assert index.rows(wanted) == expected, msgspec.to_builtins(wanted)
        found = quick_rows(index._database.file, names, wanted)
        assert found == expected, msgspec.to_builtins(wanted)


def test_a_day_holds_all_its_moments_and_unknown_medians_come_last() -> None:
    rows = [
        replace(row_of(a_run(id=f"r{at}", samples=())), created=created, median_ms=median)
        for at, (created, median) in enumerate(
            [
                ("2026-01-01T23:59:59Z", 3.0),
                ("2026-01-02T00:00:00Z", None),
                ("2026-01-03T00:00:00Z", 1.0),
            ]
        )
    ]

    def ids(**wanted) -> list[str]:
        return [row.id for row in select(rows, Filter(**wanted))]

    assert ids(since="2026-01-02", until="2026-01-02") == ["r1"]
    assert (ids(until="2026-01-01"), ids(order="fastest")) == (["r0"], ["r2", "r0", "r1"])
    assert ids(order="slowest") == ["r0", "r2", "r1"]
    assert ids(order="oldest") == ["r0", "r1", "r2"]
