from pathlib import Path

from enginescope.core.record import Record, Result


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
