"""What the first bytes of an engine tell."""

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.plan.engine_file import engine_header, header_of

HEAD = b"ftrt" + bytes(4) + bytes(16) + bytes([10, 16, 1, 11]) + b"rest"


def of_rtx(bits: int) -> bytes:
    """As TensorRT for RTX 1.7 writes it: the second header has the GPUs' bits."""
    return b"vtrt" + bytes(20) + bytes([1, 7, 1, 116]) + b"vtrt" + bits.to_bytes(4, "little")


def test_the_version_stands_in_the_head() -> None:
    found = engine_header(HEAD, "e.plan")
    assert (found.version, found.is_rtx, found.compute_capabilities) == ("10.16.1.11", False, ())
    assert found.text == "built by TensorRT 10.16.1.11"


def test_an_engine_of_tensorrt_for_rtx_names_its_gpus() -> None:
    found = engine_header(of_rtx(0b11000), "e.plan")
    assert found.compute_capabilities == ("8.9", "12.0")
    assert found.text == "built by TensorRT for RTX 1.7.1.116 for compute capability 8.9, 12.0"
    assert engine_header(of_rtx(0x7E), "e.plan").compute_capabilities[-1] == ">12.0"


@pytest.mark.parametrize("head", [b"", HEAD[:27], b"onnx" + HEAD[4:], of_rtx(2)[:35]])
def test_what_does_not_begin_as_an_engine(head, tmp_path) -> None:
    with pytest.raises(FormatError, match="does not begin as an engine"):
        engine_header(head, "e.plan")
    (tmp_path / "e.plan").write_bytes(head)
    assert header_of(tmp_path / "e.plan") is None


def test_a_serialisation_that_is_not_known() -> None:
    with pytest.raises(FormatError, match="version 3"):
        engine_header(HEAD[:4] + bytes([3, 0, 0, 0]) + HEAD[8:], "e.plan")
