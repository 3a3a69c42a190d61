"""Lists of links."""

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.onnx.onnx_copies import read_links

SHA = "a" * 64


def links(tmp_path, text: str):
    path = tmp_path / "links.txt"
    path.write_text(text)
    return read_links(path)


def test_link_checksum_and_name(tmp_path) -> None:
    first, second, third = links(
        tmp_path,
        f"# zoo\nhttps://x.org/a/resnet50-v1.tar.gz\n\n"
        f"http://x.org/model.onnx {SHA.upper()} tiny  # small\nhttps://x.org/b.onnx sha256:{SHA}\n",
    )
    assert (first.name, first.file, first.sha256, first.is_archive) == (
        "resnet50-v1",
        "resnet50-v1.tar.gz",
        None,
        True,
    )
    assert (second.name, second.sha256, second.line) == ("tiny", SHA, 4)
    assert (third.name, third.sha256, third.is_archive) == ("b", SHA, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ftp://x.org/a.onnx", "line 1"),
        ("file:///etc/passwd", "not an http or https"),
        ("https://x.org/", "file's name"),
        ("https://x.org/..%2f..%2fa.onnx/..", "file's name"),
        ("https://x.org/a.onnx ../up", "neither"),
        ("https://x.org/a.onnx\nhttps://y.org/a.onnx", "another line"),
        ("# nothing yet\n", "it lists no model"),
    ],
)
def test_what_is_no_link_is_refused_with_its_line(tmp_path, text, said) -> None:
    with pytest.raises(FormatError) as caught:
        links(tmp_path, text)
    assert said in str(caught.value)
