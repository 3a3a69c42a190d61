"""The mutation fuzz: ``python -m tests.fuzz [--seconds 60] [--count N] [--seed 36] [--first N]``.

Each case is drawn from the seed and its number, so that one can be run again alone. Ends with 1
after a traceback, a case over five seconds, or a process over 1 GiB.
"""

import argparse
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from tests.fuzz.mutations import mutated, with_odd_fields
from tests.fuzz.targets import Target, models, seeds

#: No case takes longer.
LONGEST_S = 5
MOST_BYTES = 1 << 30


class Failure(NamedTuple):
    number: int
    target: str
    text: str


class Fuzz:
    """Cases by number; see the module.

    Args:
        folder: To write files to.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._seed = seed
        self.outcomes, found = (target := Target(folder)).outcomes, seeds()
        foreign = found["foreign"]
        self._others = foreign
        #: Target, its sound files, how often it is drawn.
        self._rooms: tuple[tuple[str, Callable[[bytes], None], list[bytes], int], ...] = (
            ("foreign", target.foreign, foreign, 70),
            ("screens", target.screens, foreign, 3),
            ("suite", target.suite, found["suite"], 4),
            ("run", target.run, list(target.runs.values()), 4),
            ("database", target.database, [target.index], 2),
            ("model", target.model, list(models()), 4),
            ("session", target.session, list(models()), 4),
        )

    def case(self, number: int) -> tuple[str, Callable[[], None], bytes]:
        chance = random.Random(f"{self._seed}-{number}")
        name, act, sound, _ = chance.choices(self._rooms, [weight for *_, weight in self._rooms])[0]
        data = chance.choice(sound)
        if name in ("model", "session") and chance.random() < 0.8:
            data = with_odd_fields(data, chance)
        else:
            data = mutated(data, chance, self._others)
        return name, lambda: act(data), data

    def failures(self, numbers: Iterator[int], counts: Counter[str]) -> Iterator[Failure]:
        for number in numbers:
            name, act, _ = self.case(number)
            counts[name] += 1
            started = time.process_time()  # a busy machine is no fault of the case
            signal.alarm(LONGEST_S * 4)
            try:
                act()
            except Exception:  # noqa: BLE001 - whatever it is, it is a finding
                yield Failure(number, name, traceback.format_exc())
            finally:
                signal.alarm(0)
            took = time.process_time() - started
            if took > LONGEST_S:
                yield Failure(number, name, f"it took {took:.1f} s")


def numbers(first: int, count: int | None, seconds: float | None) -> Iterator[int]:
    """Yield numbers of cases until as many were, or the time is over."""
    end = time.monotonic() + seconds if seconds else None
    number = first
    while (count is None or number < first + count) and (end is None or time.monotonic() < end):
        yield number
        number += 1


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=36)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    seconds = asked.seconds if asked.seconds or asked.count else 60

    def late(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError("the case does not end")

    signal.signal(signal.SIGALRM, late)
    counts: Counter[str] = Counter()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        fuzz = Fuzz(Path(folder), asked.seed)
        for failure in fuzz.failures(numbers(asked.first, asked.count, seconds), counts):
            failed += 1
            print(f"case {failure.number} of seed {asked.seed} ({failure.target}):")
            print(failure.text, flush=True)
    peak = peak_bytes()
    kinds = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
    print(f"{sum(counts.values()):,} cases ({kinds}): {failed} failed; peak {peak >> 20} MiB")
    return int(failed > 0 or peak > MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main())
