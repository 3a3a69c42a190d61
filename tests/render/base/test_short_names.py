"""Shortened names: never longer than there is room for, never alike where names differ."""

from hypothesis import example, given
from hypothesis import strategies as st

from enginescope.render.base.short_names import shorten_apart

LIMIT = 24
NAMES = st.lists(st.text("ab/.…# 12", max_size=60), max_size=12)


@given(NAMES)
# Its cut looks like the whole of another.
@example(["aaaaaaaaaaaa…bbbbbbbbbbb", "aaaaaaaaaaaaXXXbbbbbbbbbbb"])
def test_names_that_differ_look_different(names) -> None:
    short = dict(zip(names, shorten_apart(names, LIMIT), strict=True))
    assert len(set(short.values())) == len(set(names))
    assert all(len(one) <= LIMIT for one in short.values())
    assert all(one == name for name, one in short.items() if len(name) <= LIMIT)


def test_the_part_that_siblings_share_is_left_out() -> None:
    names = [f"/model/encoder/layers.{at}/attention/self/query/MatMul" for at in range(3)]
    assert shorten_apart(names, LIMIT) == [f"/model/encoder/layers.{at}…" for at in range(3)]
