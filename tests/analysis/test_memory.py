import gzip
from itertools import pairwise

import pytest

from enginescope.analysis.memory.arena import Arena, Request, forecast, pattern_bytes
from enginescope.analysis.memory.buffers import buffers_of
from enginescope.analysis.memory.findings import memory_findings
from enginescope.analysis.memory.fit import next_size
from enginescope.analysis.memory.memory_view import MemoryView, memory_of
from enginescope.core.record import replace
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import (
    EXECUTED,
    PACKED,
    SHAPES,
    WORKSPACES,
    IOTensor,
    Plan,
    Weights,
)
from enginescope.records.run.run import ArenaStep, ArenaUse
from enginescope.records.tensor import DataType, Layout, Tensor
from enginescope.render.memory.memory_text import forecast_sentence
from tests.analysis.card_plans import layer, small_plan, tensor
from tests.conftest import DATA

MIB = 1 << 20


def flow(*rows: str, **sizes: int | Tensor) -> Plan:
    """Layers as ``type name reads>writes``, from x to y.

    A tensor has 8 elements, or what `sizes` says, or what its row says: ``r:100``.
    """

    def made(text: str) -> Tensor:
        name, _, own = text.partition(":")
        size = own or sizes.get(name, 8)
        return size if isinstance(size, Tensor) else tensor(name, int(size))

    layers = []
    for row in rows:
        kind, name, ends = row.split()
        reads, writes = (list(map(made, side.split(","))) for side in ends.split(">"))
        layers.append(layer(len(layers), name, kind, reads, writes))
    io = (IOTensor(tensor=made("x"), mode="input"), IOTensor(tensor=made("y"), mode="output"))
    return Plan(name="p", layers=tuple(layers), io=io)


def executed(*rows: str, shapes: dict | None = None, **sizes: int) -> Plan:
    return replace(flow(*rows, **sizes), source_schema=EXECUTED, extra={SHAPES: shapes or {}})


def step(node: str, before: int, after: int, peak: int) -> ArenaStep:
    return ArenaStep(node=node, before_bytes=before, in_use_bytes=after, peak_bytes=peak)


