import json

import pytest

from enginescope.formats.lenient_json import sound_part

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
