import pytest

from enginescope.core.errors import UsageError
from enginescope.core.units import format_bytes, parse_bytes, parse_duration_ms
from enginescope.judge.units import format_ms, format_significant


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("200ms", 200.0),
        ("10s", 10_000.0),
        ("2min", 120_000.0),
        ("500us", 0.5),
        ("1.5 s", 1500.0),
        ("2", 2000.0),
    ],
)
def test_durations(text: str, ms: float) -> None:
    assert parse_duration_ms(text) == pytest.approx(ms)


@pytest.mark.parametrize("text", ["", "ms", "10 parsecs", "-1s", "1e999s x"])
def test_not_durations(text: str) -> None:
    with pytest.raises(UsageError, match="not a duration"):
        parse_duration_ms(text)


@pytest.mark.parametrize(
    ("text", "size"), [("512MiB", 512 << 20), ("2GiB", 2 << 30), ("1GB", 10**9), ("77", 77)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


def test_sizes_and_times_in_words() -> None:
    with pytest.raises(UsageError, match="not a size"):
        parse_bytes("lots")
    assert (format_ms(None), format_bytes(None)) == ("not known", "not known")
    assert format_ms(12_345.0) == "12.35 s" or format_ms(12_345.0) == "12.34 s"
    assert (format_bytes(0), format_bytes(96 << 20)) == ("0 B", "96.0 MiB")
    assert format_bytes(3 << 40) == "3.00 TiB"


@pytest.mark.parametrize(
    ("value", "text"),
    [(4.21789, "4.22"), (0.012345, "0.0123"), (1234.5, "1,234"), (0.0, "0"), (float("inf"), "inf")],
)
def test_significant(value: float, text: str) -> None:
    assert format_significant(value) == text
