import json

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import finite_number, lists_within, read_json, sound_part


def repairs(data: bytes) -> list[str]:
    return [n.evidence["repair"] for n in read_json(data, "x").notices if "repair" in n.evidence]


def test_valid_json_is_left_alone() -> None:
    document = read_json(b'{"a": [1, 2.5, null, "\\u001e"]}', "x.json")
    assert document.value == {"a": [1, 2.5, None, "\x1e"]}
    assert (document.notices, document.source) == ((), "x.json")


def test_control_characters_in_strings() -> None:
    document = read_json(b'{"a": "x\x1ey\tz"}', "x")
    assert document.value == {"a": "x\x1ey\tz"}
    (notice,) = document.notices
    assert notice.code == "I-JSON-REPAIRED"
    assert notice.evidence == {
        "file": "x",
        "repair": "raw control characters in strings",
        "count": 2,
    }


@pytest.mark.parametrize(
    "word", ["nan", "-nan", "NaN", "inf", "-inf", "Infinity", "1e999", "nan(ind)"]
)
def test_what_is_not_finite_is_not_known(word) -> None:
    assert read_json(b'[1, %s, "nan inf", 2e3]' % word.encode(), "x").value == [
        1,
        None,
        "nan inf",
        2000.0,
    ]


def test_integers_too_long_to_read() -> None:
    assert read_json(b"[1, " + b"9" * 5000 + b"]", "x").value == [1, None]


def test_names_that_trtexec_did_not_escape() -> None:
    text = b'[\n  { "count" : 2 }\n, { "name" : "a "b" \\c", "timeMs" : 1 }\n]'
    assert read_json(text, "x").value[1] == {"name": 'a "b" \\c', "timeMs": 1}
    assert repairs(text) == ["layer names that were written unescaped"]


def test_backslashes_that_escape_nothing() -> None:
    assert read_json(b'["C:\\path", "\\n", "\\\\"]', "x").value == ["C:\\path", "\n", "\\"]


def test_halves_of_surrogate_pairs() -> None:
    document = read_json(b'["\\ud800", "\\ud83d\\ude00", "\\\\ud800"]', "x")
    assert document.value == ["\ufffd", "\U0001f600", "\\ud800"]


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + b'["\xc3\xa9"]',
        b"\xff\xfe" + '["é"]'.encode("utf-16-le"),
        b"\xfe\xff" + '["é"]'.encode("utf-16-be"),
    ],
)
def test_byte_order_marks(data) -> None:
    assert read_json(data, "x").value == ["é"]


def test_bytes_that_are_not_utf8() -> None:
    document = read_json(b'["a\xffb"]', "x")
    assert document.value == ["a\ufffdb"]
    assert [one.code for one in document.notices] == ["I-ENCODING"]


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
    document = read_json(text.encode(), "x.json")
    assert document.value == kept
    assert document.notices[-1].code == "W-TRUNCATED"
    assert document.notices[-1].evidence["size_bytes"] == len(text)


@pytest.mark.parametrize("text", [b"", b"  ", b"hello", b"[", b'{"a": ', b"[{", b"nan", b'"x'])
def test_nothing_whole(text) -> None:
    if text == b"nan":
        assert read_json(text, "x").value is None
        return
    with pytest.raises(FormatError, match="x"):
        read_json(text, "x")


def test_the_error_names_the_place() -> None:
    with pytest.raises(FormatError) as caught:
        read_json(b'{\n\n  "a" oops', "plan.json")
    assert str(caught.value).startswith("plan.json at line 3, byte ")
    assert caught.value.hint == "expected valid JSON"


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 50_000, b"[" * 100_000 + b"nan"])
def test_deep_nesting_is_an_error(text) -> None:
    with pytest.raises(FormatError):
        read_json(text, "x")


def test_a_closed_deep_nest_is_an_error_too() -> None:
    with pytest.raises(FormatError, match="nested too deeply"):
        read_json(b"[" * 50_000 + b"]" * 50_000, "x")


def test_a_repair_does_not_hide_another() -> None:
    text = json.dumps([{"name": "a"}, {"name": "b"}]).replace("a", "\x1f") + ", nan"
    document = read_json(text.encode(), "x")
    assert document.value == [{"n\x1fme": "\x1f"}, {"n\x1fme": "b"}]
    assert len(document.notices) == 3


@pytest.mark.parametrize(
    ("text", "value", "count"),
    [
        ('{"a": "x\x1ey\x1fz"}', {"a": "x\x1ey\x1fz"}, 2),
        ('{"a":\n\t"x\x1ey\tz\nw"}', {"a": "x\x1ey\tz\nw"}, 3),  # blanks in the string too
    ],
)
def test_control_characters_are_counted_once(text, value, count) -> None:
    document = read_json(text.encode(), "a.json")
    assert document.value == value
    assert [one.evidence["count"] for one in document.notices] == [count]


def test_a_control_character_between_values_is_no_name() -> None:
    document = read_json(b'[1, 2, \x1e 3, "a\x1eb"]', "a.json")
    assert document.value == [1, 2]
    assert [one.code for one in document.notices][-1] == "W-TRUNCATED"


PLAN = json.dumps(
    {"Layers": [{"Name": "a,]", "In": [[1], {"x": "\\"}]}, {"Name": "b"}], "B": ["c"]}
)


@pytest.mark.parametrize("length", range(1, len(PLAN)))
def test_every_cut_is_valid_json(length) -> None:
    kept = json.loads(sound_part(PLAN[:length]) or "null")
    whole = json.loads(PLAN)
    layers = kept.get("Layers", [])
    assert layers == whole["Layers"][: len(layers)]


def test_no_container() -> None:
    assert sound_part("1234") is None
    assert sound_part("}") is None


def test_a_whole_value_is_kept_whole() -> None:
    assert sound_part('{"a": [1, 2]} and more') == '{"a": [1, 2]}'


def test_outermost_first() -> None:
    value = {"a": {"deep": [1]}, "b": [2], "c": 3}
    assert [(key, items) for key, _, items in lists_within(value)] == [("b", [2]), ("deep", [1])]


def test_dictionaries_of_dictionaries_are_lists() -> None:
    value = {"perIteration": {"0": {"x": 1}, "1": {"x": 2}}, "n": 2}
    assert ("perIteration", value, [{"x": 1}, {"x": 2}]) in list(lists_within(value))


def test_depth_is_bounded() -> None:
    value: object = [1]
    for _ in range(50):
        value = {"a": value}
    assert all(items != [1] for _, _, items in lists_within(value))


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1.0),
        (2.5, 2.5),
        (True, None),
        ("1", None),
        (None, None),
        (10**400, None),
        (-1e300, None),
    ],
)
def test_numbers(value, number) -> None:
    assert finite_number(value) == number
