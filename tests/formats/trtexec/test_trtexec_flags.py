"""One row of the table is enough for an option of ``trt``: all readers of the table agree."""

from __future__ import annotations

import pytest

from enginescope.backends.tensorrt.build.options import OPTIONS, read_options
from enginescope.backends.trtexec.options import OPTIONS as BINARY_OPTIONS
from enginescope.compat.trtexec.arguments import read_arguments
from enginescope.compat.trtexec.build_settings import options_of
from enginescope.formats.trtexec.trtexec_flags import all_flags, option_flags
from tests.backends.trtexec.test_specification import VALUES, flags_of
from tests.compat.trtexec.runs import version

ROWS = [flag for flag in all_flags().values() if flag.key]


@pytest.mark.parametrize("flag", ROWS, ids=lambda flag: flag.name)
def test_a_row_gives_the_same_flag_in_both_directions(flag) -> None:
    release = flag.last or max(flag.first, (10, 16))
    text = flag.name if flag.kind == "flag" else f"{flag.name}={VALUES.get(flag.key, '1')}"
    arguments = read_arguments([text, "--stronglyTyped"], version("{}.{}.0".format(*release)))
    options = {flag.key: options_of(arguments)[flag.key]}
    read_options(options)
    assert text in flags_of((*release, 0), **options)


@pytest.mark.parametrize("flag", ROWS, ids=lambda flag: flag.name)
def test_a_row_says_how_an_option_is_read_and_what_it_sets(flag) -> None:
    assert flag.value
    assert flag.sets == OPTIONS[flag.key].sets
    assert (flag.value == "switch") == (flag.kind == "flag")
    assert flag.sets != "attribute" or flag.kind == "int"


def test_every_row_is_an_option_of_both_backends() -> None:
    assert set(option_flags()) <= set(OPTIONS) & set(BINARY_OPTIONS)
