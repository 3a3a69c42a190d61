from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.yaml_text import yaml_text

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | TEXTS
KEYS = TEXTS.filter(bool)
VALUES = st.recursive(
    SCALARS, lambda one: st.lists(one, max_size=3) | st.dictionaries(KEYS, one, max_size=3)
)


@given(VALUES)
def test_it_is_read_as_what_it_was(value) -> None:
    assert yaml.safe_load(yaml_text(value)) == value


@pytest.mark.parametrize("text", ["no", "12", "2026-01-01", "a: b", "#", 'it\'s "so"', ""])
def test_nothing_is_guessed(text) -> None:
    assert yaml.safe_load(yaml_text({"key": text, text or "x": [text]})) == {
        "key": text,
        text or "x": [text],
    }


def test_it_is_for_people() -> None:
    assert yaml_text({"a": {"b": [1, {"c": "d", "e": True}]}, "f.g/h": {}}) == (
        'a:\n  b:\n    - 1\n    - c: "d"\n      e: true\n"f.g/h": {}\n'
    )
