"""Plain objects as YAML text: what Kubernetes and people read; nothing of YAML's guessing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
#: Words that YAML takes for something else.
_GUESSED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def yaml_text(value: Any, indent: int = 0) -> str:
    """Return mappings, sequences and scalars in block style, strings in quotes.

    A quoted string of JSON is one of YAML, so nothing is taken for a number or a date.
    """
    pad = " " * indent
    if isinstance(value, Mapping) and value:
        return "".join(
            f"{pad}{key if _is_plain(key) else _quoted(key)}:{_nested(one, indent)}"
            for key, one in value.items()
        )
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return "".join(f"{pad}- {yaml_text(one, indent + 2).lstrip()}" for one in value)
    return f"{pad}{_quoted(value)}\n"


def _nested(value: Any, indent: int) -> str:
    is_block = isinstance(value, Mapping | list | tuple) and bool(value)
    return f"\n{yaml_text(value, indent + 2)}" if is_block else f" {yaml_text(value)}"


def _quoted(value: Any) -> str:
    """Return a scalar as JSON has it, what YAML cannot print escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda one: f"\\u{ord(one[0]):04x}", text)


def _is_plain(key: str) -> bool:
    return key.isascii() and key.isalpha() and key.lower() not in _GUESSED
