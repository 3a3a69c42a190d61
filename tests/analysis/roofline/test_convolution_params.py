from enginescope.analysis.roofline.matrix_product import groups_of
from enginescope.records.plan.plan import Layer


def test_groups() -> None:
    one = Layer(index=0, name="a", attributes={"ConvGroups": 4})
    assert groups_of(one) == 4
    other = Layer(index=0, name="a", attributes={"Groups": 0})
    assert groups_of(other) is None
