import pytest

from enginescope.analysis.roofline.matrix_product import groups_of, kernel_of
from enginescope.records.plan.plan import Layer


@pytest.mark.parametrize(
    ("own", "kernel"),
    [
        ({"Kernel": [3]}, (3,)),
        ({"Kernel": [3, 3]}, (3, 3)),
        ({"Kernel": [1, 3, 3]}, (1, 3, 3)),
        ({"ConvKernel": [7, 7]}, (7, 7)),
        ({"Kernel": []}, None),
        ({"Kernel": "3x3"}, None),
        ({}, None),
    ],
)
def test_kernels_of_any_rank(own, kernel) -> None:
    assert kernel_of(Layer(index=0, name="a", attributes=own)) == kernel


def test_groups() -> None:
    one = Layer(index=0, name="a", attributes={"ConvGroups": 4})
    assert groups_of(one) == 4
    other = Layer(index=0, name="a", attributes={"Groups": 0})
    assert groups_of(other) is None
