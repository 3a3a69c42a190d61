"""What the product uses is in every version that it is for, or is asked for before it is used."""

import re
from functools import cache

import pytest

from enginescope.backends.tensorrt.build.config import ATTRIBUTES, FLAGS
from tests.contract.table import CUDA_SYMBOLS, GUARDS, OURS, SYMBOLS
from tests.contract.uses import SOURCE, Use, overrides_in, uses_in
from tests.fakes.site import recorded_symbols as recorded

VERSIONS = tuple(recorded.VERSIONS)
FILES = sorted(SOURCE.rglob("*.py"))
TABLE = {*SYMBOLS, *CUDA_SYMBOLS}


@cache
def uses() -> list[Use]:
    """Return the names of the source, and those of the table of options."""
    options = (*FLAGS.values(), *ATTRIBUTES)
    of_options = [Use(one, "trtexec_flags.tsv", guarded=True) for one in options]
    return [*(use for path in FILES for use in uses_in(path)), *of_options]


@cache
def overrides() -> list[tuple[str, int, str]]:
    return [one for path in FILES for one in overrides_in(path)]


def calls() -> list[Use]:
    return [use for use in uses() if use.arguments is not None]


def is_in(surface: recorded.Surface, symbol: str) -> bool:
    owner, dot, member = symbol.partition(".")
    if not dot:
        return owner in surface.classes or owner in surface.functions
    return member in surface.members.get(owner, ()) or member in surface.enums.get(owner, ())


def versions_of(symbol: str) -> tuple[str, ...]:
    first, last = SYMBOLS[symbol]
    return VERSIONS[VERSIONS.index(first) : VERSIONS.index(last or VERSIONS[-1]) + 1]


def rows_of(name: str) -> list[str]:
    """Rows that a use may mean: all of that name, where the class is not said."""
    return [row for row in TABLE if row == name or row.endswith(f".{name}")]


def test_the_table_says_what_the_bindings_have() -> None:
    surfaces = {one: recorded.surface(one) for one in VERSIONS}
    there = {
        symbol: tuple(one for one, surface in surfaces.items() if is_in(surface, symbol))
        for symbol in SYMBOLS
    }
    assert there == {symbol: versions_of(symbol) for symbol in SYMBOLS}
    constants = recorded.read(recorded.CUDA)["constants"]
    cuda = recorded.cuda_surface()
    assert not [one for one in CUDA_SYMBOLS if one not in constants and not is_in(cuda, one)]


def test_every_use_is_in_the_table() -> None:
    strange = sorted(f"{use.place}: {use.name}" for use in uses() if not rows_of(use.name))
    assert not strange, "add these to the table, or to OURS where they are not of the bindings"


def test_what_a_version_lacks_is_asked_for_first() -> None:
    lacking = [
        f"{use.place}: {row} is in {', '.join(versions_of(row))} only"
        for use in uses()
        if not use.guarded
        for row in rows_of(use.name)
        if row in SYMBOLS and versions_of(row) != VERSIONS and row not in GUARDS
    ]
    assert not lacking, "read it by getattr or hasattr, or name its guard in GUARDS"


def test_a_guard_is_asked_for_and_tells_the_truth() -> None:
    guarded = {use.name for use in uses() if use.guarded}
    for symbol, guard in GUARDS.items():
        assert guard.rpartition(".")[2] in guarded
        assert set(versions_of(guard)) <= set(versions_of(symbol)), symbol


def test_nothing_in_the_table_is_unused() -> None:
    names = {use.name for use in uses()} | {name for name, _, _ in overrides()}
    assert sorted(TABLE - {row for name in names for row in rows_of(name)}) == []


def test_nothing_that_is_called_ours_is_unused() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FILES)
    assert [name for name in OURS if not re.search(rf"[.\"']{name}\b", text)] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_calls_fit_the_signatures(version) -> None:
    wrong, listed = [], recorded.surface(version).parameters
    for use in calls():
        rows = [set(listed.get(row, ())) - {"self"} for row in rows_of(use.name)]
        known = [names for names in rows if names]
        fits = [
            use.arguments + len(use.keywords) <= len(found) and found.issuperset(use.keywords)
            for found in known
        ]
        if known and not any(fits):
            wrong.append(f"{use.place}: {use.name} takes {known}")
    assert not wrong


def test_calls_fit_the_signatures_of_cuda() -> None:
    functions = recorded.read(recorded.CUDA)["functions"]
    wrong = [
        f"{use.place}: {use.name}({', '.join(functions[use.name])})"
        for use in calls()
        if use.name in functions and use.arguments != len(functions[use.name])
    ]
    assert not wrong


def test_overrides_take_what_the_bindings_pass() -> None:
    listed = [recorded.surface(one).parameters for one in VERSIONS]
    for name, count, place in overrides():
        rows = rows_of(name)
        assert rows, f"{place}: no method {name} in the table"
        known = [one[row] for one in listed for row in rows if row in one]
        assert all(count == len(one) for one in known), place


SEEN = '''
"""FP16 in a docstring is no use."""
flag = trt.BuilderFlag.FP16
name = getattr(trt.BuilderFlag, "BF16", None)
asked = hasattr(layer, "precision")
everyday = "precision"
cache = config.set_timing_cache(cache, ignore_mismatch=False)
runtime.cudaStreamSynchronize(stream)
self.profiler = None
ours = DataType.INT8
numbers.append(1)


class Allocator(trt.IOutputAllocator):
    def __init__(self):
        pass

    def reallocate_output(self, tensor_name, memory, size, alignment):
        return 0


class Other(Base):
    def notify_shape(self):
        pass
'''


def test_uses_are_seen_and_what_is_not_of_the_bindings_is_not(tmp_path) -> None:
    path = tmp_path / "source.py"
    path.write_text(SEEN, encoding="utf-8")
    assert {
        Use("BuilderFlag", "source.py:3"),
        Use("BuilderFlag.FP16", "source.py:3"),
        Use("BF16", "source.py:4", guarded=True),
        Use("precision", "source.py:5", guarded=True),
        Use("set_timing_cache", "source.py:7", arguments=1, keywords=("ignore_mismatch",)),
        Use("cudaStreamSynchronize", "source.py:8", arguments=1),
        Use("IOutputAllocator", "source.py:14"),
        Use("BuilderFlag", "source.py:4"),
    } == set(uses_in(path))
    assert overrides_in(path) == [("reallocate_output", 5, "source.py:18")]
