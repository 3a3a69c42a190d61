import pytest

from enginescope.analysis.bisection.error_growth import (
    BeyondRange,
    Bisected,
    growth_of,
    started,
    steepest,
)
from enginescope.analysis.bisection.precision_proposals import (
    PrecisionTrial,
    PrecisionTrials,
    Proposal,
    front,
    proposals_of,
)
from enginescope.analysis.bisection.tensor_pairs import TensorError, TensorPair
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_graph import OnnxFlow
from enginescope.judge.samples import Interval
from tests.analysis.bisection.test_tensor_errors import flow as flow_of

CHAIN = ("a", "b", "c", "d")


def flow(*names: str, prefix: str = "") -> OnnxFlow:
    """A chain of nodes: x → a → b …"""
    read = ("x", *(f"{one}_out" for one in names))
    return flow_of(
        *(
            (f"{prefix}{one}", ("Conv", "Relu")[at % 2], (read[at],), read[at + 1])
            for at, one in enumerate(names)
        )
    )


def error(name: str, size: float, *, over: bool = False, peak: float = 1.0, nan: int = 0):
    return TensorError(
        tensor=f"{name}_out",
        elements=10,
        error=size,
        peak=size,
        max_abs_error=size,
        reference_peak=peak,
        nan=nan,
        over=("not-finite" if nan else "error") if over else None,
        share=2.0 if over else 0.0,
    )


def pairs(chain: OnnxFlow, prefix: str = "") -> list[TensorPair]:
    """Each tensor of a chain of nodes with its own; the last one is the output."""
    return [
        TensorPair(
            reference=one.outputs[0],
            candidate=one.outputs[0],
            node=f"{prefix}{one.name}",
            operator=one.operator,
            reference_node=one.name,
            parents=() if one.inputs == ("x",) else one.inputs,
            is_output=one is chain.nodes[-1],
            is_end=one is chain.nodes[-1],
        )
        for one in chain.nodes
    ]


def bisected(*errors: TensorError, largest: float | None = 65_504.0) -> Bisected:
    steps = growth_of(pairs(flow(*CHAIN), "side/"), {one.tensor: one for one in errors})
    beyond = tuple(
        BeyondRange(tensor=one.tensor, kind="activation", node="n", operator="Conv", peak=peak)
        for one in errors
        if largest and (peak := one.reference_peak or 0.0) > largest
    )
    return started(
        Bisected(
            side="s",
            reference="r",
            tolerance="fp16",
            limit=0.01,
            peak_limit=0.25,
            largest=largest,
            steps=steps,
            tensors=4,
            beyond=beyond,
        )
    )


def names(of: OnnxFlow) -> frozenset[str]:
    return frozenset(node.name for node in of.nodes)


def test_a_layer_that_departs_hands_on_or_overflows_is_told_apart() -> None:
    fine = error("a", 1e-3)
    assert bisected(fine, error("b", 0.5, over=True)).cause == "departs"
    assert bisected(error("a", 0.008), error("b", 0.011, over=True)).cause == "grows"
    assert bisected(fine, error("b", 1e-3)).cause == "within"
    assert bisected(fine, error("b", 0.5, over=True, nan=3)).cause == "not-finite"
    told = bisected(error("a", 1e-3), error("b", 0.5, over=True, peak=7e4, nan=2))
    assert (told.cause, told.overflowing) == ("overflow", "b_out")
    # what a layer gives may be right until it is stored: its reader shows it
    late = bisected(error("a", 1e-3, peak=7e4), error("b", 0.5, over=True, nan=2))
    assert (late.cause, late.overflowing) == ("overflow", "a_out")
    wide = bisected(error("a", 1e-3), error("b", 0.5, over=True, peak=7e4, nan=2), largest=None)
    assert wide.cause == "not-finite"


def test_proposals_name_each_set_of_nodes_once_and_in_the_models_own_names() -> None:
    found = bisected(
        error("a", 1e-3),
        error("b", 0.5, over=True, peak=7e4, nan=2),
        error("c", 0.5, over=True),
        error("d", 0.5, over=True),
    )
    nodes = flow(*CHAIN)
    made = {it.kind: it.nodes for it in proposals_of(found, nodes, names(nodes), of_reference=True)}
    assert (made["first"], made["overflow"]) == (("b",), ("b", "c"))
    assert (made["block"], made["operator"]) == (("a", "b", "c"), ("b", "d"))
    assert "starts" not in made  # it is the first alone
    assert len(set(made.values())) == len(made)
    own = flow(*CHAIN, prefix="side/")
    ours = proposals_of(found, own, names(own))
    assert {name for one in ours for name in one.nodes} <= {f"side/{one}" for one in CHAIN}


