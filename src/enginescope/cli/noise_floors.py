"""The noise floors that a comparison is told of."""

from __future__ import annotations

from pathlib import Path

from enginescope.cli.options import note
from enginescope.core.errors import FormatError, StoreError
from enginescope.model.noise_floor import NoiseFloor


def known_floors(store: Path) -> tuple[NoiseFloor, ...]:
    """Return the floors recorded in a store; a file that cannot be read is named and left out."""
    from enginescope.store.noise_floors import read_floors

    try:
        return read_floors(store)
    except (FormatError, StoreError) as error:
        note(f"enginescope: noise floors are left out: {error}")
        return ()
