from enginescope.analysis.layers.layer_table import LayerRow, TimeShare, time_by

ROWS = (
    LayerRow(index=0, name="a", type="Conv", time_ms=1.0),
    LayerRow(index=1, name="b", type="Add", time_ms=2.0),
    LayerRow(index=2, name="c", type="Conv", time_ms=4.0),
    LayerRow(index=3, name="d", time_ms=1.0),
    LayerRow(index=4, name="e", type="Conv"),
    LayerRow(index=5, name="f", type="Loop", time_ms=9.0, is_container=True),
)


def test_groups_are_summed_and_sorted() -> None:
    assert time_by(ROWS, lambda row: row.type) == (
        TimeShare(key="Conv", layers=2, time_ms=5.0, share_pct=62.5),
        TimeShare(key="Add", layers=1, time_ms=2.0, share_pct=25.0),
        TimeShare(key=None, layers=1, time_ms=1.0, share_pct=12.5),
    )


def test_nothing_timed() -> None:
    assert time_by((ROWS[4],), lambda row: row.type) == ()


def test_all_zero_has_no_share() -> None:
    row = LayerRow(index=0, name="a", time_ms=0.0)
    assert time_by((row,), lambda row: row.type)[0].share_pct is None
