import json

import pytest

from enginescope.core.errors import FormatError, UsageError
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files

TIMES = [{"count": 3}, {"name": "a", "timeMs": 3, "averageMs": 1, "percentage": 100}]
REQUESTS = [{"startEnqMs": 1, "endEnqMs": 2, "computeMs": 1.5, "latencyMs": 2}]
METADATA = {"performance_summary": {"Throughput": 5.0}, "device_information": {}}


@pytest.mark.parametrize(
    ("name", "data", "said", "hint"),
    [
        ("net.profile.json", json.dumps(TIMES), "layer times", "--profile"),
        ("net.timing.json", json.dumps(REQUESTS), "times of requests", "enginescope import"),
        ("net.profile.metadata.json", json.dumps(METADATA), "trex's metadata", "--metadata"),
        ("net.onnx", "\x08\x07", "is a model", "--onnx"),
        ("net.graph.json", "", "is empty", "--exportLayerInfo"),
        ("net.engine", "ftrt", "is not a JSON file", "--exportLayerInfo"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path, name, data, said, hint) -> None:
    path = tmp_path / name
    path.write_text(data)
    with pytest.raises(UsageError) as caught:
        read_plan_files(PlanFiles(plan=path))
    assert said in str(caught.value)
    assert hint in (caught.value.hint or "")


def test_json_of_no_known_kind_is_no_plan(tmp_path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"hello": 1}')
    with pytest.raises(FormatError, match="there are no layers"):
        read_plan_files(PlanFiles(plan=path))
