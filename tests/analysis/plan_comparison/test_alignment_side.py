from enginescope.analysis.plan_comparison.alignment_side import MAX_COPIES, Side
from enginescope.records.plan.plan import IOTensor, Layer, Plan
from enginescope.records.tensor import Tensor

Read = tuple[str, ...]


def side(*layers: tuple[str, Read, str], inputs: Read = ("in",)) -> Side:
    """Layers as (type, tensors read, tensor written), of one shape."""
    made = tuple(
        Layer(
            index=index,
            name=f"l{index}",
            type=type_,
            inputs=tuple(Tensor(name=one, shape=(1, 4, 8)) for one in reads),
            outputs=(Tensor(name=write, shape=(1, 4, 8)),),
        )
        for index, (type_, reads, write) in enumerate(layers)
    )
    io = tuple(IOTensor(tensor=Tensor(name=one), mode="input") for one in inputs)
    return Side(Plan(name="p", layers=made, io=io))


def test_neighbours_and_a_loop() -> None:
    found = side(("conv", ("in",), "a"), ("conv", ("a",), "b"), ("add", ("b", "a"), "c"))
    assert (found.producers, found.consumers) == ([(), (0,), (1, 0)], [(1, 2), (2,), ()])
    found = side(("conv", ("b", "in"), "a"), ("conv", ("a",), "b"))
    assert found.producers == [(), (0,)]


def test_inert_layers_reformats_and_tensors_written_again_are_read_from_their_writer() -> None:
    found = side(
        ("conv", ("in",), "a"),
        ("NoOp", ("a",), "b"),
        ("Reformat", ("b",), "c"),
        ("conv", ("c",), "d"),
    )
    assert [one.type for one in found.layers] == ["conv", "Reformat", "conv"]
    assert (found.producers, found.consumers) == ([(), (0,), (0,)], [(2,), (2,), ()])
    assert [found.is_reformat(one) for one in range(3)] == [False, True, False]
    found = side(
        ("conv", ("in",), "region"),
        ("conv", ("region",), "a"),
        ("conv", ("a",), "region"),
        ("conv", ("region",), "b"),
    )
    assert found.producers == [(), (0,), (1,), (2,)]


def test_long_runs_of_copies_cost_no_more_than_short_ones() -> None:
    copies = [("Reformat", (f"t{one}",), f"t{one + 1}") for one in range(MAX_COPIES + 3)]
    found = side(*copies, ("conv", (f"t{len(copies)}",), "end"), inputs=("t0",))
    readers = [one for one, below in enumerate(found.consumers) if below]
    assert readers == list(range(3, len(copies)))


def test_keys_leave_out_batch_and_constants_and_have_parameters() -> None:

    def one(batch: int | None, *more: str) -> Side:
        reads = (Tensor(name="in", shape=(batch, 4, 8)), *(Tensor(name=n) for n in more))
        write = Tensor(name="out", shape=(batch, 6, 8))
        layer = Layer(index=0, name="l", type="gemm", inputs=reads, outputs=(write,))
        io = (IOTensor(tensor=reads[0], mode="input"),)
        return Side(Plan(name="p", layers=(layer,), io=io))

    plain, batched = one(1), one(None, "__mye1_dconst")
    assert (plain.exact, plain.first_in) == (batched.exact, [(4, 8)])
    assert plain.kinds == ["MatrixMultiply"]
    found = Side(Plan(name="p", layers=(Layer(index=0, name="TrainStation1"),)))
    assert (found.exact, found.loose, found.weak) == ([None], [None], [None])

    def kernel(size: int) -> Side:
        io = Tensor(name="t", shape=(1, 4, 8, 8))
        layer = Layer(
            index=0, name="l", inputs=(io,), outputs=(io,), attributes={"Kernel": [size, size]}
        )
        return Side(Plan(name="p", layers=(layer,)))

    assert kernel(3).weak == kernel(3).weak
    assert kernel(1).weak != kernel(3).weak
