import json

import pytest

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.core.errors import FormatError
from enginescope.formats.trtexec.exported_profile import parse_profile

ROW = {"name": "conv", "timeMs": 3.0, "averageMs": 1.5, "medianMs": 1.4, "percentage": 60.0}
OLD = {"name": "relu", "timeMs": 2.0, "averageMs": 1.0, "percentage": 40.0}


def read(value: object):
    return parse_profile(json.dumps(value).encode(), "p.json")[0]


def test_trtexec() -> None:
    profile = read([{"count": 2}, ROW, {**ROW, "timeMs": 18.0, "averageMs": 9.0}])
    assert (profile.source, profile.iterations) == ("trtexec", 2)
    first, second = profile.layers
    assert (first.total_ms, first.mean_ms, first.median_ms, first.share_pct) == (
        3.0,
        1.5,
        1.4,
        60.0,
    )
    assert [(one.index, one.name) for one in profile.layers] == [(0, "conv"), (1, "conv")]
    assert second.mean_ms == 9.0
    assert layer_times(profile).sum_ms == 10.5


def test_older_versions_have_no_median_and_torch_tensorrt_no_count() -> None:
    profile = read([{"count": 2}, OLD])
    assert profile.source == "trtexec"
    assert profile.layers[0].median_ms is None
    profile = read([OLD])
    assert (profile.source, profile.iterations) == ("torch-tensorrt", None)


@pytest.mark.parametrize(
    "value",
    [
        {"layers": [OLD], "count": 2},
        {"profile": {"layers": [OLD]}, "count": 2},
        {"a": {"profile": [{"count": 2}, OLD]}},
    ],
)
def test_nestings(value) -> None:
    profile = read(value)
    assert [one.name for one in profile.layers] == ["relu"]
    assert profile.source == "trtexec"


def test_other_units_and_a_mean_from_the_total() -> None:
    profile = read([{"count": 4}, {"name": "a", "time_us": 8000}, {"name": "b", "avg_ns": 5e5}])
    assert [one.mean_ms for one in profile.layers] == [2.0, 0.5]
    assert [one.total_ms for one in profile.layers] == [8.0, None]


def test_json_that_trtexec_breaks_is_read() -> None:
    text = (
        b'[{ "count" : 1 }\n, { "name" : "a", "timeMs" : 0, "averageMs" : 0, "percentage" : -nan }]'
    )
    profile, notices = parse_profile(text, "p.json")
    assert profile.layers[0].share_pct is None
    assert profile.layers[0].mean_ms == 0.0
    assert [one.code for one in notices] == ["I-JSON-REPAIRED"]
    record = b'{ "name" : "a "quoted" \\name", "timeMs" : 1, "averageMs" : 1 }'
    text = b'[\n  { "count" : 1 }\n, ' + record + b"\n]"
    assert parse_profile(text, "p.json")[0].layers[0].name == 'a "quoted" \\name'


def test_records_that_are_none() -> None:
    profile, notices = parse_profile(
        json.dumps([{"count": "x"}, ROW, 3, {"name": "y"}]).encode(), "p.json"
    )
    assert len(profile.layers) == 1
    assert profile.iterations is None
    assert [(one.code, one.evidence["left_out"]) for one in notices] == [("W-RECORDS", 2)]


def test_times_below_zero_are_not_known() -> None:
    rows = [{"name": "a", "timeMs": 4, "averageMs": -1}, {"name": "b", "averageMs": 2.0}]
    profile, notices = parse_profile(json.dumps([{"count": 4}, *rows]).encode(), "p.json")
    assert [one.mean_ms for one in profile.layers] == [1.0, 2.0]
    assert [one.code for one in notices] == ["W-TIMES-NEGATIVE"]
    assert notices[0].evidence["first"] == "a"


def test_a_mean_that_contradicts_its_total_is_not_known() -> None:
    """averageMs was taken without a word, whatever timeMs and count gave."""
    rows = [
        {"name": "a", "timeMs": 4, "averageMs": 3},
        {"name": "b", "timeMs": 8.0, "averageMs": 2.001},
        {"name": "c", "timeMs": 0, "averageMs": 0},
    ]
    profile, notices = parse_profile(json.dumps([{"count": 4}, *rows]).encode(), "p.json")
    assert [each.mean_ms for each in profile.layers] == [None, 2.001, 0.0]
    assert [each.total_ms for each in profile.layers] == [None, 8.0, 0.0]
    assert [notice.code for notice in notices] == ["W-TIMES-CONTRADICT"]
    assert notices[0].evidence["first"] == "a"


@pytest.mark.parametrize("value", [1e300, 10**12, 10**400, 1e9])
def test_a_time_that_no_layer_takes_is_not_known(value) -> None:
    rows = [{"name": "a", "averageMs": value}, {"name": "b", "averageMs": 2.0}]
    profile, notices = parse_profile(json.dumps([{"count": 4}, *rows]).encode(), "p.json")
    assert [each.mean_ms for each in profile.layers] == [None, 2.0]
    assert [notice.code for notice in notices] == ["W-TIMES-IMPLAUSIBLE"]


@pytest.mark.parametrize("value", [[], {}, [{"count": 3}], [{"name": "x", "time": 3}], 3])
def test_what_holds_no_layer_times(value) -> None:
    with pytest.raises(FormatError, match="no layer times"):
        read(value)
