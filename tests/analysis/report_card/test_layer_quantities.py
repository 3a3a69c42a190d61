import pytest

from enginescope.analysis.report_card.card_data import QUANTITIES, quantity_named
from enginescope.core.errors import UsageError
from tests.analysis.card_plans import small_view


def test_each_quantity_is_its_column_in_other_units() -> None:
    view = small_view()
    columns = view.columns()
    units = {"macs": 1e6, "compute": 1e6, "bandwidth": 1e6}
    mib = {"weights", "activations", "footprint"}
    for name, one in QUANTITIES.items():
        unit = 2**20 if name in mib else units.get(name, 1)
        for row, value in zip(view.facts, columns[one.column], strict=True):
            assert one.value(row) == (None if value is None else pytest.approx(value / unit))


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(UsageError, match="not a quantity") as caught:
        quantity_named("footprnt")
    assert "footprint" in caught.value.hint
