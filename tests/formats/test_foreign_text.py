from enginescope.formats.lenient_json import decode_text


def test_plain_text_has_no_notice() -> None:
    assert decode_text("é".encode(), "x") == ("é", ())


def test_a_cut_utf16_text() -> None:
    text, (notice,) = decode_text(b"\xff\xfea\x00b", "x.log")
    assert text.startswith("a")
    assert notice.evidence["file"] == "x.log"
