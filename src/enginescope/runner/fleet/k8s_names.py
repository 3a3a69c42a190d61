"""Names and quantities as Kubernetes takes them: its API's rules, before anything is written."""

from __future__ import annotations

import re
from typing import Any

from enginescope.core.errors import UsageError

_DNS = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_WORD = r"[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?"
#: Of namespaces.
NAMESPACE = re.compile(rf"(?=.{{1,63}}$){_DNS}", re.ASCII)
#: Of secrets and claims.
NAME = re.compile(rf"(?=.{{1,253}}$){_DNS}(?:\.{_DNS})*", re.ASCII)
LABEL_KEY = re.compile(
    rf"(?:(?=[^/]{{1,253}}/){_DNS}(?:\.{_DNS})*/)?(?=[^/]{{1,63}}$){_WORD}", re.ASCII
)
LABEL_VALUE = re.compile(rf"(?=.{{0,63}}$)(?:{_WORD})?", re.ASCII)
QUANTITY = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?", re.ASCII)
_RULES = {
    NAMESPACE: (
        "not a label of RFC 1123: 1 to 63 of a-z, 0-9 and -, a letter or digit at both ends"
    ),
    NAME: (
        "not a subdomain of RFC 1123: 1 to 253 of a-z, 0-9, - and ., a letter or digit at both "
        "ends of each part"
    ),
    LABEL_KEY: (
        "not a key: [SUBDOMAIN/]NAME, a subdomain of RFC 1123 and 1 to 63 letters, digits, -, _ "
        "and ., a letter or digit at both ends"
    ),
    LABEL_VALUE: (
        "not a value of a label: at most 63 letters, digits, -, _ and ., a letter or digit at both "
        "ends"
    ),
    QUANTITY: "not a quantity: 2, 500m, 0.5, 4G or 32Gi",
}
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
#: Of a Job: its pods add ``-`` and an index below 1,000, and together may have 63.
_LONGEST = 59


def check(what: str, text: str, rule: re.Pattern[str]) -> None:
    """Raise unless a text is as a rule of Kubernetes has it.

    Raises:
        UsageError: It is not; names the rule.
    """
    if not rule.fullmatch(text):
        raise UsageError(f"{what} {text!r}", why=_RULES[rule])


def name_of(text: str) -> str:
    """Return a text as the name of a Job or label; its end tells Jobs apart, so it stays."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return plain[-_LONGEST:].strip("-")


def toleration_of(text: str) -> dict[str, Any]:
    """Return the toleration of a taint, ``KEY[=VALUE][:EFFECT]``.

    Raises:
        UsageError: It is not one.
    """
    taint, _, effect = text.partition(":")
    key, equals, value = taint.partition("=")
    check("toleration", key, LABEL_KEY)
    check(f"toleration {key}", value, LABEL_VALUE)
    if ":" in text and effect not in _EFFECTS:
        raise UsageError(
            f"toleration {text}", why=f"{effect!r} is not one of {', '.join(_EFFECTS)}"
        )
    found = {"key": key, "operator": "Equal" if equals else "Exists"}
    return found | ({"value": value} if equals else {}) | ({"effect": effect} if effect else {})
