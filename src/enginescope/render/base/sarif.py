"""SARIF 2.1.0, for code hosts and editors: what lint finds and what a gate finds."""

import hashlib
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from enginescope._version import __version__
from enginescope.core.jsonio import encode


def sarif_log(
    runs: Sequence[Sequence[dict[str, Any]]],
    rules: Sequence[dict[str, Any]],
    *,
    properties: dict[str, Any] | None = None,
) -> bytes:
    """Return the document: one SARIF run for each sequence of `sarif_result`.

    Args:
        rules: Of `sarif_rule`.
        properties: Further facts about each run.
    """
    order = {one["id"]: index for index, one in enumerate(rules)}
    made = [
        {
            "tool": {"driver": {"name": "enginescope", "version": __version__, "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": [{"ruleId": "", "ruleIndex": order[r["ruleId"]], **r} for r in results],
            **({"properties": properties} if properties else {}),
        }
        for results in runs
    ]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return encode({"$schema": schema, "version": "2.1.0", "runs": made})


def sarif_rule(
    code: str, name: str, summary: str, text: str, advice: str, *, level: str
) -> dict[str, Any]:
    """Return one kind of result, with sentences in short, in full, and on what to do."""
    return {
        "id": code,
        "name": name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": text},
        "help": {"text": advice},
        "defaultConfiguration": {"level": level},
    }


def sarif_result(
    rule: str,
    level: str,
    message: str,
    *,
    subject: str,
    places: Sequence[tuple[str, str]],
    kind: str = "member",
    file: str | None,
    properties: dict[str, Any],
) -> dict[str, Any]:
    """Return one result.

    Args:
        rule: Code of its rule.
        subject: With the rule it tells results of different runs apart or the same.
        places: Name and full name of each part that it is of: a layer, a job; `kind` says what.
        file: Path of the file it is of.
    """
    logical = [{"name": name, "fullyQualifiedName": full, "kind": kind} for name, full in places]
    place: dict[str, Any] = {"logicalLocations": logical} if logical else {}
    if file is not None:
        pure = PurePath(file)
        uri = pure.as_uri() if pure.is_absolute() else quote(pure.as_posix())
        place["physicalLocation"] = {"artifactLocation": {"uri": uri}}
    # Braces stand for arguments in a SARIF message (SARIF 2.1.0, 3.11.5).
    literal = message.replace("{", "{{").replace("}", "}}")
    fingerprint = hashlib.sha256(f"{rule}\0{subject}".encode()).hexdigest()[:32]
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": literal},
        "locations": [place],
        "partialFingerprints": {"ruleAndSubject/v1": fingerprint},
        "properties": properties,
    }
