from __future__ import annotations

from pathlib import Path

from enginescope.core.record import Record, Result, copied


class Many(Record, frozen=True, kw_only=True):
    name: str
    layers: tuple[int, ...] = ()
    inner: Many | None = None


def test_long_collections_are_counted_and_long_values_cut() -> None:
    assert repr(Many(name="net", layers=tuple(range(50_000)))) == (
        "Many(name='net', layers=<50,000>, inner=None)"
    )
    assert repr(Many(name="net", layers=(1, 2))) == "Many(name='net', layers=(1, 2), inner=None)"
    deep = Many(name="a" * 500)
    for _ in range(20):
        deep = Many(name="b" * 500, inner=deep)
    text = repr(deep)
    assert text.startswith("Many(name='bbb")
    assert "…" in text
    assert len(text) < 400
    source = Many(name="net", layers=(1, 2), inner=Many(name="in"))
    assert copied(Other, source, size=3) == Other(name="net", inner=source.inner, size=3)
    assert copied(Other, source, name="own").name == "own"


class Other(Record, frozen=True, kw_only=True):
    name: str
    inner: Many | None = None
    size: int = 0


class Report(Result, Record, frozen=True, kw_only=True):
    name: str
    path: Path
    is_passed: bool | None = None
    rows: tuple[int, ...] = ()
    nested: Record | None = None


class DisplayedReport(Report, frozen=True, kw_only=True):
    def _summary(self) -> str:
        return "word " * 200


def test_plain_fields_counts_and_ends_of_long_texts() -> None:
    report = Report(name="net", path=Path("a.json"), rows=(1, 2), nested=Record())
    assert repr(report) == "<Report name='net', path='a.json', 2 rows>"
    text = repr(Report(name="first" + "x" * 500 + "last", path=Path("a")))
    assert "name='first" in text
    assert "last', path='a'" in text
    text = repr(DisplayedReport(name="net", path=Path("a")))
    assert text.startswith("<Report word")
    assert text.endswith(" …>")
    assert len(text.splitlines()) == 3
    assert max(map(len, text.splitlines())) <= 100
