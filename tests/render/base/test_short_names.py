"""Shortened names: never longer than there is room for, never alike where names differ."""

from hypothesis import example, given
from hypothesis import strategies as st

from enginescope.render.base.short_names import shorten_apart

LIMIT = 24
NAMES = st.lists(st.text("ab/.…# +12", max_size=60), max_size=12)


@given(NAMES)
# Its cut looks like the whole of another.
@example(["aaaaaaaaaaaa…bbbbbbbbbbb", "aaaaaaaaaaaaXXXbbbbbbbbbbb"])
def test_names_that_differ_look_different(names) -> None:
    short = dict(zip(names, shorten_apart(names, LIMIT), strict=True))
    assert len(set(short.values())) == len(set(names))
    assert all(len(one) <= LIMIT for one in short.values())
    assert all(one == name for name, one in short.items() if len(name) <= LIMIT)


def test_a_fused_layer_and_its_siblings_have_their_path_once() -> None:
    """A convolution looked like a slow Relu: ``/layer4/layer…/relu_1/Relu``."""
    names = [f"/model/encoder/layers.{at}/attention/self/query/MatMul" for at in range(3)]
    assert shorten_apart(names, LIMIT) == [f"/model/encoder/layers.{at}…" for at in range(3)]
    names = [
        " + ".join(f"/layer{at}/layer{at}.1/{one}" for one in ("conv2/Conv", "Add", "relu_1/Relu"))
        for at in (3, 4)
    ]
    names += [f"/blocks.{at}/attn/MatMul + /blocks.{at}/attn/Add" for at in (3, 4)]
    assert shorten_apart(names, 40) == [
        "layer3.1: conv2/Conv + Add + relu_1/Relu",
        "layer4.1: conv2/Conv + Add + relu_1/Relu",
        "blocks.3/attn: MatMul + Add",
        "blocks.4/attn: MatMul + Add",
    ]
    assert shorten_apart(names[1:2], 26) == ["layer4.1: conv2/Conv + Ad…"]
    # What is fused behind it may be all that differs.
    alike = [f"/a/a.1/conv/Conv + /a/a.1/{'x' * 30}/Add + /a/a.1/{one}" for one in ("Relu", "Tanh")]
    assert [one[-5:] for one in shorten_apart(alike, 30)] == [" Relu", " Tanh"]
    assert shorten_apart(["/conv1/Conv + /relu/Relu"], 26) == ["/conv1/Conv + /relu/Relu"]
