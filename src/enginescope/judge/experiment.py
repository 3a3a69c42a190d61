"""Run rounds: every side is measured once a round, in an order drawn for each, and recorded.

What drifts from minute to minute, and what two processes of the same work differ by, meets all
sides alike. A measurement that failed, or whose median is hardly known, is taken again at once;
both are kept. When to stop is asked after certain rounds and at no other time, since each look is a
chance to be wrong (`comparison.ratio`).

No other module measures in rounds or draws an order of sides.

A line that a kill cut off is dropped when the experiment is continued.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Generic, TypeVar

import numpy as np

from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS, Tally
from enginescope.judge.comparison.ratio import ratio_of_counting_rounds
from enginescope.judge.comparison.steady_rounds import disturbance_limit_pct, uncertainty_pct
from enginescope.judge.errors import UsageError
from enginescope.judge.samples import Array
from enginescope.judge.verdict import VerdictKind

S = TypeVar("S")

#: One measurement in so many may be taken again because it failed or was disturbed.
SPARE_SHARE = 4
#: A side of which so many measurements in a row failed is given up, and the experiment with it.
GIVE_UP_AFTER = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The place of a measurement in an experiment.

    Attributes:
        side: Number of the side, from 0.
        round: From 0.
        place: In the order of its round, from 0.
        attempt: From 0; above that the measurement before it failed or was disturbed.
    """

    side: int
    round: int
    place: int
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured(Generic[S]):
    """What one measurement of a side gave.

    Attributes:
        source: What the caller keeps of it: a stored run, an exit status.
        values: Samples in the order they were taken, all of one unit; ``None``: it failed. Without
            any, the measurement counts and nothing is known of its steadiness.
        failure: Why it failed.
        is_final: Whether another attempt would fail as well.
    """

    source: S
    values: Array | None
    failure: str | None = None
    is_final: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry(Generic[S]):
    """One row of the table of an experiment.

    Attributes:
        seconds: Wall time of the measurement, starting it included; ``None``: of a recorded one.
        uncertainty_pct: What the median is known to, ±; ``None`` without enough samples.
    """

    position: Position
    measured: Measured[S]
    seconds: float | None = None
    uncertainty_pct: float | None = None

    @property
    def is_measured(self) -> bool:
        """Whether the measurement did not fail."""
        return self.measured.values is not None

    @property
    def values(self) -> Array:
        """The samples of a measurement that did not fail."""
        assert self.measured.values is not None
        return self.measured.values


class Ended(Enum):
    """Why an experiment ended."""

    DECIDED = "decided"
    LAST_LOOK = "last look"
    VAIN = "the rounds that are left would not settle it"
    LATE = "the maximum time is over"
    GIVEN_UP = "a side failed"
    INTERRUPTED = "interrupted"


class Standing(Enum):
    """The answer at a look."""

    GO_ON = "go on"
    DECIDED = "decided"
    VAIN = "vain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules(Generic[S]):
    """When an experiment ends.

    Attributes:
        looks: Numbers of rounds that count after which `stands` is asked; it ends with the last.
        stands: The standing of the table so far.
        is_vain: Asked after the first whole round: whether no number of rounds would tell anything.
        max_time_s: No round begins that would probably end later; ``None``: no limit.
        min_rounds: So many rounds are measured whatever the time.
    """

    looks: tuple[int, ...] = LOOKS
    stands: Callable[[Experiment[S]], Standing] = lambda _experiment: Standing.GO_ON
    is_vain: Callable[[Experiment[S]], bool] = lambda _experiment: False
    max_time_s: float | None = None
    min_rounds: int = 1


