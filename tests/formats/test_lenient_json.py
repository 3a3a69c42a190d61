import json

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats import lenient_json


def test_valid_json_is_left_alone() -> None:
    document = lenient_json.read_json(b'{"a": [1, 2.5, null, "\\u001e"]}', "x.json")
    assert document.value == {"a": [1, 2.5, None, "\x1e"]}
    assert (document.notices, document.source) == ((), "x.json")


@pytest.mark.parametrize(
    "word", ["nan", "-nan", "NaN", "inf", "-inf", "Infinity", "1e999", "nan(ind)", "9" * 5000]
)
def test_what_is_not_finite_is_not_known(word) -> None:
    wanted = [1, None, "nan inf", 2000.0]
    assert lenient_json.read_json(b'[1, %s, "nan inf", 2e3]' % word.encode(), "x").value == wanted


def test_names_that_trtexec_did_not_escape() -> None:
    document = lenient_json.read_json(
        b'[\n  { "count" : 2 }\n, { "name" : "a "b" \\c", "timeMs" : 1 }\n]', "x"
    )
    assert document.value[1] == {"name": 'a "b" \\c', "timeMs": 1}
    (notice,) = document.notices
    assert notice.evidence["repair"] == "layer names that were written unescaped"


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'["C:\\path", "\\n", "\\\\"]', ["C:\\path", "\n", "\\"]),
        (b'["\\ud800", "\\ud83d\\ude00", "\\\\ud800"]', ["\ufffd", "\U0001f600", "\\ud800"]),
        (b"\xef\xbb\xbf" + b'["\xc3\xa9"]', ["é"]),
        (b"\xff\xfe" + '["é"]'.encode("utf-16-le"), ["é"]),
        (b"\xfe\xff" + '["é"]'.encode("utf-16-be"), ["é"]),
    ],
    ids=["backslashes", "halves of surrogates", "UTF-8", "UTF-16-LE", "UTF-16-BE"],
)
def test_escapes_and_byte_order_marks(data, value) -> None:
    assert lenient_json.read_json(data, "x").value == value


def test_bytes_that_are_not_utf8() -> None:
    document = lenient_json.read_json(b'["a\xffb"]', "x")
    assert document.value == ["a\ufffdb"]
    assert [one.code for one in document.notices] == ["I-ENCODING"]
    assert lenient_json.decode_text("é".encode(), "x") == ("é", ())
    text, (notice,) = lenient_json.decode_text(b"\xff\xfea\x00b", "x.log")  # UTF-16, cut off
    assert (text[0], notice.evidence["file"]) == ("a", "x.log")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('[{"a": 1}, {"a": 2}, {"a": 3', [{"a": 1}, {"a": 2}]),
        ('{"Layers": [{"a": [1, 2]}, {"a": [3,', {"Layers": [{"a": [1, 2]}]}),
        ('{"a": 1, "b": {"c": 2, "d"', {"a": 1}),
        ('[1, 2, "unfinished', [1, 2]),
        ('[1, 2, "x\\', [1, 2]),
        ("[1, 2, 3", [1, 2]),
        ('[{"a": 1}, {"a": oops}, {"a": 3}]', [{"a": 1}]),
        ('{"a": 1} trailing', {"a": 1}),
        ("[1, 2}, 3]", [1]),
    ],
)
def test_whole_elements_are_kept(text, kept) -> None:
    document = lenient_json.read_json(text.encode(), "x.json")
    assert document.value == kept
    assert document.notices[-1].code == "W-TRUNCATED"
    assert document.notices[-1].evidence["size_bytes"] == len(text)


@pytest.mark.parametrize("text", [b"", b"  ", b"hello", b"[", b'{"a": ', b"[{", b'"x'])
def test_nothing_whole(text) -> None:
    with pytest.raises(FormatError, match="x"):
        lenient_json.read_json(text, "x")
    assert lenient_json.read_json(b"nan", "x").value is None


