from enginescope.runner.fleet.machines import Machine, is_kind, place_for, suits
from tests.runner.fleet.cells import cell

PLAIN = Machine(id="p", name="plain", cpus=8)
GPUS = Machine(id="g", name="gpus", cpus=16, gpus=4, kinds=("NVIDIA-H200",))
OLD = Machine(id="o", name="old", cpus=8, gpus=1, kinds=("T4",))


def where(one, machines=(PLAIN, GPUS), **running):
    found = place_for(one, machines, running)
    return found and (found.machine.id, found.cpus, found.gpus)


def test_cells_share_a_machine_as_far_as_they_may() -> None:
    assert where(cell()) == ("p", 8, 0)
    assert where(cell(), p=[cell("k1")]) == ("g", 16, 0)
    assert where(cell(), p=[cell("k1")], g=[cell("k2", "trt")]) is None
    one = cell(backend="trt")
    there = [cell(f"k{number}", "trt") for number in range(1, 5)]
    assert where(one) == ("g", 4, 1)
    assert where(one, g=there[:3]) == ("g", 4, 1)
    assert where(one, g=there) is None
    assert where(one, g=[cell("k1")]) is None  # a cell on its processors
    alone = cell(backend="trt", exclusive=True)
    assert where(alone) == ("g", 16, 4)
    assert where(alone, g=[cell("k1", "trt")]) is None
    assert where(cell("k1", "trt"), g=[alone]) is None
    assert not suits(cell(), Machine(id="h", name="head", cpus=0))


def test_a_kind_of_gpu() -> None:
    wanted = cell(backend="trt", gpu="H200")
    assert where(wanted, (OLD, GPUS)) == ("g", 4, 1)
    assert where(wanted, (OLD, PLAIN)) is None
    assert not suits(wanted, OLD)
    assert suits(cell(backend="ort-cpu", gpu="T4"), OLD)


def test_kinds_by_their_words() -> None:
    assert is_kind("H200", "NVIDIA-H200")
    assert is_kind("h200", "H200")
    assert is_kind("A100", "A100-80G")
    assert not is_kind("A100", "A1000")
    assert is_kind("RTX 3060", "NVIDIA GeForce RTX 3060")
    assert not is_kind("H200", "H100")
