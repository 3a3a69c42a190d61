import pytest

from enginescope.cli.main import main
from enginescope.cli.measure.bench import warm_up_of
from enginescope.cli.options import (
    parse_count_or_duration,
    parse_input,
    parse_memory,
    parse_range,
    parse_shape,
    parse_span_ms,
)
from enginescope.core.errors import UsageError


@pytest.mark.parametrize("verb", ["bench", "depth", "import", "doctor"])
def test_a_tag_that_no_run_could_have_is_refused_before_anything_runs(verb, capsys) -> None:
    for text in ("a b", "a/b", "-a", "latest", "latest~1", ""):
        assert main([verb, "--tag", text]) == 2
        assert "is not a tag" in " ".join(capsys.readouterr().err.split())


def test_shapes_ranges_and_inputs(tmp_path) -> None:
    assert parse_shape("image:1x3x224x224").dims == (1, 3, 224, 224)
    assert parse_shape("Input:0:1x3").name == "Input:0"
    assert parse_shape("'Input:0':1X3").name == "Input:0"
    found = parse_range("ids:0:30521")
    assert (found.name, found.low, found.high) == ("ids", 0, 30521)
    assert parse_range("a:b:-5:5").name == "a:b"
    (tmp_path / "cat.npy").touch()
    found = parse_input(f"image:{tmp_path / 'cat.npy'}")
    assert (found.name, found.path) == ("image", str((tmp_path / "cat.npy").resolve()))
    (tmp_path / "cat.npy").touch()
    assert parse_input(f"input:0:{tmp_path / 'cat.npy'}").name == "input:0"


@pytest.mark.parametrize(
    ("parse", "said", "texts"),
    [
        (
            parse_shape,
            "not NAME:DIMS",
            "image image: :1x3 image:1x image:axb image:-1x3 image:4000000000",
        ),
        (parse_range, "not NAME:LOW:HIGH", "ids ids:0 ids:0:many"),
        (parse_input, "not NAME:FILE", "cat.npy :cat.npy image:"),
        (parse_input, "there is no file", f"i:absent.npy i:~nobody-of-that/a.npy i:{'x' * 300}"),
    ],
)
def test_what_is_no_shape_range_or_input(parse, said, texts) -> None:
    for text in texts.split():
        with pytest.raises(UsageError, match=said):
            parse(text)


def test_counts_durations_and_limits() -> None:
    assert parse_count_or_duration("50") == 50
    assert isinstance(parse_count_or_duration("50"), int)
    assert parse_count_or_duration("200ms") == 200.0
    for text in ("²", "1e400s"):
        with pytest.raises(UsageError):
            parse_count_or_duration(text)
    assert (parse_span_ms("2s"), parse_memory("1KiB")) == (2000.0, 1024)
    for parse, text in (
        (parse_span_ms, "0s"),
        (parse_span_ms, "1e400s"),
        (parse_memory, "0"),
        (parse_memory, "1e400"),
    ):
        with pytest.raises(UsageError, match=r"is not above 0|too large"):
            parse(text)
    with pytest.raises(UsageError, match="above the upper"):
        parse_range("ids:9:3")


def test_warm_up_takes_a_time_a_count_or_both() -> None:
    assert (warm_up_of(()).time_ms, warm_up_of(()).iterations) == (200.0, 3)
    both = warm_up_of((500.0, 50))
    assert (both.time_ms, both.iterations, both.limit_ms) == (500.0, 50, 5000.0)
    assert (warm_up_of((50,)).time_ms, warm_up_of((50,)).iterations) == (0.0, 50)
    assert (warm_up_of((0,)).time_ms, warm_up_of((0,)).iterations) == (0.0, 0)
