"""An archive's contents on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from enginescope.core.units import format_bytes
from enginescope.formats.tea_kinds import RUNS
from enginescope.formats.tea_manifest import Manifest, TeaEntry, TeaSubject


def show_archive(archive: Path, manifest: Manifest | None, files: Sequence[TeaEntry]) -> None:
    """Print where it is from, which engines it tells of, and its files."""
    whole = format_bytes(sum(one.size_bytes for one in files))
    print(f"{archive.name}: {len(files):,} {'file' if len(files) == 1 else 'files'}, {whole}")
    if manifest is None:
        print("no manifest: trex's, or put together by hand")
    else:
        print(f"written {manifest.created[:10]} by enginescope {manifest.enginescope}")
        for one in manifest.subjects:
            print(_subject(one))
    print()
    rows = [(format_bytes(size), kind, _plain(name)) for name, kind, size in _rows(files)]
    kinds = max((len(kind) for _, kind, _ in rows), default=0)
    for size, kind, name in rows:  # names whole, to be copied: neither cut nor broken
        print(f"{size:>9}  {kind:<{kinds}}  {name}")


def _rows(files: Sequence[TeaEntry]) -> list[tuple[str, str, int]]:
    """Return name, kind and bytes of each file; a run's files, of which it has dozens, in one."""
    sizes: dict[tuple[str, str], list[int]] = {}
    for one in files:
        name = one.name
        if name.startswith(f"{RUNS}/") and name.count("/") > 1:
            name = "/".join((*name.split("/")[:2], ""))
        sizes.setdefault((name, one.kind), []).append(one.size_bytes)
    return [
        (f"{name} {len(each):,} files" if len(each) > 1 else name, kind, sum(each))
        for (name, kind), each in sizes.items()
    ]


def _subject(one: TeaSubject) -> str:
    versions = (version for name, version in one.versions.items() if name.startswith("tensorrt"))
    tensorrt = next(versions, None)
    parts = (
        f"TensorRT {tensorrt}" if tensorrt else None,
        ", ".join(dict.fromkeys(device.name for device in one.devices)) or None,
    )
    return _plain(" · ".join(part for part in (one.name, *parts) if part))


def _plain(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else "·" for c in text)
