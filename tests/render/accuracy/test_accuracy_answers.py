from typing import Any

import numpy as np
import pytest

from enginescope.analysis.accuracy.binding_check import BindingDifference
from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.errors.output_tolerance import tolerance_named
from enginescope.analysis.tasks.base import ScoredPart, TaskMetric, TaskScores
from enginescope.analysis.tasks.task_scoring import LeftOut, TaskLimit, TaskReport, TaskSide
from enginescope.analysis.validation.validation import ValidatedSide
from enginescope.render.accuracy.compared_outputs import side_answer
from enginescope.render.accuracy.task_answer import (
    MOST_PARTS,
    broken_text,
    class_table,
    task_answer,
    task_figure,
    task_part,
)
from enginescope.render.base.text import answer_lines, as_text
from tests.analysis.answers import tensor

METRICS = (
    TaskMetric(name="miou", title="mIoU", better="higher", unit="%"),
    TaskMetric(name="error", title="error", better="lower"),
)


def report(values: dict[str, float | None], **more: Any) -> TaskReport:
    parts = tuple(
        ScoredPart(name=f"class {n}", values={"IoU %": float(100 - n)}) for n in range(60)
    )
    broken = tuple(TaskLimit(metric=name, value=1.0) for name in more.pop("broken", ()))
    side = TaskSide(label="a.onnx", scores=TaskScores(values=values, parts=parts), broken=broken)
    fields = {
        "task": "segmentation",
        "title": "Segmentation",
        "against": "targets",
        "source": "gt",
        "metrics": METRICS,
        "averaged": "over pixels",
        "counted": 3,
        "sides": (side,),
        **more,
    }
    return TaskReport(**fields)


def test_figures_classes_and_broken_limits_in_words() -> None:
    table = class_table(report({"miou": 70.0, "error": 0.5}))
    assert len(table.rows) == MOST_PARTS
    assert table.rows[0] == ("class 59", "41.00")
    assert table.title == "IoU % of the 40 least of 60"
    assert task_figure(0.123456) == "0.1235"
    assert task_figure(0.000123) == "1.23e-04"
    assert task_figure(84.7345, "%") == "84.73 %"
    assert task_figure(1234.5) == "1,234"
    assert task_figure(None) == "—"
    found = report({"miou": 70.0, "error": None}, broken=("miou", "error"))
    (side,) = found.sides
    assert broken_text(found, side, "miou") == "a.onnx: mIoU 70.00 % is below its limit of 1"
    assert broken_text(found, side, "error") == "a.onnx: error cannot be stated, its limit is 1"
    assert task_answer(report({"miou": 70.0}, limits=(TaskLimit(metric="miou", value=1.0),))) == (
        "Segmentation: every limit is kept"
    )


def test_what_was_left_out_is_named_up_to_three() -> None:
    left_out = tuple(LeftOut(sample=f"{n}.png", why="no target") for n in range(5))
    part = task_part(report({"miou": 70.0, "error": 2e-5}, left_out=left_out, unused=("x", "y")))
    assert part.answer == "Segmentation against the targets in gt, 3 samples"
    whole = "".join(as_text(one, width=60) for one in answer_lines(part, 60))
    for words in ("2 more, all of them in the JSON", "for 2 targets: x, y", "class 59 41.000"):
        assert words in whole


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
