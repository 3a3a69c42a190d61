"""What goes to another machine and what comes back: a cell, then its row and runs.

Both are bytes, so that any carrier will do: an argument of a Ray task, a file in a folder that is
mounted into a container.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

import msgspec

from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.model.suite import Cell, CellRow

T = TypeVar("T")

#: Does an errand where it is called: the bytes of an `Errand` into those of what is `Returned`.
Doing: TypeAlias = Callable[[bytes], bytes]


class Errand(Record, frozen=True, kw_only=True):
    """A cell to be done elsewhere.

    Attributes
    ----------
    command : str or None
        The command line to record.
    is_placed : bool
        The fleet has seen to it that the machine is of the kind that the cell asks for.
    """

    cell: Cell
    command: str | None = None
    is_placed: bool = True


class Returned(Record, frozen=True, kw_only=True):
    """What a cell came to elsewhere.

    Attributes
    ----------
    row : CellRow
    runs : tuple of bytes
        Each attempt's run, as a zip file of one run.
    """

    row: CellRow
    runs: tuple[bytes, ...] = ()


class Lost(Record, frozen=True, kw_only=True):
    """A cell of which nothing came back.

    Attributes
    ----------
    reason : str
    is_fault : bool
        Its machines were lost with it, or its container died; else nothing could run it at all.
    """

    cell: Cell
    reason: str
    is_fault: bool = True
    hint: str | None = None
    attempts: int = 1


class FleetWatch(Record, frozen=True, kw_only=True):
    """What is told while cells are elsewhere; each call comes from the thread that runs the fleet.

    Attributes
    ----------
    started : callable (cell, place)
    returned : callable (cell, returned)
    lost : callable (lost)
        The cell is given up.
    again : callable (cell, why)
        It was lost, and will be done once more.
    """

    started: Callable[[Cell, str], None]
    returned: Callable[[Cell, Returned], None]
    lost: Callable[[Lost], None]
    again: Callable[[Cell, str], None]


class Fleet(Protocol):
    """Machines that do cells."""

    def run(self, cells: Sequence[Cell], command: str | None, watch: FleetWatch) -> None:
        """Do every cell, and tell of each as soon as it has ended.

        Raises
        ------
        BackendError
            There are no machines, or none is left.
        """


def packed_errand(cell: Cell, command: str | None, *, is_placed: bool = True) -> bytes:
    """Return an errand as bytes."""
    return msgspec.msgpack.encode(Errand(cell=cell, command=command, is_placed=is_placed))


def unpacked_errand(data: bytes) -> Errand:
    """Return the errand that was packed.

    Raises
    ------
    FormatError
        These are no bytes of one, or of another version.
    """
    return _unpacked(data, Errand, "an errand")


def packed_returned(returned: Returned) -> bytes:
    """Return what came of an errand as bytes."""
    return msgspec.msgpack.encode(returned)


def unpacked_returned(data: bytes) -> Returned:
    """Return what came of an errand.

    Raises
    ------
    FormatError
        These are no bytes of it, or of another version.
    """
    return _unpacked(data, Returned, "what came of an errand")


def _unpacked(data: bytes, kind: type[T], what: str) -> T:
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise FormatError(
            what,
            why=str(error),
            expected="that of this version: enginescope must be the same on every machine",
        ) from error
