"""A side's answer in one sentence."""

import numpy as np
import pytest

from enginescope.analysis.accuracy.binding_check import BindingDifference
from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.errors.output_tolerance import tolerance_named
from enginescope.analysis.validation.validation import ValidatedSide
from enginescope.render.accuracy.compared_outputs import side_answer
from tests.analysis.answers import tensor


@pytest.mark.parametrize(
    ("values", "ending"),
    [
        (np.full(50, 0.7), ", which shows little: every output is constant"),
        (np.linspace(0, 1, 50), "1 output equal to the reference"),
    ],
)
def test_equal_constants_show_little(values, ending) -> None:
    comparison = SideComparison("B", lambda _: tolerance_named("fp32"))
    comparison.add(0, "img0", [tensor(values)], [tensor(values)])
    side = ValidatedSide(
        label="B", tolerance="fp32", tolerance_why="given", diff=comparison.result()
    )
    answer = side_answer(side)
    assert answer.startswith("B passes: 1 output equal to the reference")
    assert answer.endswith(ending)


def test_different_inputs_are_named_in_quotes() -> None:
    side = ValidatedSide(
        label="B",
        tolerance="fp32",
        tolerance_why="given",
        bindings=(
            BindingDifference(role="input", name="image", what="missing", blocks=True),
            BindingDifference(role="input", name="0", what="extra", blocks=True),
        ),
    )
    assert side_answer(side) == (
        "B fails: the models have different inputs: only the reference has input 'image'; "
        "only this side has input '0'"
    )
