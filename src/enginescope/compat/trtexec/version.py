"""A TensorRT version, as a number line and as trtexec prints it."""

from __future__ import annotations

import re

from enginescope.core.record import Record


class Version(Record, frozen=True, kw_only=True):
    """A TensorRT version."""

    major: int
    minor: int
    patch: int = 0
    build: int | None = None

    def __str__(self) -> str:
        """Return ``10.16.1``."""
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor."""
        return self.major, self.minor

    @property
    def parts(self) -> tuple[int, int, int]:
        """Major, minor and patch."""
        return self.major, self.minor, self.patch

    @property
    def number(self) -> int:
        """As trtexec prints it: 8601, 101600."""
        base = 10_000 if self.major >= 10 else 1_000
        return self.major * base + self.minor * 100 + self.patch

    def at_least(self, major: int, minor: int = 0, patch: int = 0) -> bool:
        """Whether it is that version or a later one."""
        return (self.major, self.minor, self.patch) >= (major, minor, patch)


def parse_version(text: str) -> Version | None:
    """Return the version in ``10.16.1.11``; ``None`` if it does not begin with two numbers."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?(?:\.(\d+))?", text)
    if match is None:
        return None
    return Version(
        major=int(match[1]),
        minor=int(match[2]),
        patch=int(match[3] or 0),
        build=int(match[4]) if match[4] else None,
    )
