"""How far a job is, its phases, and its place in an interleaved comparison."""

from string import ascii_uppercase

from enginescope.core.record import Record


class Progress(Record, frozen=True, kw_only=True):
    """Where a job stands; written for the parent to show.

    Attributes:
        phase: Name of a `Phase`.
        median_ms, half_width_pct: Of what is measured so far.
        elapsed_ms, limit_ms: Of the phase, and the most it can take.
        detail: What the phase is at: a step of a build.
        fraction: How much of it is done, 0…1.
    """

    phase: str
    samples: int = 0
    median_ms: float | None = None
    half_width_pct: float | None = None
    elapsed_ms: float | None = None
    limit_ms: float | None = None
    detail: str | None = None
    fraction: float | None = None


class Phase(Record, frozen=True, kw_only=True):
    """A named stretch of a job, measured on its own.

    Names used: ``cooldown``, ``process_start``, ``imports``, ``parse``, ``build``, ``convert``,
    ``infer_shapes``, ``cold_load``, ``cold_first_inference``, ``load``, ``first_inference``,
    ``warm_up``, ``steady_state``, ``telemetry``, ``layer_profile``, ``compile_model``,
    ``session_from_model``, ``session_from_compiled``.
    """

    name: str
    duration_ms: float


#: The tag of a comparison's runs: this and the comparison's id.
COMPARISON_TAG = "cmp-"


def side_label(place: int) -> str:
    """Return the label of a side by its place, from 0: A … Z, AA, BB …"""
    times, rest = divmod(place, len(ascii_uppercase))
    return ascii_uppercase[rest] * (times + 1)


def side_number(label: str) -> int:
    """Return the place of a side by its label, from 0; see `side_label`."""
    return ascii_uppercase.index(label[0]) + len(ascii_uppercase) * (len(label) - 1)


class RoundPlan(Record, frozen=True, kw_only=True):
    """What an interleaved comparison was started with; who continues it keeps this.

    Attributes:
        rounds: Maximum number of rounds, before anything was continued.
        threshold_pct, across: As `CompareConfig` has them.
    """

    rounds: int
    threshold_pct: float
    across: tuple[str, ...] = ()


class RoundPosition(Record, frozen=True, kw_only=True):
    """One process of an interleaved comparison.

    Attributes:
        comparison: Hexadecimal; the same for every process of it.
        side: ``"A"``, ``"B"``, …
        round: From 0; every side has one process in each.
        place: From 0: the order within the round, drawn by the seed.
        attempt: From 0; above that the process before it failed or was disturbed.
        plan: ``None``: the comparison cannot be continued.
    """

    comparison: str
    side: str
    round: int
    place: int
    attempt: int = 0
    plan: RoundPlan | None = None
