import pytest

from enginescope.core.errors import FormatError, UsageError
from enginescope.formats.plan.overlay_file import read_overlay
from tests.analysis.graph.test_plan_graph import made

PLAN = made(("a", "x", "1"), ("b, c", "1", "2"), ("d", "2", "y"), io="x>y")


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("error.csv", 'a,0.5\n"b, c",-2e-3\n', "error"),
        ("error.csv", 'layer,RMSE\na,0.5\n"b, c",-0.002\n', "RMSE"),
        ("error.json", '{"a": 0.5, "b, c": -0.002}', "error"),
        ("e.json", '[{"name": "a", "value": 0.5}, {"name": "b, c", "value": -0.002}]', "e"),
    ],
)
def test_names_and_values_are_read(name, text, title) -> None:
    found, notices = read_overlay(text.encode(), name, PLAN)
    assert (found.title, found.values, notices) == (title, {0: 0.5, 1: -0.002}, ())


def test_names_that_no_layer_has_are_said() -> None:
    found, (notice,) = read_overlay(b"a,1\nz,2\n", "mine.csv", PLAN)
    assert found.values == {0: 1.0}
    assert notice.code == "W-OVERLAY"
    assert notice.message.startswith("mine.csv: 1 of 2 names are not layers")
    assert notice.message.endswith(": z")
    with pytest.raises(UsageError, match="no layer of") as caught:
        read_overlay(b"dd,1\n", "mine.csv", PLAN)
    assert "near" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("x.csv", "a,1\na,2\n", "twice"),
        ("x.csv", "a,1\nd,nan\n", "no finite value"),
        ("x.json", '{"a": "much"}', "no finite value"),
        ("x.json", "[1, 2]", "no names and values"),
    ],
)
def test_what_cannot_be_read(name, text, why) -> None:
    with pytest.raises(FormatError, match=why):
        read_overlay(text.encode(), name, PLAN)
