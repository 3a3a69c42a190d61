"""SARIF 2.1.0, for code hosts and editors: what lint finds and what a gate finds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.core.record import Record

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class SarifRule(Record, frozen=True, kw_only=True):
    """One kind of result.

    Attributes:
        summary, text, advice: Sentences: in short, in full, and what to do.
    """

    id: str
    name: str
    summary: str
    text: str
    advice: str
    level: str


class SarifPlace(Record, frozen=True, kw_only=True):
    """A part of what a result is of: a layer, a job."""

    name: str
    full_name: str
    kind: str = "member"


class SarifResult(Record, frozen=True, kw_only=True):
    """One result.

    Attributes:
        rule: Id of its rule.
        subject: What it is of: with the rule it tells results of different runs apart or the same.
        file: Path of the file it is of.
    """

    rule: str
    level: str
    message: str
    subject: str
    places: tuple[SarifPlace, ...] = ()
    file: str | None = None
    properties: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies empty defaults


def sarif_log(
    runs: Sequence[Sequence[SarifResult]],
    rules: Sequence[SarifRule],
    *,
    properties: dict[str, Any] | None = None,
) -> bytes:
    """Return the document: one SARIF run for each sequence of results.

    Args:
        properties: Further facts about each run.
    """
    driver = {
        "name": "enginescope",
        "version": __version__,
        "rules": [_rule(rule) for rule in rules],
    }
    order = {one.id: index for index, one in enumerate(rules)}
    made = [
        {
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "results": [_result(result, order[result.rule]) for result in results],
            **({"properties": properties} if properties else {}),
        }
        for results in runs
    ]
    return encode({"$schema": SCHEMA, "version": "2.1.0", "runs": made})


def _rule(rule: SarifRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.text},
        "help": {"text": rule.advice},
        "defaultConfiguration": {"level": rule.level},
    }


def _result(one: SarifResult, index: int) -> dict[str, Any]:
    return {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": one.level,
        "message": {"text": _literal(one.message)},
        "locations": [_location(one)],
        "partialFingerprints": {"ruleAndSubject/v1": _fingerprint(one)},
        "properties": one.properties,
    }


def _location(one: SarifResult) -> dict[str, Any]:
    logical = [
        {"name": place.name, "fullyQualifiedName": place.full_name, "kind": place.kind}
        for place in one.places
    ]
    found: dict[str, Any] = {"logicalLocations": logical} if logical else {}
    if one.file is not None:
        found["physicalLocation"] = {"artifactLocation": {"uri": _uri(one.file)}}
    return found


def _uri(path: str) -> str:
    pure = PurePath(path)
    return pure.as_uri() if pure.is_absolute() else quote(pure.as_posix())


def _literal(text: str) -> str:
    """Double the braces, which stand for arguments in a SARIF message (SARIF 2.1.0, 3.11.5)."""
    return text.replace("{", "{{").replace("}", "}}")


def _fingerprint(one: SarifResult) -> str:
    return hashlib.sha256(f"{one.rule}\0{one.subject}".encode()).hexdigest()[:32]
