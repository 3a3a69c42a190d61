"""Which products are a model's interface, against a search from each layer; and what it costs."""

from __future__ import annotations

import random

import pytest

from enginescope.records.plan.plan import Layer, Plan
from enginescope.rules import tensor_cores
from enginescope.rules.checks.products import gemm_alignment
from enginescope.rules.tensor_cores import is_fed, is_head
from enginescope.rules.view import LintView
from tests.rules.made import layer, plan

PRODUCTS = ("gemm", "Convolution")


def random_plan(chance: random.Random) -> Plan:
    made: list[Layer] = []
    names = ["in FP16 4x7"]
    for at in range(chance.randint(1, 14)):
        kind = chance.choice(("kgen", "Shuffle", "NoOp", *PRODUCTS))
        reads = ",".join(chance.sample(names, min(len(names), chance.choice((1, 1, 2)))))
        names.append(f"t{at} FP16 {chance.choice(('4x7', '4x9', '7x9'))}")
        made.append(layer(kind, reads, names[-1], name=f"{kind}{at}"))
    outputs = {name.split()[0] for name in chance.sample(names[1:], 1)}
    return plan(*made, outputs=" ".join(outputs))


def reached(view: LintView, start: Layer, length: int | None) -> bool:
    """Search from one layer over neighbors that are not products, and keep the length."""
    flow = view.flow
    ends, links = (
        (flow.writes_output, flow.after) if length is None else (flow.reads_input, flow.before)
    )
    seen, waiting = {start.index}, [start.index]
    while waiting:
        at = waiting.pop()
        if at in ends:
            return True
        for index in links.get(at, ()):
            other = view.layers[index]
            lengths = {dim for tensor in other.inputs for dim in tensor.shape or ()}
            if other.type in PRODUCTS or not (length is None or length in lengths):
                continue
            if index not in seen:
                seen.add(index)
                waiting.append(index)
    return False


@pytest.mark.parametrize("seed", range(60))
def test_it_is_what_a_search_from_each_layer_finds(seed: int) -> None:
    view = LintView(random_plan(random.Random(seed)))
    for one in view.active:
        assert is_head(view, one) is reached(view, one, None), one.name
        for length in (4, 7, 9):
            assert is_fed(view, one, length) is reached(view, one, length), (one.name, length)


def test_the_walks_grow_with_the_plan_and_not_with_its_square(monkeypatch) -> None:
    visits = 0

    def counting(one: Layer) -> bool:
        nonlocal visits
        visits += 1
        return False

    monkeypatch.setattr(tensor_cores, "is_whole_part", counting)
    layers = []
    for at in range(200):  # each gemm is a head and is fed, over all pointwise layers between
        before = f"t{at - 1} FP16 4x7" if at else "in FP16 4x7"
        layers += [
            layer("kgen", before, f"t{at} FP16 4x7"),
            layer("gemm", f"t{at} FP16 4x7,w{at} FP16 7x9", f"g{at} FP16 4x9"),
            layer("kgen", f"g{at} FP16 4x9", f"o{at} FP16 4x9"),
        ]
    outputs = " ".join(f"o{at}" for at in range(200))
    assert list(gemm_alignment.check(LintView(plan(*layers, outputs=outputs)))) == []
    assert visits <= 2 * len(layers)
