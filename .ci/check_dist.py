"""Check the files of dist/: what is in them, what must not be, the bill of materials, the metadata.

`python .ci/check_dist.py DIST` ends with 1 and a line for each fault.
"""

from __future__ import annotations

import email
import json
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

#: Parts of the package that are not Python, one of each kind.
NEEDED = (
    "enginescope/py.typed",
    "enginescope/render/assets/page.js",
    "enginescope/render/assets/vendor/vega.min.js",
    "enginescope/serve/static/htmx.min.js",
)
URLS = {"Homepage", "Documentation", "Changelog", "Issues", "Source"}
MOST_BYTES = 4_000_000


def faults_of_wheel(path: Path) -> Iterator[str]:
    """Yield what is wrong with a wheel."""
    if path.stat().st_size > MOST_BYTES:
        yield f"{path.name}: {path.stat().st_size:,} bytes, more than {MOST_BYTES:,}"
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        (info,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
        tops = {name.partition("/")[0] for name in names} - {info, "enginescope"}
        if tops:
            yield f"{path.name}: installs {', '.join(sorted(tops))} beside the package"
        for needed in NEEDED:
            if needed not in names:
                yield f"{path.name}: lacks {needed}"
        boms = [name for name in names if name.startswith(f"{info}/sboms/")]
        if len(boms) != 1:
            yield f"{path.name}: {len(boms)} bills of materials in {info}/sboms/, not 1"
        else:
            yield from faults_of_bom(json.loads(wheel.read(boms[0])), wheel, path.name)
        if not any(name.startswith(f"{info}/licenses/") for name in names):
            yield f"{path.name}: has no license"
        metadata = email.message_from_bytes(wheel.read(f"{info}/METADATA"))
    urls = {one.partition(",")[0] for one in metadata.get_all("Project-URL") or ()}
    if urls != URLS:
        yield f"{path.name}: project URLs are {sorted(urls)}"


def faults_of_bom(bom: dict, wheel: zipfile.ZipFile, name: str) -> Iterator[str]:
    """Yield vendored scripts that only the bill, or only the wheel, has."""
    listed = {part["properties"][0]["value"] for part in bom["components"]}
    vendored = {one for one in wheel.namelist() if one.endswith(".min.js")}
    if listed != vendored:
        yield f"{name}: the bill of materials differs in {sorted(listed ^ vendored)}"


def faults_of_source(path: Path) -> Iterator[str]:
    """Yield what is wrong with a source archive."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in ("README.md", "LICENSE", "pyproject.toml", "tests/conftest.py", "mkdocs.yml"):
        if needed not in names:
            yield f"{path.name}: lacks {needed}"


def main(folder: Path) -> int:
    """Print the faults; return 1 if there are any."""
    wheels, sources = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    faults = [] if wheels and sources else [f"{folder}: needs a wheel and a source archive"]
    faults += [fault for path in wheels for fault in faults_of_wheel(path)]
    faults += [fault for path in sources for fault in faults_of_source(path)]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(wheels)} wheel, {len(sources)} source archive, {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
