import pytest

from enginescope.core.errors import UsageError
from enginescope.core.units import format_bytes, parse_bytes, parse_duration_ms
from enginescope.judge.units import format_ms, format_significant


def test_durations() -> None:
    read = [parse_duration_ms(text) for text in ("200ms", "10s", "2min", "500us", "1.5 s", "2")]
    assert read == pytest.approx([200.0, 10_000.0, 120_000.0, 0.5, 1500.0, 2000.0])
    for text in ("", "ms", "10 parsecs", "-1s", "1e999s x"):
        with pytest.raises(UsageError, match="not a duration"):
            parse_duration_ms(text)


def test_sizes_and_times_in_words() -> None:
    sizes = [parse_bytes(text) for text in ("512MiB", "2GiB", "1GB", "77")]
    assert sizes == [512 << 20, 2 << 30, 10**9, 77]
    with pytest.raises(UsageError, match="not a size"):
        parse_bytes("lots")
    assert (format_ms(None), format_bytes(None)) == ("not known", "not known")
    assert format_ms(12_345.0) in ("12.35 s", "12.34 s")
    assert (format_bytes(0), format_bytes(96 << 20)) == ("0 B", "96.0 MiB")
    assert format_bytes(3 << 40) == "3.00 TiB"
    values = (4.21789, 0.012345, 1234.5, 0.0, float("inf"))
    assert [*map(format_significant, values)] == ["4.22", "0.0123", "1,234", "0", "inf"]
