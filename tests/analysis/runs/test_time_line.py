import numpy as np

from enginescope.analysis.layers.layer_table import LayerRow, is_stamped, layer_spans
from enginescope.analysis.runs.throughput import clocks_differ_ms, part_spans, typical_query
from enginescope.judge.samples import frozen
from enginescope.records.samples import QueryTrace


def trace(
    times_ms: list[float], *, enqueue_at: float = -0.2, stream: float | None = None
) -> QueryTrace:
    """Queries every 10 ms: H2D of 1 ms, a computation, no D2H."""
    start = 10.0 * np.arange(len(times_ms))
    end = start + 1 + np.array(times_ms)
    parts = {"enqueue": (start + enqueue_at,) * 2, "h2d": (start, start + 1)}
    parts |= {"compute": (start + 1, end), "d2h": (end, end)}
    stamps = {f"{part}_start": begin for part, (begin, _) in parts.items()}
    stamps |= {f"{part}_end": ended for part, (_, ended) in parts.items()}
    if stream is not None:
        stamps["stream"] = np.full(len(times_ms), stream)
    return QueryTrace(**{name: frozen(values) for name, values in stamps.items()})


def test_layers_follow_each_other_and_begin_where_the_profile_says_so_of_all() -> None:
    rows = (
        LayerRow(index=0, name="a", time_ms=2.0),
        LayerRow(index=1, name="loop", time_ms=9.0, is_container=True),
        LayerRow(index=2, name="unknown"),
        LayerRow(index=3, name="b", time_ms=1.0),
    )
    found = layer_spans(rows)
    assert [(one.row.name, one.start_ms, one.ms) for one in found] == [("a", 0, 2), ("b", 2, 1)]
    first = LayerRow(index=1, name="a", time_ms=2.0, start_ms=0.0)
    second = LayerRow(index=0, name="b", time_ms=1.0, start_ms=2.5)
    found = layer_spans((second, first))
    assert [(one.row.name, one.start_ms, one.ms) for one in found] == [("a", 0, 2), ("b", 2.5, 1)]
    assert is_stamped(found)
    mixed = layer_spans((first, second, LayerRow(index=2, name="c", time_ms=1.0)))
    assert [one.start_ms for one in mixed] == [0, 2, 3]
    assert not is_stamped(mixed)


def test_parts_have_their_stamps_and_a_copy_without_length_is_none() -> None:
    found = part_spans(trace([2.0, 3.0], stream=1.0), [1])
    assert [(one.part, one.start_ms, one.end_ms) for one in found] == [
        ("enqueue", 9.8, 9.8),
        ("H2D", 10.0, 11.0),
        ("compute", 11.0, 14.0),
    ]
    assert {one.stream for one in found} == {1}
    assert {one.stream for one in part_spans(trace([2.0]))} == {None}
    assert len(part_spans(trace([2.0, 3.0]))) == 6


def test_the_typical_query_and_clocks_that_differ() -> None:
    assert typical_query(trace([5.0, 3.0, 9.0, 5.0, 5.0, 3.0])) == 3
    assert typical_query(trace([5.0, 5.0])) == 0
    # None is near the median of an even number: the nearest.
    assert typical_query(trace([1.0, 9.0])) == 0
    assert clocks_differ_ms(trace([2.0, 2.0])) is None
    assert clocks_differ_ms(trace([2.0, 2.0], enqueue_at=0.25)) == 0.25
