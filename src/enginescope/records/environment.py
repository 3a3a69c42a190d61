"""Where a run took place: machine, GPUs with their clocks, software and its commit."""

from enginescope.core.record import Record


class Commit(Record, frozen=True, kw_only=True):
    """The commit that a working directory was at.

    Attributes:
        id: Hexadecimal, or whatever was named.
        is_changed: Whether tracked files differed from it.
    """

    id: str
    is_changed: bool | None = None

    @property
    def short(self) -> str:
        """The first ten letters, and a mark where files differed."""
        return f"{self.id[:10]}{'+' if self.is_changed else ''}"


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


class Device(Record, frozen=True, kw_only=True):
    """A GPU, as far as it was seen.

    Attributes:
        compute_capability: ``"9.0"``.
        shared_per_sm_bytes, memory_bus_bits, has_ecc, clock_mhz, memory_clock_mhz: As CUDA states
            them.
        max_sm_clock_mhz, max_memory_clock_mhz: The highest the GPU can be set to, not those it ran
            at.
        clock_lock: What ``--lock-clocks`` held it at; ``None``: nothing, as far as is known.
    """

    name: str
    uuid: str | None = None
    compute_capability: str | None = None
    memory_bytes: int | None = None
    sm_count: int | None = None
    shared_per_sm_bytes: int | None = None
    memory_bus_bits: int | None = None
    has_ecc: bool | None = None
    clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    driver: str | None = None
    max_sm_clock_mhz: int | None = None
    max_memory_clock_mhz: int | None = None
    clock_lock: ClockLock | None = None


class Host(Record, frozen=True, kw_only=True):
    """The machine.

    Attributes:
        name, os, cpu_model, governor, container: `governor` is the CPU frequency governor;
            `container` names the kind when inside one.
        cores_physical, cores_logical, cores_usable: `cores_usable` respects affinity and container
            quota.
        memory_bytes: Usable memory: the machine's, or the container's limit.
        load_1min: Load average at the start.
        boost: Whether the processor may raise its clock over the nominal one.
        smt: Whether physical cores run two threads at a time.
    """

    name: str | None = None
    os: str | None = None
    cpu_model: str | None = None
    cores_physical: int | None = None
    cores_logical: int | None = None
    cores_usable: int | None = None
    memory_bytes: int | None = None
    governor: str | None = None
    container: str | None = None
    load_1min: float | None = None
    boost: bool | None = None
    smt: bool | None = None


class Environment(Record, frozen=True, kw_only=True):
    """Everything around a run that can change its figures.

    Attributes:
        versions: Packages, the interpreter, drivers, runtimes.
        variables: Environment variables that steer thread counts and devices.
        commit: Of the directory in which it was asked for.
    """

    host: Host = Host()
    devices: tuple[Device, ...] = ()
    versions: dict[str, str] = {}
    variables: dict[str, str] = {}
    commit: Commit | None = None

    @property
    def place(self) -> str:
        """Names of the GPUs, else of the processor; empty: unknown."""
        return " + ".join(one.name for one in self.devices) or self.host.cpu_model or ""

    def comparable_key(self) -> tuple[str | None, ...]:
        """Return what two runs must share to be compared without a second thought."""
        gpus = tuple(f"{one.name}/{one.driver}" for one in self.devices)
        return (self.host.cpu_model, str(self.host.cores_usable), self.host.governor, *gpus)
