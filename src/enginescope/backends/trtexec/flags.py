"""Arguments for one version of trtexec."""

from __future__ import annotations

from enginescope.backends.trtexec.binary import Version, dotted
from enginescope.core.errors import UnsupportedError
from enginescope.formats.trtexec.trtexec_flags import all_flags


class Flags:
    """Arguments for one version of trtexec, in order.

    Attributes:
        arguments: ``--name`` or ``--name=value``.
    """

    def __init__(self, version: Version) -> None:
        self.version = version
        self.arguments: list[str] = []

    @property
    def is_strongly_typed(self) -> bool:
        """Whether this version builds strongly typed networks only, with its defaults flipped."""
        return self.version >= (11, 0)

    def add(self, name: str, value: object = None) -> None:
        """Append a flag.

        Raises:
            UnsupportedError: This version does not have it.
        """
        flag = all_flags()[f"--{name}"]
        if self.version < flag.first:
            raise self._lacking(name, f"it came with {dotted(flag.first)}")
        # a flag goes with a new major version, so a 10.17 that the table lacks still has it
        if flag.last is not None and self.version[0] > flag.last[0]:
            raise self._lacking(name, f"it went with {flag.last[0] + 1}.0")
        self.arguments.append(f"--{name}" if value is None else f"--{name}={value}")

    def _lacking(self, name: str, why: str) -> UnsupportedError:
        return UnsupportedError(
            f"trtexec of TensorRT {dotted(self.version)} has no --{name}", why=why
        )


def name_of(argument: str) -> str:
    """Return ``avgRuns`` for ``--avgRuns=100``."""
    return argument.removeprefix("--").partition("=")[0]
