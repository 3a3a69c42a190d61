"""What a reading verb was given, with what is to be said of it on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from enginescope.plan_source import NOTHING_BESIDE, Beside, PlanSource

if TYPE_CHECKING:
    from enginescope.plan_source import Say
    from enginescope.store.location import StorePlace


def plan_source(
    what: str, beside: Beside = NOTHING_BESIDE, *, store_folder: StorePlace | None = None
) -> PlanSource:
    """Return the one engine that `what` stands for; see `enginescope.plan_sources`."""
    from enginescope.plan_sources import plan_source as found

    with saying() as say:
        return found(what, beside, store_folder=store_folder, say=say)


def plan_sources(
    what: str, beside: Beside = NOTHING_BESIDE, *, store_folder: StorePlace | None = None
) -> tuple[PlanSource, ...]:
    """Return the engines with a plan that `what` stands for."""
    from enginescope.plan_sources import plan_sources as found

    with saying() as say:
        return found(what, beside, store_folder=store_folder, say=say)


def sources(
    what: str, beside: Beside = NOTHING_BESIDE, *, store_folder: StorePlace | None = None
) -> tuple[PlanSource, ...]:
    """Return all that `what` stands for."""
    from enginescope.plan_sources import sources as found

    with saying() as say:
        return found(what, beside, store_folder=store_folder, say=say)


@contextmanager
def saying() -> Iterator[Say]:
    """Give what says something on standard error; in the block a signal ends things in order.

    TensorRT may be asked in a process of its own, and an archive is unpacked for the time.
    """
    from enginescope.cli.options import note
    from enginescope.cli.termination import ending_in_order

    with ending_in_order():
        yield note
