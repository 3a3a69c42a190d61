"""Write enginescope.cdx.json: what the wheel carries that others made (CycloneDX 1.6, PEP 770).

The JavaScript that reports and the server use is the only such code. `make dist` runs this, and a
test holds the file up to date.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "enginescope"
VENDOR = SOURCE / "render" / "assets" / "vendor"
SERVER = SOURCE / "serve" / "static"
SBOM = ROOT / "enginescope.cdx.json"


def component(name: str, version: str, path: Path, licence: str) -> dict[str, Any]:
    """Return one vendored package, known by the hash of its file."""
    purl = f"pkg:npm/{name}@{version}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "licenses": [{"license": {"id": licence}}],
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}],
        "properties": [{"name": "path", "value": str(path.relative_to(ROOT / "src"))}],
    }


def document() -> dict[str, Any]:
    """Return the bill of materials of this working tree."""
    version = re.findall(r'"([^"]+)"', (SOURCE / "_version.py").read_text())[-1]
    versions = json.loads((VENDOR / "VERSIONS.json").read_text())
    htmx = re.findall(r"htmx\.org ([\d.]+)", (SERVER / "LICENSES.txt").read_text())[0]
    parts = [
        component(one["package"], one["version"], VENDOR / one["file"], one["licence"])
        for one in versions
    ]
    parts.append(component("htmx.org", htmx, SERVER / "htmx.min.js", "0BSD"))
    this = f"pkg:pypi/enginescope@{version}"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": this,
                "name": "enginescope",
                "version": version,
                "purl": this,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": parts,
        "dependencies": [{"ref": this, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def text() -> str:
    """Return the file's text."""
    return json.dumps(document(), indent=2) + "\n"


if __name__ == "__main__":
    SBOM.write_text(text(), encoding="utf-8")
    sys.stdout.write(f"{SBOM.name}\n")
