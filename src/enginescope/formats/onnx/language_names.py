"""Inputs and outputs of language models, known by their names.

Names are those of Optimum, ONNX Runtime's exporters and its generate() models: ``attention_mask``,
``position_ids``, ``past_key_values.0.key`` or ``past_0``, ``present.0.key`` or ``present_0``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_PAST = re.compile(r"past(_key_values|_kv)?(?=[._]|\d|$)")
_PRESENT = re.compile(r"present(_key_values|_kv)?(?=[._]|\d|$)")
_MASK = re.compile(r"(^|_)(attention|input)_mask$")
_POSITIONS = re.compile(r"(^|_)position(_ids|s)$")
_SEGMENTS = re.compile(r"^(token_type|segment)_ids$")
_IDS = re.compile(r"(^|_)ids$")
#: Of decoders with and without a past in one graph.
HAS_PAST = "use_cache_branch"


def is_past(name: str) -> bool:
    """Whether an input holds keys or values of earlier tokens."""
    return _PAST.match(name) is not None


def is_mask(name: str) -> bool:
    """Whether an input marks the tokens that count."""
    return _MASK.search(name) is not None


def is_positions(name: str) -> bool:
    """Whether an input numbers the tokens."""
    return _POSITIONS.search(name) is not None


def is_segments(name: str) -> bool:
    """Whether an input says which sentence a token is of."""
    return _SEGMENTS.search(name) is not None


def is_tokens(name: str) -> bool:
    """Whether an input holds ids of tokens."""
    return bool(_IDS.search(name)) and not is_positions(name) and not is_segments(name)


def presents_of(inputs: Iterable[str], outputs: Iterable[str]) -> dict[str, str]:
    """Return the output that feeds each input of keys or values in the next step, as far as known.

    The rest of both names is the same: ``past_key_values.0.key`` and ``present.0.key``.
    """
    given = {_rest(_PRESENT, name): name for name in outputs if _PRESENT.match(name)}
    found = ((name, given.get(_rest(_PAST, name))) for name in inputs if is_past(name))
    return {name: present for name, present in found if present is not None}


def _rest(start: re.Pattern[str], name: str) -> str:
    return start.sub("", name, count=1).lstrip("._")
