"""The newest trtexec whose flags, log and figures were read from its own source."""

from __future__ import annotations

#: Major and minor of TensorRT. A newer one is taken for this one, and that is said.
NEWEST = (11, 1)


def newer_release_text(version: tuple[int, ...]) -> str | None:
    """Say that a version is newer than what is known of trtexec; ``None`` if it is not.

    Args:
        version: Major, minor and what follows.
    """
    if version[:2] <= NEWEST:
        return None
    known, found = ".".join(map(str, NEWEST)), ".".join(map(str, version))
    return (
        f"TensorRT {found} is newer than {known}, the last whose trtexec is known here: it is "
        f"taken for {known}, so flags and defaults that came or went since are not seen"
    )