class Experiment(Generic[S]):
    """Measures sides in rounds, and keeps the table of all measurements.

    Args:
        sides: Number of sides.
        measure: Takes one measurement; what it raises ends the experiment.
        seed: Of the orders.
        spare: How many measurements may be taken again; by default a quarter of those of the last
            look.
        retries: How often each may.
        recorded: The table of an experiment to continue.
    """

    def __init__(
        self,
        sides: int,
        measure: Callable[[Position], Measured[S]],
        *,
        seed: int = 0,
        spare: int | None = None,
        retries: int = 1,
        recorded: Sequence[Entry[S]] = (),
    ) -> None:
        if sides < 1:
            raise UsageError("an experiment without sides", hint="name two or more")
        self.sides = sides
        self.table: list[Entry[S]] = []
        self.ended: Ended | None = None
        self.interruption: BaseException | None = None
        self._measure, self._spare, self._retries = measure, spare, retries
        self._draw = random.Random(seed)  # noqa: S311 - an order to be repeated, no secret
        self._rounds: list[dict[int, Entry[S]]] = []
        for _ in range(1 + max((entry.position.round for entry in recorded), default=-1)):
            self._next_order(range(sides))  # as it was drawn then
        for entry in recorded:
            self._keep(entry.position, entry.measured, entry.seconds)

    def run(self, rules: Rules[S], watch: Callable[[Tally], None] = lambda _tally: None) -> Ended:
        """Measure rounds until the rules end it; an interrupt ends it too.

        Args:
            watch: Gets the tally after every round.

        Raises:
            KeyboardInterrupt, SystemExit: Before the first whole round; there is no answer then.
        """
        self.ended = self._recorded_end(rules)
        if self.ended is not None:
            return self.ended
        tally = self.tally(rules.looks)
        if self._spare is None:
            self._spare = max(1, rules.looks[-1] * self.sides // SPARE_SHARE)
        begin = perf_counter()
        while True:
            try:
                self.run_round()
                tally.add(self._uncertainties(self._rounds[-1]))
                watch(tally)
                self.ended = self._ended(rules, tally) or self._late(rules, begin)
            except (KeyboardInterrupt, SystemExit) as error:
                if not self.whole_rows():
                    raise
                self.ended, self.interruption = Ended.INTERRUPTED, error
            if self.ended is not None:
                return self.ended

    def run_round(
        self, active: Sequence[int] | None = None, deadline: float | None = None
    ) -> dict[int, Entry[S]]:
        """Measure every side of `active` once more; return the entry that stands for each.

        Args:
            active: Numbers of the sides; by default all.
            deadline: On the performance counter. Nothing is returned of a round that it cuts off.
        """
        order = self._next_order(range(self.sides) if active is None else active)
        for place, side in enumerate(order):
            if place and deadline is not None and perf_counter() > deadline:
                return {}
            self._settle(side, place)
        return self._rounds[-1]

    def tally(self, looks: tuple[int, ...]) -> Tally:
        """Return where the table so far stands, all its looks taken."""
        tally = Tally(looks)
        for row in self._rounds:
            if len(row) == self.sides:
                tally.add(self._uncertainties(row))
        tally.take_look()
        return tally

    def whole_rows(self) -> list[tuple[Entry[S], ...]]:
        """Return the rounds in which every side has a measurement: the last attempt of each."""
        whole = (row for row in self._rounds if len(row) == self.sides)
        return [tuple(row[side] for side in range(self.sides)) for row in whole]

    def is_obvious(self) -> bool:
        """Whether a side differs from the first by a factor that few rounds show."""
        rows = self.whole_rows()
        rows = [row for row in rows if all(each.is_measured and len(each.values) for each in row)]
        sides = list(zip(*rows, strict=True))
        medians = [[float(np.median(entry.values)) for entry in side] for side in sides]
        known = [[entry.uncertainty_pct for entry in side] for side in sides]
        others = zip(medians[1:], known[1:], strict=True)
        pairs = [((medians[0], one), (known[0], pct)) for one, pct in others]
        ratios = (ratio_of_counting_rounds(*pair, confidence=LOOK_CONFIDENCE)[0] for pair in pairs)
        return any(ratio.interval is not None for ratio in ratios)

    def left_s(self, looks: tuple[int, ...], counting: int) -> tuple[float, float] | None:
        """Return the seconds that are probably left until the next look, and until the last.

        ``None`` before the first round has ended.
        """
        every = ([entry.seconds for entry in row.values()] for row in self._rounds)
        known = ([time for time in times if time is not None] for times in every)
        round_times = [sum(times) for times in known if times]
        if not round_times:
            return None
        round_s = median(round_times)
        ahead = [look - counting for look in looks if look > counting] or [0]
        return ahead[0] * round_s, ahead[-1] * round_s

    def rows(self) -> list[dict[int, Entry[S]]]:
        """Return the rounds so far: side -> its entry that stands."""
        return [row for row in self._rounds if row]

    def _recorded_end(self, rules: Rules[S]) -> Ended | None:
        """Return how the recorded rounds ended, all their looks taken again; ``None``: not yet."""
        before: Experiment[S] = Experiment(self.sides, self._measure)
        tally, ended = Tally(rules.looks), None
        for number, row in enumerate(self._rounds):
            before._rounds.append(row)
            before.table += [entry for entry in self.table if entry.position.round == number]
            if len(row) == self.sides:
                tally.add(self._uncertainties(row))
                ended = before._ended(rules, tally)
        return ended

    def of_side(self, side: int) -> tuple[S, ...]:
        """Return the sources of all measurements of a side, in order."""
        return tuple(one.measured.source for one in self.table if one.position.side == side)

    def _uncertainties(self, row: dict[int, Entry[S]]) -> list[float | None] | None:
        """Return what the medians of a round are known to; ``None`` where a side failed."""
        if any(entry.measured.values is None for entry in row.values()):
            return None
        return [row[side].uncertainty_pct for side in sorted(row)]

    def _next_order(self, active: Sequence[int]) -> list[int]:
        """Return the order of a new round, drawn whatever that of the rounds before was.

        Without a difference, either sign of a round's difference is then equally likely, whatever
        the signs of the others are and however the machine wanders; the test of ranks needs that.
        In balanced blocks, neighbors lean one way: ``benchmarks/statistics/wandering.py``.
        """
        self._rounds.append({})
        return self._draw.sample(list(active), len(active))

    def _settle(self, side: int, place: int) -> None:
        """Measure a side; again where that failed or was disturbed."""
        number = len(self._rounds) - 1
        for attempt in range(self._retries + 1):
            position = Position(side=side, round=number, place=place, attempt=attempt)
            begin = perf_counter()
            measured = self._measure(position)
            seconds = perf_counter() - begin
            entry = self._keep(position, measured, seconds)
            if not self._spare or not self._is_unsettled(entry):
                return
            self._spare -= 1

    def _keep(self, position: Position, measured: Measured[S], seconds: float | None) -> Entry[S]:
        values = measured.values
        pct = uncertainty_pct(values) if values is not None and len(values) else None
        entry = Entry(position=position, measured=measured, seconds=seconds, uncertainty_pct=pct)
        self.table.append(entry)
        self._rounds[position.round][position.side] = entry
        return entry

    def _is_unsettled(self, entry: Entry[S]) -> bool:
        if entry.measured.values is None:
            return not entry.measured.is_final
        rows = map(self._uncertainties, self._rounds[:-1])
        limit = disturbance_limit_pct([row for row in rows if row])
        return (entry.uncertainty_pct or 0.0) > limit

    def _ended(self, rules: Rules[S], tally: Tally) -> Ended | None:
        if any(
            is_hopeless([entry.measured for entry in self.table if entry.position.side == side])
            for side in range(self.sides)
        ):
            return Ended.GIVEN_UP
        if self._uncertainties(self._rounds[-1]) is not None:
            if tally.complete == 1 and rules.is_vain(self):
                return Ended.VAIN
            if tally.take_look() and (not tally.is_early or self.is_obvious()):
                standing = rules.stands(self)
                if standing is not Standing.GO_ON:
                    return Ended.DECIDED if standing is Standing.DECIDED else Ended.VAIN
        return Ended.LAST_LOOK if tally.is_over else None

    def _late(self, rules: Rules[S], begin: float) -> Ended | None:
        if rules.max_time_s is None or len(self._rounds) < rules.min_rounds:
            return None
        last = sum(entry.seconds or 0.0 for entry in self._rounds[-1].values())
        return Ended.LATE if perf_counter() - begin + last > rules.max_time_s else None


def is_hopeless(measured: Sequence[Measured[S]]) -> bool:
    """Whether the last measurements of a side failed, or one of them failed for good."""
    if any(one.is_final for one in measured[-1:]):
        return True
    failed = [one.values is None for one in measured[-GIVE_UP_AFTER:]]
    return len(failed) == GIVE_UP_AFTER and all(failed)


def standing(kind: VerdictKind) -> Standing:
    """Return the standing of an experiment whose only answer is of this kind."""
    return Standing.GO_ON if kind is VerdictKind.INCONCLUSIVE else Standing.DECIDED


class Journal:
    """Appends JSON lines to a file; what `append` has returned of is on the disk.

    Args:
        header: What identifies the experiment; a file that exists must have the same.

    Attributes:
        rows: What the file had when it was opened, without the header.

    Raises:
        UsageError: The file is of another experiment, or not such a file.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path = path
        self.rows: tuple[dict[str, Any], ...] = ()
        if not path.exists() or not path.stat().st_size:
            path.write_text("", encoding="utf-8")
            self.append(header)
            return
        if not (rows := list(_lines(path))):
            raise UsageError(f"{path} is not a file of an experiment", hint="name another file")
        first = rows[0]
        if differing := [key for key in header if first.get(key) != header[key]]:
            key = differing[0]
            raise UsageError(
                f"{path} has another experiment",
                why=f"{key} was {first.get(key)!r} and is {header[key]!r}",
                hint="name another file, or ask for the same again",
            )
        self.rows = tuple(rows[1:])

    def append(self, row: dict[str, Any]) -> None:
        """Write a line, and wait until it is on the disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the whole lines of a file, and cut off what follows the first broken one."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror) from error
    whole = 0
    for line in data.splitlines(keepends=True):
        try:
            row = json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            break
        whole += len(line)
        yield row
    if whole and whole < len(data):
        os.truncate(path, whole)
