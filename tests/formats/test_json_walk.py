import pytest

from enginescope.formats.lenient_json import finite_number, lists_within


def test_outermost_first() -> None:
    value = {"a": {"deep": [1]}, "b": [2], "c": 3}
    assert [(key, items) for key, _, items in lists_within(value)] == [("b", [2]), ("deep", [1])]


def test_dictionaries_of_dictionaries_are_lists() -> None:
    value = {"perIteration": {"0": {"x": 1}, "1": {"x": 2}}, "n": 2}
    assert ("perIteration", value, [{"x": 1}, {"x": 2}]) in list(lists_within(value))


def test_depth_is_bounded() -> None:
    value: object = [1]
    for _ in range(50):
        value = {"a": value}
    assert all(items != [1] for _, _, items in lists_within(value))


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1.0),
        (2.5, 2.5),
        (True, None),
        ("1", None),
        (None, None),
        (10**400, None),
        (-1e300, None),
    ],
)
def test_numbers(value, number) -> None:
    assert finite_number(value) == number