def test_the_error_names_the_place() -> None:
    with pytest.raises(FormatError) as caught:
        lenient_json.read_json(b'{\n\n  "a" oops', "plan.json")
    assert str(caught.value).startswith("plan.json at line 3, byte ")
    assert caught.value.hint == "expected valid JSON"
    with pytest.raises(FormatError, match="at byte 9: a second JSON value begins there") as caught:
        lenient_json.read_json(b'{"a": 1} {"b": 2}', "x")
    assert "a run of its own" in (caught.value.hint or "")
    assert lenient_json.end_of_value("[1}", 0) == 2


@pytest.mark.parametrize(
    "text",
    [b"[" * 100_000, b'{"a":' * 50_000, b"[" * 100_000 + b"nan", b"[" * 50_000 + b"]" * 50_000],
    ids=["lists", "dictionaries", "a word in lists", "closed lists"],
)
def test_deep_nesting_is_an_error(text) -> None:
    with pytest.raises(FormatError, match="x: it is nested too deeply"):
        lenient_json.read_json(text, "x")


def test_a_repair_does_not_hide_another() -> None:
    text = json.dumps([{"name": "a"}, {"name": "b"}]).replace("a", "\x1f") + ", nan"
    document = lenient_json.read_json(text.encode(), "x")
    assert document.value == [{"n\x1fme": "\x1f"}, {"n\x1fme": "b"}]
    assert len(document.notices) == 3


@pytest.mark.parametrize(
    ("text", "value", "count"),
    [
        ('{"a": "x\x1ey\x1fz"}', {"a": "x\x1ey\x1fz"}, 2),
        ('{"a": "x\x1ey\tz"}', {"a": "x\x1ey\tz"}, 2),
        ('{"a":\n\t"x\x1ey\tz\nw"}', {"a": "x\x1ey\tz\nw"}, 3),  # blanks in the string too
    ],
)
def test_control_characters_in_strings_are_counted_once(text, value, count) -> None:
    document = lenient_json.read_json(text.encode(), "a.json")
    assert document.value == value
    (notice,) = document.notices
    repair = "raw control characters in strings"
    assert notice.code == "I-JSON-REPAIRED"
    assert notice.evidence == {"file": "a.json", "repair": repair, "count": count}


def test_a_control_character_between_values_is_no_name() -> None:
    document = lenient_json.read_json(b'[1, 2, \x1e 3, "a\x1eb"]', "a.json")
    assert document.value == [1, 2]
    assert [one.code for one in document.notices][-1] == "W-TRUNCATED"


PLAN = json.dumps(
    {"Layers": [{"Name": "a,]", "In": [[1], {"x": "\\"}]}, {"Name": "b"}], "B": ["c"]}
)


@pytest.mark.parametrize("length", range(1, len(PLAN)))
def test_every_cut_is_valid_json(length) -> None:
    kept = json.loads(lenient_json.sound_part(PLAN[:length]) or "null")
    whole = json.loads(PLAN)
    layers = kept.get("Layers", [])
    assert layers == whole["Layers"][: len(layers)]


@pytest.mark.parametrize(
    ("text", "part"), [("1234", None), ("}", None), ('{"a": [1, 2]} and more', '{"a": [1, 2]}')]
)
def test_a_whole_value_is_kept_whole(text, part) -> None:
    assert lenient_json.sound_part(text) == part


def test_lists_within_a_value() -> None:
    value = {"a": {"deep": [1]}, "b": [2], "c": 3}
    outermost_first = [("b", [2]), ("deep", [1])]
    assert [(key, items) for key, _, items in lenient_json.lists_within(value)] == outermost_first
    value = {"perIteration": {"0": {"x": 1}, "1": {"x": 2}}, "n": 2}
    assert ("perIteration", value, [{"x": 1}, {"x": 2}]) in list(lenient_json.lists_within(value))
    value = [1]
    for _ in range(50):
        value = {"a": value}
    assert all(items != [1] for _, _, items in lenient_json.lists_within(value))


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *((1, 1.0), (2.5, 2.5), (True, None), ("1", None), (None, None)),
        *((10**400, None), (-1e300, None)),
    ],
)
def test_numbers(value, number) -> None:
    assert lenient_json.finite_number(value) == number
