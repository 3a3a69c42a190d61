"""Files that trtexec exports: times, layer times, layers, outputs."""

import json

import numpy as np
import pytest

from enginescope.compat.trtexec.files import raw_files
from enginescope.compat.trtexec.log import outputs
from enginescope.compat.trtexec.log.outputs import layer_info_json, profile_json, times_json
from enginescope.core.errors import UnsupportedError
from enginescope.core.record import replace
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.formats.trtexec.exported_times import parse_times
from enginescope.records.run.run import TensorValues
from enginescope.records.samples import QueryTrace
from enginescope.records.tensor import DataType
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

    def turned(values: np.ndarray) -> np.ndarray:
        return values.reshape(-1, 2)[:, ::-1].reshape(-1)

    stamps = {name: turned(getattr(run.trace, name)) for name in run.trace.__struct_fields__}
    series = tuple(replace(one, values_ms=turned(one.values_ms)) for one in run.samples)
    assert times_json(replace(run, trace=QueryTrace(**stamps), samples=series)) == times_json(run)


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
    with pytest.raises(UnsupportedError, match="no outputs"):
        outputs.output_json([])


def of(data, dtype: DataType, shape: tuple[int, ...], name: str = "y") -> TensorValues:
    return TensorValues(name=name, dtype=dtype, shape=shape, data=np.asarray(data))


def test_values_that_json_cannot_hold_are_null_with_their_places_beside() -> None:
    values = np.array([1.5, np.nan, np.inf, -np.inf, np.nan], dtype=np.float32)
    (record,) = json.loads(outputs.output_json([of(values, DataType.FP32, (1, 5))]))
    assert record == {
        "name": "y",
        "dimensions": "1x5",
        "type": "fp32",
        "values": [1.5, None, None, None, None],
        "nonFinite": {"nan": [1, 4], "inf": [2], "-inf": [3]},
    }


def test_scalars_booleans_and_halves() -> None:
    half = np.array([0.1], dtype=np.float16)
    given = [of(np.float32(2.5), DataType.FP32, ()), of([True, False], DataType.BOOL, (2,))]
    found = json.loads(outputs.output_json([*given, of(half, DataType.FP16, (1,))]))
    values = [(one["dimensions"], one["values"]) for one in found]
    assert values == [("", [2.5]), ("2", [1, 0]), ("1", [float(half[0])])]
    assert all("nonFinite" not in one for one in found)


def test_integers_are_printed_whole() -> None:
    lines = outputs.output_lines([of(np.array([1234567, -1]), DataType.INT64, (2,))])
    assert [one.text for one in lines] == ["Output Tensors:", "y: (2)\n1234567 -1"]


def test_raw_files_are_named_as_trtexec_names_them() -> None:
    x = of(np.zeros((1, 2), np.float32), DataType.FP32, (1, 2), name="in/put:0")
    assert outputs.raw_file_name(x, "input") == "in_put_0.input.1.2.fp32.raw"
    y = of(np.array([3], np.int64), DataType.INT64, (1,))
    assert dict(raw_files(settings("--dumpRawBindingsToFile"), lambda: (x,), (y,))) == {
        "in_put_0.input.1.2.fp32.raw": bytes(8),
        "y.output.1.int64.raw": (3).to_bytes(8, "little"),
    }


def numbers(raw, dtype: DataType, count: int) -> np.ndarray:
    return outputs.numbers_of(of(np.asarray(raw, dtype=np.uint8), dtype, (count,)))


@pytest.mark.parametrize(
    ("dtype", "oracle"), [(DataType.FP8, "float8_e4m3fn"), (DataType.E8M0, "float8_e8m0fnu")]
)
def test_every_byte_means_what_the_reference_says(dtype, oracle) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    codes = np.arange(256, dtype=np.uint8)
    if not hasattr(ml_dtypes, oracle):
        pytest.skip(f"this ml_dtypes has no {oracle}")
    wanted = codes.view(getattr(ml_dtypes, oracle)).astype(np.float64)
    np.testing.assert_array_equal(numbers(codes, dtype, 256).astype(np.float64), wanted)


def test_bf16_is_the_upper_half_of_a_float() -> None:
    values = np.array([1.5, -2.0, 0.1], dtype=pytest.importorskip("ml_dtypes").bfloat16)
    np.testing.assert_array_equal(
        numbers(values.view(np.uint8), DataType.BF16, 3), values.astype(np.float32)
    )


def test_two_int4_lie_in_a_byte_low_half_first() -> None:
    assert numbers([0x81, 0x07], DataType.INT4, 3).tolist() == [1, -8, 7]


def test_fp4_has_eight_magnitudes() -> None:
    found = numbers([0x10, 0x32, 0x54, 0x76, 0x98], DataType.FP4, 10).tolist()
    assert found == [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5]
