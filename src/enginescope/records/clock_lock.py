"""GPU clocks held at one value while something is measured."""

from __future__ import annotations

from enginescope.core.record import Record


class ClockLock(Record, frozen=True, kw_only=True):
    """The clocks that a GPU is held at.

    Attributes:
        sm_mhz: ``None``: at its base clock, which the driver knows and NVML does not put in MHz.
        memory_mhz: ``None``: the memory clock is free; not every GPU can hold it.
    """

    sm_mhz: int | None = None
    memory_mhz: int | None = None

    def __str__(self) -> str:
        """Return it for people: ``SM 1,305 MHz, memory 2,619 MHz``."""
        sm = "SM base clock" if self.sm_mhz is None else f"SM {self.sm_mhz:,} MHz"
        return sm if self.memory_mhz is None else f"{sm}, memory {self.memory_mhz:,} MHz"
