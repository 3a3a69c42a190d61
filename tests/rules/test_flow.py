from __future__ import annotations

from enginescope.rules.view import Flow
from tests.rules.made import layer, plan


def test_layers_before_and_after() -> None:
    flow = Flow(
        plan(
            layer("Convolution", "in FP16", "a FP16"),
            layer("PointWise", "a FP16", "b FP16"),
            layer("PointWise", "a FP16, b FP16", "out FP16"),
        )
    )
    assert flow.before == {1: (0,), 2: (0, 1)}
    assert flow.after == {0: (1, 2), 1: (2,)}
    assert flow.only_after(1) == 2
    assert flow.only_after(0) is None
    assert flow.only_before(1) == 0
    assert flow.only_before(2) is None
    assert flow.reads_input == {0}
    assert flow.writes_output == {2}


def test_no_ops_are_seen_through() -> None:
    flow = Flow(
        plan(
            layer("NoOp", "in FP16", "in2 FP16"),
            layer("PointWise", "in2 FP16", "a FP16"),
            layer("NoOp", "a FP16", "b FP16"),
            layer("NoOp", "b FP16", "c FP16"),
            layer("PointWise", "c FP16", "d FP16"),
            layer("NoOp", "d FP16", "out FP16"),
            layer("NoOp", "", "nothing FP16"),
        )
    )
    assert flow.before == {4: (1,)}
    assert flow.reads_input == {1}
    assert flow.writes_output == {4}
    assert flow.only_after(4) is None


def test_a_tensor_written_again_has_its_last_writer() -> None:
    flow = Flow(
        plan(
            layer("PointWise", "in FP16", "a FP16"),
            layer("PointWise", "a FP16", "b FP16"),
            layer("PointWise", "b FP16", "a FP16"),
            layer("PointWise", "a FP16", "out FP16"),
        )
    )
    assert flow.before[3] == (2,)
    assert flow.after[0] == (1,)


def test_parts_of_a_left_out_concatenation_are_all_before_its_reader() -> None:
    flow = Flow(
        plan(
            layer("PointWise", "in FP16", "joined FP16"),
            layer("PointWise", "in FP16", "joined FP16"),
            layer("PointWise", "joined FP16", "out FP16"),
        )
    )
    assert flow.before[2] == (0, 1)


def test_what_is_written_further_down_has_no_producer() -> None:
    flow = Flow(plan(layer("PointWise", "state FP16", "state FP16")))
    assert flow.before == {}
