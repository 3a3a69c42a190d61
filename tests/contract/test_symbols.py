"""What the product uses is in every version that it is for, or is asked for before it is used."""

import re

import pytest

from enginescope.backends.tensorrt.build.config import ATTRIBUTES, FLAGS
from tests.contract.table import CUDA_SYMBOLS, GUARDS, OURS, SYMBOLS
from tests.contract.uses import SOURCE, Use, overrides_in, uses_in
from tests.fakes.site import recorded_symbols as recorded

VERSIONS = tuple(recorded.VERSIONS)
FILES = sorted(SOURCE.rglob("*.py"))
#: Names that come from the table of options, not from a literal in the source.
OPTION_USES = [
    Use(one, "trtexec_flags.tsv", guarded=True) for one in (*FLAGS.values(), *ATTRIBUTES)
]
USES = [*(use for path in FILES for use in uses_in(path)), *OPTION_USES]
OVERRIDES = [one for path in FILES for one in overrides_in(path)]
TABLE = {*SYMBOLS, *CUDA_SYMBOLS}


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


def owners_of(name: str) -> list[str]:
    """Return the classes that have a name, or where else it is."""
    surfaces = [*(recorded.surface(one) for one in VERSIONS), recorded.cuda_surface()]
    groups = [group for one in surfaces for group in (one.members, one.enums)]
    return sorted({cls for group in groups for cls, names in group.items() if name in names}) or [
        "the module"
    ]


@pytest.mark.parametrize("symbol", sorted(SYMBOLS))
def test_the_table_says_what_the_bindings_have(symbol) -> None:
    there = tuple(one for one in VERSIONS if is_in(recorded.surface(one), symbol))
    assert versions_of(symbol) == there


@pytest.mark.parametrize("symbol", sorted(CUDA_SYMBOLS))
def test_the_cuda_symbols_are_in_the_bindings(symbol) -> None:
    is_constant = symbol in recorded.read(recorded.CUDA)["constants"]
    assert is_constant or is_in(recorded.cuda_surface(), symbol)


def test_every_use_is_in_the_table() -> None:
    strange = sorted(
        f"{use.place}: {use.name}, of {', '.join(owners_of(use.name))}"
        for use in USES
        if not rows_of(use.name)
    )
    assert not strange, "add these to the table, or to OURS where they are not of the bindings"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_version_lacks_is_asked_for_first(path) -> None:
    lacking = [
        f"{use.place}: {row} is in {', '.join(versions_of(row))} only"
        for use in uses_in(path)
        if not use.guarded
        for row in rows_of(use.name)
        if row in SYMBOLS and versions_of(row) != VERSIONS and row not in GUARDS
    ]
    assert not lacking, "read it by getattr or hasattr, or name its guard in GUARDS"


@pytest.mark.parametrize(("symbol", "guard"), sorted(GUARDS.items()))
def test_a_guard_is_asked_for_and_tells_the_truth(symbol, guard) -> None:
    asked = {use.name for use in USES if use.guarded}
    assert guard.rpartition(".")[2] in asked
    assert set(versions_of(guard)) <= set(versions_of(symbol))


def test_nothing_in_the_table_is_unused() -> None:
    names = {use.name for use in USES} | {name for name, _, _ in OVERRIDES}
    used = {row for name in names for row in rows_of(name)}
    assert sorted(TABLE - used) == []


def test_nothing_that_is_called_ours_is_unused() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FILES)
    assert [name for name in OURS if not re.search(rf"[.\"']{name}\b", text)] == []


def parameters(row: str, version: str) -> list[str] | None:
    found = recorded.surface(version).parameters.get(row)
    return None if found is None else [one for one in found if one != "self"]


def calls() -> list[Use]:
    return [use for use in USES if use.arguments is not None]


@pytest.mark.parametrize("version", VERSIONS)
def test_calls_fit_the_signatures(version) -> None:
    wrong = []
    for use in calls():
        known = [found for row in rows_of(use.name) if (found := parameters(row, version))]
        fits = [
            use.arguments + len(use.keywords) <= len(found) and set(use.keywords) <= set(found)
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


@pytest.mark.parametrize(("name", "count", "place"), OVERRIDES)
def test_overrides_take_what_the_bindings_pass(name, count, place) -> None:
    known = [recorded.surface(one).parameters.get(row) for one in VERSIONS for row in rows_of(name)]
    assert rows_of(name), f"{place}: no method {name} in the table"
    assert all(count == len(one) for one in known if one is not None), place