def view_of(*steps: ArenaStep, later: tuple[ArenaStep, ...] = (), **more: int) -> MemoryView:
    """Return x → a (1 MiB) → b (4 MiB) → y, with 2 weights of which one is packed."""
    kernel = Weights(role="kernel", dtype=DataType.FP32, count=1000)
    bias = Weights(role="bias", dtype=DataType.FP32, count=10)
    plan = executed("Conv one x>a", "Transpose two a>b", "Conv three b>y", a=MIB // 4, b=MIB)
    first, second, last = plan.layers
    layers = replace(first, weights=(kernel, bias)), second, replace(last, weights=(bias,))
    plan = replace(plan, layers=layers, extra={SHAPES: {}, PACKED: ["kernel"]})
    use = ArenaUse(
        provider="CPU",
        in_use_peak_bytes=max((one.peak_bytes for one in (*steps, *later)), default=0),
        held_bytes=20 * MIB,
        steps=steps,
        later=later,
    )
    return memory_of(plan, (use,) if steps else (), **more)


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
    assert (found.session_bytes, set(found.workspace_bytes)) == (None, {None})
    found = view_of(*STEPS)
    assert (found.workspace_bytes, found.session_bytes) == ((2 * MIB, 0, None), 4096)
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
    rows = ("Conv early x>y", "Conv one x>a", "Conv two a>b", "Conv three b>c")
    found = memory_of(executed(*rows, y=MIB, a=MIB, b=MIB))
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


def test_requests_are_rounded_up_and_pieces_below_twice_the_request_used_whole() -> None:
    arena = Arena()
    arena.take(1)
    arena.take(257)
    assert (arena.in_use_bytes, arena.held_bytes) == (256 + 512, MIB)
    arena = Arena()
    address = arena.take(600 << 10)
    assert arena.in_use_bytes == MIB
    arena.give_back(address)
    arena.take(500 << 10)
    assert arena.in_use_bytes == 500 << 10
    arena = Arena()
    arena.give_back(arena.take(0))
    assert (arena.in_use_bytes, arena.held_bytes) == (0, 0)


def test_regions_grow_by_doubling_and_free_neighbors_join() -> None:
    arena = Arena()
    address = arena.take(3 * MIB)
    assert arena.held_bytes == 4 * MIB
    arena.give_back(address)
    arena.take(4 * MIB)  # the whole region, joined again
    assert arena.held_bytes == 4 * MIB
    arena.take(1)
    assert arena.held_bytes == 8 * MIB
    arena.take(5 * MIB)  # the step doubled when a region of its size was taken
    assert arena.held_bytes == 16 * MIB
    arena = Arena()
    pieces = [arena.take(256 << 10) for _ in range(4)]
    for at in (0, 2, 1, 3):
        arena.give_back(pieces[at])
    arena.take(MIB)
    assert (arena.in_use_bytes, arena.held_bytes) == (MIB, MIB)


def test_a_pattern_puts_each_request_into_the_tightest_gap() -> None:
    a, b, c = 4096, 1024, 2048
    chain = [
        Request(nbytes=a, first=0, last=1),
        Request(nbytes=b, first=0, last=3),
        Request(nbytes=c, first=2, last=3),  # where the first was
    ]
    assert pattern_bytes(chain) == a + b
    assert pattern_bytes([*chain, Request(nbytes=c, first=3, last=3)]) == a + b
    assert pattern_bytes([*chain, Request(nbytes=c + 1, first=3, last=3)]) == a + b + 2304


def test_the_second_inference_takes_one_block_beside_outputs_and_workspaces() -> None:
    first, second = Request(nbytes=MIB, first=0, last=1), Request(nbytes=MIB, first=1, last=2)
    output = Request(nbytes=512 << 10, first=2, last=3, kind="output")
    made = forecast([first, second, output], extra_bytes=(None, None, 0))
    assert (made.first_peak_bytes, made.block_bytes) == (2 * MIB, 2 * MIB)
    assert (made.peak_bytes, made.held_bytes) == (made.block_bytes + (512 << 10), 3 * MIB)
    workspace = Request(nbytes=MIB, first=1, last=1, kind="workspace")
    last = Request(nbytes=MIB, first=2, last=2)
    made = forecast([first, workspace, last], extra_bytes=(None, None, None))
    assert (made.first_peak_bytes, made.block_bytes) == (2 * MIB, MIB)
    assert (made.peak_bytes, made.held_bytes) == (2 * MIB, 3 * MIB)


def names(plan: Plan) -> list[tuple[str, ...]]:
    return [tuple(one.name for one in buffer.tensors) for buffer in buffers_of(plan).buffers]


def chain(*kinds: str, shapes: dict | None = None) -> Plan:
    """Return x → a → b → … → y, a layer of each kind; all tensors have one size."""
    ends = ["x", *"abcdefg"[: len(kinds) - 1], "y"]
    rows = [f"{kind} n {a}>{b}" for kind, (a, b) in zip(kinds, pairwise(ends), strict=True)]
    return executed(*rows, shapes=shapes)


def test_a_view_lies_in_the_memory_of_its_input_and_free_memory_is_used_again() -> None:
    plan = chain("Conv", "Reshape", "Conv")
    assert (names(plan), buffers_of(plan).buffers[0].last) == ([("a", "b"), ("y",)], 2)
    assert names(chain("Relu", "Conv")) == [("a",), ("y",)]
    assert names(chain("Conv", "Relu")) == [("a",), ("y",)]
    plan = chain("Conv", "Conv", "Conv", "Conv")
    assert names(plan) == [("a", "c"), ("b",), ("y",)]
    assert [(one.first, one.last) for one in buffers_of(plan).buffers] == [(0, 3), (1, 2), (3, 4)]


def test_an_activation_and_a_convolution_write_over_what_nothing_else_reads() -> None:
    assert names(chain("Conv", "Relu", "Conv")) == [("a", "b"), ("y",)]
    plan = executed("Conv n x>a", "Relu n a>b", "Mul n a,b>c", "Conv n c>y")
    assert names(plan)[:2] == [("a",), ("b",)]
    plan = executed("Conv n x>a", "Conv n x>b", "FusedConv n a,b>c", "Conv n c>y")
    assert ("b", "c") in names(plan)


@pytest.mark.parametrize(
    ("shapes", "is_shared"),
    [
        ({"a": ["n"], "c": ["n"]}, True),
        ({"a": ["n"], "c": ["m"]}, False),
        ({"a": [None], "c": [None]}, False),
        ({"a": None, "c": None}, False),
    ],
)
def test_shapes_that_vary_are_the_same_by_the_names_of_dimensions(shapes, is_shared: bool) -> None:
    assert (("a", "c") in names(chain("Conv", "Conv", "Conv", "Conv", shapes=shapes))) == is_shared


def test_a_tensor_that_nothing_reads_lives_until_the_end() -> None:
    found = buffers_of(executed("Split n x>a,b", "Conv n a>y")).buffers
    assert {one.tensor.name: one.last for one in found} == {"a": 1, "b": 2, "y": 2}


def test_a_chain_holds_what_is_read_and_written_but_for_a_no_op_to_an_output() -> None:
    found = memory_of(small_plan())
    # a: 256 bytes, b: 512, c: 1024 and through the no-op; x, y and the weights are not activations
    assert found.live_bytes == (256, 256 + 512, 512 + 1024, 1024)
    assert (found.peak_bytes, found.peak_at, found.unknown) == (1536, 2, 0)
    assert memory_of(replace(small_plan(), io=())) is None
    assert memory_of(replace(small_plan(), source_schema="names-only")) is None
    found = memory_of(flow("A one x>a", "NoOp n a>y", a=100, y=100))
    assert (found.live_bytes, found.peak_bytes) == ((0,), 0)


@pytest.mark.parametrize(
    ("rows", "live_bytes"),
    [
        ("A one x>a, A two a>b:10, A three b:10>c:10, A add a,c:10>y", (400, 440, 480, 440)),
        ("A one x>r:100, A two r:100>b:1, A three b:1>r:10, A four r:10>y", (400, 404, 44, 40)),
        ("A one x>r:50, A two x>r:50, A three r:100>y", (400, 400, 400)),
    ],
    ids=["kept for a branch", "memory used again", "two writers of one region"],
)
def test_a_tensor_stays_alive_until_its_last_reader(rows: str, live_bytes) -> None:
    assert memory_of(flow(*rows.split(", "), a=100)).live_bytes == live_bytes


def test_padding_counts_and_unknown_sizes_are_told() -> None:
    packed = Layout(name="NC/32HW32", text="", vector_axis=1, vector_width=32)
    sizes = {"a": replace(tensor("a", 1, 3, 8, 8), layout=packed), "b": tensor("b", None)}
    found = memory_of(flow("A one x>a", "A two a>b", "A three b>y", **sizes))
    assert (found.live_bytes, found.unknown) == ((32 * 64 * 4, 32 * 64 * 4, 0), 1)


@pytest.mark.parametrize(
    ("name", "printed", "least", "most"),
    [
        ("trt86-h200/resnet18", 2_418_176, 0.99, 1.0),
        ("trt86-h200/depth_anything_small", 43_378_688, 1.0, 1.2),
        ("field/trt10.14_rtx6000ada_exportLayerInfo", 125_440, 1.0, 1.0),
        ("field/trt10.16.0_rtx6000ada_exportLayerInfo", 125_440, 1.0, 1.0),
        ("field/trt10.16_h100_exportLayerInfo", 125_440, 1.0, 1.0),
    ],
)
def test_one_block_of_tensors_is_near_what_was_printed(shared, name, printed, least, most) -> None:
    """`Total Activation Memory` of the log of the same build."""
    path = shared / f"{name}.json"
    path = path if path.is_file() else shared / f"{name}.graph.json"
    found = memory_of(parse_plan(path.read_bytes(), name)[0])
    assert found.predicted is None
    assert found.peak_bytes <= printed
    assert least <= found.block_bytes / printed <= most


def test_one_block_of_all_tensors_is_what_tensorrt_printed() -> None:
    folder = DATA / "trt86-h200-process"
    log = gzip.decompress((folder / "small_convnet.onnx.engine.build.log.gz").read_bytes())
    plan, _ = parse_plan((folder / "small_convnet.onnx.engine.graph.json").read_bytes(), "net")
    assert f"Total Activation Memory: {memory_of(plan).block_bytes}\n".encode() in log
