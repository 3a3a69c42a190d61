import json

import numpy as np
import pytest

from enginescope.compat.trtexec.log.outputs import layer_info_json, profile_json, times_json
from enginescope.core.errors import UnsupportedError
from enginescope.core.record import replace
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.formats.trtexec.exported_times import parse_times
from enginescope.records.samples import QueryTrace
from tests.compat.trtexec.runs import PROFILE, N, measured, settings

TRTEXECS = [
    *("startEnqMs", "endEnqMs", "startH2dMs", "endH2dMs", "startComputeMs"),
    *("endComputeMs", "startD2hMs", "endD2hMs", "h2dMs", "computeMs", "d2hMs"),
    *("latencyMs",),
]
OURS = ["enqueueMs", "streamIndex", "inFlight", "transfers", "cudaGraph", "spinWait"]


def test_times_are_an_array_of_flat_objects_with_numbers() -> None:
    rows = json.loads(times_json(measured(settings())))
    assert len(rows) == N
    for row in rows:
        assert list(row) == TRTEXECS + OURS
        assert all(type(value) in (int, float) for value in row.values())
    assert (rows[0]["inFlight"], rows[0]["transfers"], rows[0]["cudaGraph"]) == (2, 1, 0)
    assert {row["streamIndex"] for row in rows} == {0, 1}
    for row in rows:
        assert row["endEnqMs"] - row["startEnqMs"] == pytest.approx(row["enqueueMs"], abs=2e-5)
        assert row["startEnqMs"] >= 3_600_000


def test_our_importer_reads_times_to_the_same_figures() -> None:
    run = measured(settings())
    times, notices = parse_times(times_json(run), "times.json")
    assert notices == ()
    assert times.wall_ms == pytest.approx(1.25 * (N - 1) + 1.15, rel=1e-6)
    for one in times.samples:
        np.testing.assert_allclose(one.values_ms, run.series(one.metric).values_ms, rtol=1e-9)
    ours, theirs = json.loads(times_json(replace(run, samples=()))), json.loads(times_json(run))
    assert ours[7]["computeMs"] == pytest.approx(theirs[7]["computeMs"], rel=1e-9)
    workload = replace(run.job.workload, mode=replace(run.job.workload.mode, cuda_graph=None))
    run = replace(run, job=replace(run.job, workload=workload))
    assert "cudaGraph" not in json.loads(times_json(run))[0]


def test_queries_are_in_the_order_of_their_start() -> None:
    run = measured(settings("--infStreams=2"))
    turned = {
        name: getattr(run.trace, name).reshape(-1, 2)[:, ::-1].reshape(-1)
        for name in run.trace.__struct_fields__
    }
    series = tuple(
        replace(one, values_ms=one.values_ms.reshape(-1, 2)[:, ::-1].reshape(-1))
        for one in run.samples
    )
    assert times_json(replace(run, trace=QueryTrace(**turned), samples=series)) == times_json(run)


def test_profiles_read_back() -> None:
    data = profile_json(measured(settings()))
    rows = json.loads(data)
    assert rows[0] == {"count": 120}
    assert list(rows[1]) == ["name", "timeMs", "averageMs", "medianMs", "percentage"]
    profile, notices = parse_profile(data, "profile.json")
    assert notices == ()
    assert profile.layers[2].name == PROFILE.layers[2].name
    assert (profile.iterations, profile.layers[0].mean_ms) == (120, 0.5)
    assert profile.layers[2].mean_ms == pytest.approx(1 / 6, rel=1e-11)


def test_layer_information_is_made_strict() -> None:
    data = layer_info_json('{"Layers": ["a\x1fb"], "Bindings": ["x"]}')
    assert json.loads(data) == {"Layers": ["a\x1fb"], "Bindings": ["x"]}
    assert b"\\u001f" in data


def test_what_a_run_does_not_hold_cannot_be_written() -> None:
    run = measured(settings(), trace=None, profile=None)
    with pytest.raises(UnsupportedError, match="no stamps"):
        times_json(run)
    with pytest.raises(UnsupportedError, match="no times of layers"):
        profile_json(run)
    with pytest.raises(UnsupportedError, match="inspector gave none"):
        layer_info_json(None)
