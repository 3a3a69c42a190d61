from __future__ import annotations

import pytest

from enginescope.compat.trtexec.jobs import plan_version
from enginescope.core.errors import FormatError

HEAD = b"ftrt" + bytes(4) + bytes(16) + bytes([10, 16, 1, 11]) + b"rest"


def test_the_version_stands_in_the_head() -> None:
    assert plan_version(HEAD, "e.plan") == "10.16.1.11"


@pytest.mark.parametrize("head", [b"", HEAD[:27], b"onnx" + HEAD[4:]])
def test_what_does_not_begin_as_an_engine(head) -> None:
    with pytest.raises(FormatError, match="does not begin as an engine"):
        plan_version(head, "e.plan")


def test_a_serialisation_that_is_not_known() -> None:
    with pytest.raises(FormatError, match="version 3"):
        plan_version(HEAD[:4] + bytes([3, 0, 0, 0]) + HEAD[8:], "e.plan")
