import pytest

from enginescope.analysis.memory.findings import memory_findings
from enginescope.analysis.memory.fit import next_size
from enginescope.analysis.memory.memory_view import MemoryView, memory_of
from enginescope.core.record import replace
from enginescope.records.plan.plan import PACKED, SHAPES, WORKSPACES, Weights
from enginescope.records.run.run import ArenaStep, ArenaUse
from enginescope.records.tensor import DataType
from enginescope.render.memory.memory_text import forecast_sentence
from tests.analysis.card_plans import layer, tensor
from tests.analysis.memory.test_buffers import executed

MIB = 1 << 20


def step(node: str, before: int, after: int, peak: int) -> ArenaStep:
    return ArenaStep(node=node, before_bytes=before, in_use_bytes=after, peak_bytes=peak)


def view_of(*steps: ArenaStep, later: tuple[ArenaStep, ...] = (), **more: int) -> MemoryView:
    """Return x → a (1 MiB) → b (4 MiB) → y, with 2 weights of which one is packed."""
    x, y = tensor("x", 8), tensor("y", 8)
    a, b = tensor("a", MIB // 4), tensor("b", MIB)
    kernel = Weights(role="kernel", dtype=DataType.FP32, count=1000)
    bias = Weights(role="bias", dtype=DataType.FP32, count=10)
    plan = executed(
        layer(0, "one", "Conv", [x], [a], weights=(kernel, bias)),
        layer(1, "two", "Transpose", [a], [b]),
        layer(2, "three", "Conv", [b], [y], weights=(bias,)),
        given=x,
        taken=y,
    )
    plan = replace(plan, extra={SHAPES: {}, PACKED: ["kernel"]})
    use = ArenaUse(
        provider="CPU",
        in_use_peak_bytes=max((one.peak_bytes for one in (*steps, *later)), default=0),
        held_bytes=20 * MIB,
        steps=steps,
        later=later,
    )
    found = memory_of(plan, (use,) if steps else (), **more)
    assert found is not None
    return found


STEPS = (
    step("one", 4096, 4096 + MIB, 4096 + 3 * MIB),
    step("two", 4096 + MIB, 4096 + 5 * MIB, 4096 + 5 * MIB),
    step("three", 4096 + 4 * MIB, 4096 + 4 * MIB, 4096 + 5 * MIB),
)


def test_kinds_are_computed_once_for_all_rows_of_a_chart() -> None:
    found = view_of(*STEPS)
    assert set(found.kinds) == {"activation", "output", "workspace"}
    assert found.kinds is found.kinds


def test_the_peak_has_its_tensors_workspace_and_weights_and_adds_up_to_the_process() -> None:
    found = view_of()
    assert (found.peak_layer.name, found.peak_bytes) == ("two", 5 * MIB)
    assert [one.tensor.name for one in found.peak_buffers] == ["b", "a"]
    assert found.session_bytes is None
    assert set(found.workspace_bytes) == {None}
    found = view_of(*STEPS)
    assert found.workspace_bytes == (2 * MIB, 0, None)
    assert found.session_bytes == 4096
    found = view_of(*STEPS, later=(step("three", 0, 6 * MIB, 9 * MIB),))
    assert found.workspace_bytes == (2 * MIB, 0, 3 * MIB)
    assert found.peak_layer.name == "three"
    assert view_of().weights == {"kernel": 4000, "bias": 40}
    assert (view_of().weights_bytes, view_of(*STEPS).weights_bytes) == (4040, 40)
    found = view_of(*STEPS, process_bytes=100 * MIB, runtime_bytes=50 * MIB)
    parts = {one.kind: one.nbytes for one in found.parts}
    assert (sum(parts.values()), parts["arena"]) == (100 * MIB, 20 * MIB - 4096 - 5 * MIB)
    assert parts["activations"] == 5 * MIB
    assert {one.kind for one in view_of(*STEPS).parts}.isdisjoint({"runtime", "rest"})


def test_findings_name_the_copy_the_tensor_and_the_waste() -> None:
    found = {one.kind: one for one in memory_findings(view_of(*STEPS))}
    assert found.keys() == {"one-tensor", "two-copies", "arena-waste"}
    assert (found["one-tensor"].detail, found["one-tensor"].nbytes) == ("b", 4 * MIB)
    assert found["two-copies"].layer == 1
    found = view_of(*STEPS, process_bytes=200 * MIB, runtime_bytes=50 * MIB)
    assert "loading" in {one.kind for one in memory_findings(found)}
    x, y = tensor("x", 8), tensor("y", MIB)
    a, b, c = tensor("a", MIB), tensor("b", MIB), tensor("c", 8)
    plan = executed(
        layer(0, "early", "Conv", [x], [y]),
        layer(1, "one", "Conv", [x], [a]),
        layer(2, "two", "Conv", [a], [b]),
        layer(3, "three", "Conv", [b], [c]),
        given=x,
        taken=y,
    )
    found = memory_of(plan)
    assert found is not None
    (kept,) = (one for one in memory_findings(found) if one.kind == "output-kept")
    assert (kept.detail, kept.layer, kept.nbytes) == ("y", 0, 4 * MIB)


@pytest.mark.parametrize("limit", [99, 100, 612, 5_000, 123_456])
@pytest.mark.parametrize("bend", [0, 3])
def test_the_search_ends_at_the_last_size_that_fits(limit: int, bend: int) -> None:
    def peak(size: int) -> int:
        return 90 + 7 * size + bend * size * size // 8

    peaks: dict[int, int | None] = {}
    low, high = 0, None
    while high is None or high - low > 1:
        size = next_size(peaks, low, high, limit)
        assert size > low
        assert high is None or size < high
        peaks[size] = peak(size)
        low, high = (size, high) if peak(size) <= limit else (low, size)
    assert peak(high) > limit
    assert not low or peak(low) <= limit
    assert len(peaks) <= 16


def test_a_forecast_counts_the_workspaces_that_the_plan_has() -> None:
    bare = view_of()
    extra = {**bare.plan.extra, WORKSPACES: {"two": [MIB, 2 * MIB]}}
    found = memory_of(replace(bare.plan, extra=extra))
    assert found.predicted_workspaces == {"two": [MIB, 2 * MIB]}
    # of a region of 4 MiB, the second takes all that the first has left
    assert found.predicted.first_peak_bytes == bare.predicted.first_peak_bytes + 4 * MIB
    assert "predicted from sizes, and the workspace of 1 kernel: " in forecast_sentence(found)
    assert set(found.workspace_bytes) == {None}
