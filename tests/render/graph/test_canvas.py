"""What the page's graph is given."""

import base64
import json
import zlib
from typing import Any

import numpy as np

from enginescope.analysis.graph.plan_graph import plan_graph
from enginescope.records.plan.plan import Plan
from enginescope.render.graph.node_labels import Times
from enginescope.render.graph.view.canvas import Names, canvas, container, packed
from enginescope.render.plans.plan_headline import MOST_UNFOLDED, foldings
from enginescope.rules.base import Finding
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.analysis.graph.test_fold import transformer
from tests.analysis.graph.test_plan_graph import made
from tests.formats import plans

UNTIMED = Times(time_ms={}, sum_ms=0.0)


def read(text: str) -> Any:
    """Read a container as the page does."""
    data = zlib.decompress(base64.b64decode(text))
    length = int.from_bytes(data[:4], "little")

    def revive(value: dict[str, Any]) -> Any:
        if "$" not in value:
            return value
        found = np.frombuffer(data, f"<{value['$']}", value["n"], 4 + length + value["at"])
        return np.cumsum(found, dtype=found.dtype) if value["$"] in ("u4", "i4") else found

    return json.loads(data[4 : 4 + length], object_hook=revive)


def data_of(plan: Plan, times: Times = UNTIMED, **findings: Any) -> dict[str, Any]:
    graph = plan_graph(plan)
    return read(container(canvas(graph, foldings(graph), times, findings.get("found", {})).data))


def test_a_container_reads_back() -> None:
    value = {"a": packed("u1", [1, 2, 3]), "b": [packed("f4", [1.5, None]), "é<\x1e"], "c": None}
    found = read(container(value))
    assert found["a"].tolist() == [1, 2, 3]
    assert found["b"][0][0] == 1.5
    assert np.isnan(found["b"][0][1])
    assert found["b"][1] == "é<\x1e"
    assert found["c"] is None
    # Strings are there once and can be written.
    names = Names()
    assert names.numbers((None, "", "x", "y\ud800", "x")) == [0, 0, 1, 2, 1]
    assert names.packed()["strings"] == ["", "x", "y?"]


def test_nodes_and_edges_point_at_their_words() -> None:
    data = data_of(made(("a", "x", "1"), ("b", "1", "y"), io="x>y"))
    assert [data["strings"][one] for one in data["nodes"]["name"]] == ["x", "a", "b", "y"]
    assert data["nodes"]["kind"].tolist() == [1, 0, 0, 2]
    assert list(
        zip(data["edges"]["source"].tolist(), data["edges"]["target"].tolist(), strict=True)
    ) == [(0, 1), (1, 2), (2, 3)]
    assert np.isnan(data["nodes"]["ms"]).all()
    assert data["total_ms"] is None
    starts, outputs = data["nodes"]["starts"], data["nodes"]["outputs"]
    tensors = [data["strings"][one] for one in data["nodes"]["tensor"]]
    assert (tensors[starts[1] : outputs[1]], tensors[outputs[1] : starts[2]]) == (["x"], ["1"])


def test_small_plans_open_whole_and_large_ones_folded() -> None:
    small, large = data_of(transformer(7)), data_of(transformer(8))  # 37 and 42 layers
    assert (small["first"], large["first"]) == ("none", "module")
    assert list(small["foldings"]) == ["module", "block", "none"]
    # Very large plans have no layout of the whole.
    data = data_of(transformer(MOST_UNFOLDED // 5 + 50))
    assert list(data["foldings"]) == ["module", "block"]
    # The whole, the repeat, and one for all copies, of each way to fold.
    assert len(data["layouts"]) <= 6
    for folding in data["foldings"].values():
        placed = [len(data["layouts"][one]["x"]) for one in folding["layout"]]
        assert np.diff(folding["starts"]).tolist() == placed
        assert (folding["member"] >= 0).sum() == len(data["nodes"]["kind"])
    # A plan without modules or repeats is not folded.
    data = data_of(made(("a", "x", "1"), ("b", "1", "2"), ("c", "2", "y"), io="x>y"))
    assert list(data["foldings"]) == ["none"]


def test_edges_of_a_level_begin_and_end_at_their_boxes() -> None:
    data = data_of(transformer(32))
    width, height = data["sizes"]["layer"]
    for layout in data["layouts"]:
        points = layout["points"].reshape(-1, 2)
        for edge, (source, target) in enumerate(
            zip(layout["source"], layout["target"], strict=True)
        ):
            line = points[layout["starts"][edge] : layout["starts"][edge + 1]]
            assert len(line) >= 2
            if target >= 0 and not layout["back"][edge]:
                assert abs(line[-1][0] - layout["x"][target]) <= width / 2 + 12
                assert line[-1][1] < layout["y"][target]
            assert source >= -1
            assert target != -1
        assert points[:, 1].min(initial=0) >= 0
        assert points[:, 1].max(initial=0) <= layout["height"] + 1
        assert (layout["y"] + height / 2 <= layout["height"] + 6).all()


def test_findings_are_told_once(data) -> None:
    plan = plans.recorded(data / "trt86-h200", "resnet18")
    found: dict[int, list[Finding]] = {}
    for one in lint(LintInput(plan=plan)).findings:
        for index in one.layers:
            found.setdefault(index, []).append(one)
    assert found
    told = data_of(plan, found=found)["findings"]
    assert len(told["texts"]) == len({id(one) for some in found.values() for one in some})
    assert len(told["node"]) == len(told["finding"]) >= len(told["texts"])
    code, severity, *_ = told["texts"][0]
    assert code.startswith(("PLAN", "TIME"))
    assert severity in ("info", "warning", "error")
