"""How far an output may be from its reference: limits by the precision it was computed in."""

import math
from collections.abc import Iterable, Mapping

from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.core.suggest import did_you_mean
from enginescope.records.suite.suite import Checking


class Tolerance(Record, frozen=True, kw_only=True):
    """Limits for one output; all of them must hold. `error_limits` applies them.

    Attributes:
        name: Row in `TOLERANCES`; ``"given"`` for a user's own limits.
        error_to_spread: Largest RMSE ÷ spread (standard deviation) of the reference, over all
            elements.
        peak_to_spread: Largest |error| of one element ÷ spread, or ÷ a quarter of the range where
            few elements carry the spread.
        channel_error: Largest RMSE ÷ size (root mean square) of one channel of the reference.
        resolution: Error ÷ range that rounding alone explains: a few units in the last place of the
            range.
        systematic_slope: Largest distance of the factor between both sides from 1 where nearly all
            of the error is that factor: rounding scatters, a wrong scale does not.
        rtol, atol, atol_to_spread: An element mismatches beyond ``atol + atol_to_spread·spread +
            rtol·|reference|``.
        mismatch_pct: Largest share of elements that mismatch; ``None``: they are counted, not
            judged.
        unequal_pct: Largest share of integers, truth values or texts that differ.
        percent: Elements whose relative error is beyond it are counted, not judged.
    """

    name: str
    error_to_spread: float | None
    peak_to_spread: float | None
    channel_error: float | None = None
    resolution: float = 0.0
    systematic_slope: float | None = 0.003
    rtol: float
    atol: float = 0.0
    atol_to_spread: float
    mismatch_pct: float | None = None
    unequal_pct: float = 0.0
    percent: float = 1.0

    @property
    def is_given(self) -> bool:
        """Whether a user's limits for elements decide."""
        return self.error_to_spread is None


def _row(name: str, error: float, peak: float, channel: float, resolution: float) -> Tolerance:
    return Tolerance(
        name=name,
        error_to_spread=error,
        peak_to_spread=peak,
        channel_error=channel,
        resolution=resolution,
        systematic_slope=min(0.003, error),
        rtol=3 * error,
        atol_to_spread=3 * error,
    )


#: Widest last; docs/contributing/validation-evidence.md derives the figures.
TOLERANCES: dict[str, Tolerance] = {
    row.name: row
    for row in (
        _row("exact", 0.0, 0.0, 0.0, 0.0),
        _row("fp64", 1e-10, 1e-8, 1e-9, 1e-15),
        _row("fp32", 1e-4, 1e-2, 1e-3, 5e-7),
        _row("tf32", 0.01, 0.25, 0.05, 2e-3),
        _row("fp16", 0.01, 0.25, 0.05, 2e-3),
        _row("bf16", 0.06, 1.0, 0.25, 1.6e-2),
        _row("int8", 0.15, 2.0, 0.45, 2e-2),
        _row("fp8", 0.15, 2.0, 0.45, 3e-2),
        _row("fp4", 0.3, 3.0, 0.45, 0.1),
    )
}


class ToleranceOption(Record, frozen=True, kw_only=True):
    """``--rtol 1e-3`` or ``--rtol scores:1e-3``; `output` is ``None`` for all."""

    output: str | None
    value: float


class ToleranceRequest(Record, frozen=True, kw_only=True):
    """What a user asked for in place of the defaults."""

    rtol: tuple[ToleranceOption, ...] = ()
    atol: tuple[ToleranceOption, ...] = ()
    mismatch_pct: tuple[ToleranceOption, ...] = ()
    percent: float | None = None

    def outputs(self) -> set[str]:
        """Return the outputs that are named."""
        every = (*self.rtol, *self.atol, *self.mismatch_pct)
        return {one.output for one in every if one.output is not None}

    def in_place_of_rows(self) -> str | None:
        """Return ``rtol`` or ``atol``, where that leaves no output to a row of `TOLERANCES`."""
        given = {"rtol": self.rtol, "atol": self.atol}
        of_all = (name for name, each in given.items() if any(one.output is None for one in each))
        return next(of_all, None)


def request_of(checking: Checking) -> ToleranceRequest:
    """Return the limits that a suite asks for, each of all outputs."""

    def option(value: float | None) -> tuple[ToleranceOption, ...]:
        return () if value is None else (ToleranceOption(output=None, value=value),)

    return ToleranceRequest(
        rtol=option(checking.rtol),
        atol=option(checking.atol),
        mismatch_pct=option(checking.mismatch_pct),
    )


def tolerance_named(name: str) -> Tolerance:
    """Return a row of `TOLERANCES`."""
    found = TOLERANCES.get(name.lower())
    if found is None:
        raise UsageError(f"no tolerance is called {name!r}", hint=did_you_mean(name, TOLERANCES))
    return found


def widest(names: Iterable[str]) -> str:
    """Return the one of the names that allows most."""
    order = list(TOLERANCES)
    return max(names, key=order.index, default="fp32")


def tolerance_for(output: str, base: Tolerance, asked: ToleranceRequest) -> Tolerance:
    """Return the limits for one output: `base`, or what was asked for.

    A given ``rtol``, ``atol`` or mismatch percentage takes the place of every default limit: who
    states a tolerance has decided what is good enough. What is not given of the three is 0.
    """
    rtol, atol = _last(asked.rtol, output), _last(asked.atol, output)
    pct = _last(asked.mismatch_pct, output)
    if asked.percent is not None:
        base = replace(base, percent=asked.percent)
    if rtol is None and atol is None and pct is None:
        return base
    if rtol is None and atol is None:  # the row's limits stay, and mismatches are judged too
        return replace(base, mismatch_pct=pct or 0.0, unequal_pct=pct or 0.0)
    return Tolerance(
        name="given",
        error_to_spread=None,
        peak_to_spread=None,
        systematic_slope=None,
        rtol=rtol or 0.0,
        atol=atol or 0.0,
        atol_to_spread=0.0,
        mismatch_pct=pct or 0.0,
        unequal_pct=pct or 0.0,
        percent=base.percent,
    )


def _last(options: Iterable[ToleranceOption], output: str) -> float | None:
    """Return the last value for an output; one that names it before one for all."""
    by_name: Mapping[str | None, float] = {option.output: option.value for option in options}
    return by_name.get(output, by_name.get(None))


def parse_tolerance(text: str) -> ToleranceOption:
    """Return ``1e-3`` or ``NAME:1e-3``; the last colon splits, since names may hold some."""
    name, colon, number = text.rpartition(":")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0) or (colon and not name):
        raise UsageError(f"{text!r} is not a tolerance", hint="as in 1e-3, or scores:1e-3")
    return ToleranceOption(output=name if colon else None, value=value)
