"""Check the files of dist/: what is in them, what must not be, the bill of materials, the metadata.

Every platform's wheel must have a loop that needs no newer system than the wheel's name says; the
loops that this machine can run are run.

`python .ci/check_dist.py DIST` ends with 1 and a line for each fault.
"""

from __future__ import annotations

import email
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

#: Parts of the package that are not Python, one of each kind.
NEEDED = (
    "enginescope/py.typed",
    "enginescope/render/assets/page.js",
    "enginescope/render/assets/vendor/vega.min.js",
    "enginescope/serve/static/htmx.min.js",
)
URLS = {"Homepage", "Documentation", "Changelog", "Issues", "Source"}
MOST_BYTES = 4_000_000
LOOP = "enginescope/backends/libloop.so.1"
#: A request that is two readings of the clock with a pause of 1 ms between them.
RUN_LOOP = """
from enginescope.backends.native_loop import LIBRARY, Kind, Program, Turn
turn = Turn([(Kind.CLOCK, 0), (Kind.PAUSE, 1_000_000), (Kind.CLOCK, 1)])
rows = Program([[turn]], columns=2).run(3)
assert ((rows[:, 1] - rows[:, 0]) >= 1_000_000).all(), rows
print(LIBRARY)
"""


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
        yield from faults_of_loop(path, wheel)
        metadata = email.message_from_bytes(wheel.read(f"{info}/METADATA"))
    urls = {one.partition(",")[0] for one in metadata.get_all("Project-URL") or ()}
    if urls != URLS:
        yield f"{path.name}: project URLs are {sorted(urls)}"


def faults_of_loop(path: Path, wheel: zipfile.ZipFile) -> Iterator[str]:
    """Yield what is wrong with the loop in C of a wheel."""
    tags = parse_wheel_filename(path.name)[3]
    platforms = {tag.platform for tag in tags}
    has_loop = LOOP in wheel.namelist()
    if has_loop == (platforms == {"any"}):
        yield f"{path.name}: {'a loop in a pure wheel' if has_loop else 'no loop inside'}"
        return
    if not has_loop:
        return
    needed = {tuple(map(int, one)) for one in re.findall(rb"GLIBC_(\d+)\.(\d+)", wheel.read(LOOP))}
    for platform in platforms:
        promised = re.match(r"manylinux_(\d+)_(\d+)_", platform)
        newest = max(needed, default=(0, 0))
        if promised and newest > (int(promised[1]), int(promised[2])):
            yield f"{path.name}: its loop needs glibc {newest[0]}.{newest[1]}"
        if platform.startswith("linux_"):
            yield f"{path.name}: {platform} promises no system"
    if tags & set(sys_tags()):
        yield from faults_of_run(path, wheel)


def faults_of_run(path: Path, wheel: zipfile.ZipFile) -> Iterator[str]:
    """Yield what happens if the loop of a wheel for this machine does not run."""
    with tempfile.TemporaryDirectory() as folder:
        wheel.extractall(folder)  # noqa: S202 - built here
        program = f"import sys; sys.path.insert(0, {folder!r})\n{RUN_LOOP}"
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.startswith(folder):
        yield f"{path.name}: its loop does not run: {done.stderr.strip() or done.stdout.strip()}"
    else:
        print(f"{path.name}: its loop runs")


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
    if all(path.name.endswith("-any.whl") for path in wheels):
        faults.append(f"{folder}: has no wheel with the loop in C")
    faults += [fault for path in wheels for fault in faults_of_wheel(path)]
    faults += [fault for path in sources for fault in faults_of_source(path)]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(wheels)} wheels, {len(sources)} source archive, {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