def test_a_node_of_a_loop_is_kept_in_all_rounds_and_what_only_the_copy_has_is_left_out() -> None:
    rounds = ("scale::round0", "node_of_last", "scale::round1", "sum")
    loop = flow(*rounds)
    errors = [error(name, 0.5, over=True) for name in rounds]
    found = started(
        replace(bisected(), steps=growth_of(pairs(loop), {one.tensor: one for one in errors}))
    )
    assert found.first == "scale::round0_out"
    proposals = proposals_of(found, loop, present={"loop", "scale", "sum"})
    (first,) = (one for one in proposals if one.kind == "first")
    assert (first.title, first.nodes) == ("the start: scale", ("scale",))
    assert {name for one in proposals for name in one.nodes} <= {"scale", "sum"}
    assert all(len(set(one.nodes)) == len(one.nodes) for one in proposals)


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("enc/l1/k", ("enc/l1/q", "enc/l1/k")),
        # alone in its module: with what it reads and what reads it
        ("enc/l2/q", ("enc/l1/k", "enc/l2/q", "head")),
        ("head", ("enc/l2/q", "head")),
    ],
)
def test_a_block_is_a_module_where_names_say_so_else_the_neighbours(name, block) -> None:
    (only,) = pairs(flow(name))
    steps = growth_of([only], {only.reference: error(name, 1.0, over=True)})
    found = replace(bisected(), steps=steps, first=only.reference)
    nodes = flow("enc/l1/q", "enc/l1/k", "enc/l2/q", "head")
    made = {one.kind: one.nodes for one in proposals_of(found, nodes, names(nodes))}
    assert made["block"] == block


def test_the_steepest_add_most_and_the_front_is_beaten_in_neither() -> None:
    found = bisected(
        error("a", 0.004), error("b", 0.005), error("c", 0.05, over=True), error("d", 0.05)
    )
    assert [one.tensor for one in steepest(found.steps, 2)] == ["c_out", "a_out"]
    points = [(1.0, 5.0), (2.0, 1.0), (3.0, 1.0), (2.0, 4.0), (None, 0.0), (4.0, None), (2.0, 1.0)]
    assert (front(points), front([])) == ((0, 1, 6), ())


def trial(kind: str, ms: float, *, passes: bool, nodes: int):
    return PrecisionTrial(
        proposal=Proposal(kind=kind, title=kind, nodes=tuple(map(str, range(nodes)))),
        specification="",
        passes=passes,
        error=0.1,
        latency_ms=ms,
        interval=Interval(low=ms - 0.05, high=ms + 0.05),
    )


def test_of_what_passes_the_fastest_is_suggested_and_among_equals_the_smallest() -> None:
    tried = [
        trial("none", 1.0, passes=False, nodes=0),
        trial("operator", 1.98, passes=True, nodes=9),
        trial("first", 2.0, passes=True, nodes=1),
        trial("all", 3.0, passes=True, nodes=0),
    ]
    found = PrecisionTrials(way="w", trials=tuple(tried))
    assert found.suggested.kind == "first"
    assert not found.saves_nothing
    slow = PrecisionTrials(way="w", trials=(tried[2], trial("all", 1.5, passes=True, nodes=0)))
    assert slow.suggested.kind == "all"
    assert not found.latency_is_no_reason
    none = PrecisionTrials(way="w", trials=(tried[0],))
    assert not none.latency_is_no_reason  # not known without the FP32 trial
    assert none.suggested is None


@pytest.mark.parametrize(
    ("fp32", "is_no_reason"),
    # at 1.08 the intervals of 0.1 overlap, at 1.2 they do not
    [(0.8, True), (1.08, True), (1.2, False)],
)
def test_latency_is_no_reason_where_fp32_is_no_slower_than_the_side(fp32, is_no_reason) -> None:
    trials = (
        trial("none", 1.0, passes=False, nodes=0),
        trial("first", 1.5, passes=True, nodes=1),
        trial("all", fp32, passes=True, nodes=0),
    )
    assert PrecisionTrials(way="w", trials=trials).latency_is_no_reason is is_no_reason
