"""One row of the table is enough for an option of ``trt``: all readers of the table agree."""

import pytest

from enginescope.backends.trtexec.options import WITHOUT_FLAG
from enginescope.compat.trtexec.arguments import read_arguments
from enginescope.compat.trtexec.build_settings import options_of
from enginescope.formats.trtexec.trtexec_flags import OPTIONS, read_options, table
from tests.backends.trtexec.test_specification import VALUES, flags_of
from tests.compat.trtexec.runs import version

ROWS = [flag for flag in table() if flag.key]
#: trtexec has other flags for the same option; the shapes of all profiles are written together.
OTHERS = ("--workspace", "--stripAllWeights", "--dynamicPlugins")
ALONE = [flag for flag in ROWS if flag.name not in ("", *OTHERS) and flag.value != "shapes"]


@pytest.mark.parametrize("flag", ALONE, ids=lambda flag: flag.name)
def test_a_row_gives_the_same_flag_in_both_directions(flag) -> None:
    release = flag.last or max(flag.first, (10, 16))
    trt = (*release, 0)
    value = flag.fixed or VALUES.get(flag.key, "1")
    before = {flag.key: value.partition(",")[0] if flag.repeatable else value}
    written = next(text for text in flags_of(trt, **before) if text.startswith(flag.name))
    arguments = read_arguments([written, "--stronglyTyped"], version("{}.{}.0".format(*release)))
    options = {flag.key: options_of(arguments)[flag.key]}
    assert read_options(options) == read_options(before)
    assert written in flags_of(trt, **options)


@pytest.mark.parametrize("flag", ROWS, ids=lambda flag: flag.name or flag.key)
def test_a_row_says_how_an_option_is_read_and_what_it_sets(flag) -> None:
    assert flag.value
    assert flag.sets == OPTIONS[flag.key].sets
    assert bool(flag.fixed) == (flag.kind == "flag" and bool(flag.name))
    assert flag.sets != "attribute" or flag.kind == "int"


def test_an_option_without_a_flag_says_why_it_is_refused_elsewhere() -> None:
    assert {flag.key for flag in ROWS if not flag.name} == set(WITHOUT_FLAG)
    assert all(WITHOUT_FLAG.values())
