"""The JSON lines of trtexec's build-route tuner."""

import json

import pytest

from enginescope.core.errors import FormatError, UsageError
from enginescope.formats.trtexec.tuning_cache import read_tuning_cache

HEADER = {
    "tuner_version": "2.19.45",
    "accuracy_algorithm": "l0",
    "accuracy_parameter": {"atol": 0.0, "rtol": 0.0, "epsilon": 0.0},
    "searching_algorithm": "fast",
    "command_line": "trtexec --onnx=net.onnx",
    "default_build_route": "-copy_ppg=on -peep:max=1",
    "tuning_expr": "-copy_ppg=[on|off]",
    "files": {"onnx": "/m/net.onnx"},
    "argv": ["trtexec", "--onnx=net.onnx"],
}


def line(route: str, gpu_time: float | None = 1.0, **more: object) -> dict[str, object]:
    """A line of the file as trtexec 11.1 writes it."""
    fields = {"iter": 0, "build_route": route, "crash": gpu_time is None, "error_message": ""}
    return {**fields, "accuracy_loss": None, "gpu_time": gpu_time, **more}


def written(path, *lines: dict[str, object], header: object = HEADER):
    path.write_text("".join(f"{json.dumps(one)}\n" for one in (header, *lines)), encoding="utf-8")
    return path


def test_routes_with_their_times_in_the_order_of_the_file(tmp_path) -> None:
    crash = line("-peep:max=2", None, error_message="exit code 1")
    path = written(tmp_path / "t.jsonl", line("-copy_ppg=off", 0.5), crash, line(" -a=1  -b=2 "))
    routes = read_tuning_cache(path)
    assert [(one.route, one.gpu_ms, one.error) for one in routes] == [
        ("-copy_ppg=off", 0.5, None),
        ("-peep:max=2", None, "exit code 1"),
        ("-a=1 -b=2", 1.0, None),
    ]


def test_the_last_line_of_a_route_counts_and_a_cut_one_is_skipped(tmp_path) -> None:
    path = written(tmp_path / "t.jsonl", line("-a=1", 2.0), line("-a=1", 1.0))
    with path.open("a") as file:
        file.write('{"iter": 3, "build_ro')
    (route,) = read_tuning_cache(path)
    assert route.gpu_ms == 1.0
    with pytest.raises(UsageError, match="No such file"):
        read_tuning_cache(tmp_path / "absent.jsonl")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1"),
        ("[1]\n", "line 1"),
        ('{"schema": 1}\n', "tuning_expr"),
        (json.dumps(HEADER) + '\n{"iter": 1}\n', "line 2"),
        (json.dumps(HEADER) + "\n{\n" + json.dumps(line("-a=1")), "line 2"),
    ],
)
def test_other_files_are_named_with_the_line(tmp_path, text, message) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_tuning_cache(path)
