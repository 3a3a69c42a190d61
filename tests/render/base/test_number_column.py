import pytest

from enginescope.render.base.data_table import number_column, number_text, places_for


def test_one_number_of_decimals_for_all() -> None:
    assert number_column([12.345678, 0.0123, None]) == ["12.35", "0.01", "—"]
    assert number_column([0.0123, 0.00012]) == ["0.01230", "0.00012"]
    assert number_column([1234.5, -1.0]) == ["1,234", "−1"]
    assert number_column([]) == []
    assert number_column([None]) == ["—"]
    assert number_column([1.5, -1.5, 0.0], signed=True) == ["+1.500", "−1.500", "0.000"]


@pytest.mark.parametrize("value", [-0.0, 0.0, -0.0004, 0.0004])
def test_what_rounds_to_nothing_has_no_sign(value) -> None:
    assert number_text(value, 3, signed=True) == "0.000"


@pytest.mark.parametrize(("values", "places"), [([0.0], 0), ([1e-30], 9), ([99.0, None], 2)])
def test_places(values, places) -> None:
    assert places_for(values) == places
