"""Cells one after another, or side by side where they cannot disturb each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from enginescope.core.errors import UsageError
from enginescope.model.suite import Cell, CellRow
from enginescope.probe.affinity import children_pinned_to, siblings, usable_processors
from enginescope.runner.isolate import kill_running
from enginescope.runner.job_gpus import gpu_index
from enginescope.runner.suite_cell import on_cores

#: Does a cell that is bound to these processors; the second is its lane, from 0.
Do = Callable[[Cell, int], CellRow]
#: Lanes: the logical processors of each; one that is empty has all.
Lanes = Sequence[tuple[int, ...]]
_WAIT_S = 0.2


def lanes_for(count: int) -> tuple[tuple[int, ...], ...]:
    """Return the processors of so many lanes, in which cells do not share a physical core.

    Raises
    ------
    UsageError
        There are fewer physical cores to use.
    """
    if count == 1:
        return ((),)
    usable = usable_processors()
    if usable is None:
        raise UsageError(f"--jobs {count}", why="this system pins no process to processors")
    cores = sorted({tuple(set(siblings(one)) & set(usable)) or (one,) for one in usable})
    if count > len(cores):
        raise UsageError(
            f"--jobs {count}",
            why=f"there are {len(cores)} physical cores to use here, and no two cells share one",
            hint=f"--jobs {len(cores)}",
        )
    each = len(cores) // count
    groups = [cores[at * each : (at + 1) * each] for at in range(count)]
    return tuple(tuple(sorted(one for core in group for one in core)) for group in groups)


def run_cells(
    cells: Sequence[Cell], do: Do, lanes: Lanes = ((),), stopped: threading.Event | None = None
) -> None:
    """Do every cell once, in order as far as lanes and GPUs are free.

    Never two cells on one GPU, nor two on the same cores; a cell that asks to be alone waits for
    the others.

    Parameters
    ----------
    stopped : Event, optional
        Set before the workers of other lanes are killed: what then comes of them is no outcome.

    Raises
    ------
    Exception
        What `do` raises first.
    """
    if len(lanes) == 1:
        for cell in cells:
            do(on_cores(cell, lanes[0]), 0)
        return
    _Lanes(cells, do, stopped or threading.Event()).run(lanes)


class _Lanes:
    """Threads that take cells until none is left."""

    def __init__(self, cells: Sequence[Cell], do: Do, stopped: threading.Event) -> None:
        together = [one for one in cells if not one.needs.exclusive]
        self._left = [*together, *(one for one in cells if one.needs.exclusive)]
        self._do = do
        self._change = threading.Condition()
        self._running: list[Cell] = []
        self._error: BaseException | None = None
        self._stopped = stopped

    def run(self, lanes: Lanes) -> None:
        threads = [
            threading.Thread(target=self._lane, args=(number, cores), daemon=True)
            for number, cores in enumerate(lanes)
        ]
        for one in threads:
            one.start()
        try:
            while any(one.is_alive() for one in threads) and self._error is None:
                threads[0].join(_WAIT_S)
                if not threads[0].is_alive():
                    with self._change:
                        self._change.wait(_WAIT_S)
        except BaseException as error:  # Ctrl-C comes to this thread alone
            self._stop(error)
            raise
        finally:
            for one in threads:
                while one.is_alive():
                    if self._error is not None:
                        kill_running()  # again: a lane may have been about to start one
                    one.join(_WAIT_S)
        if self._error is not None:
            raise self._error

    def _stop(self, error: BaseException) -> None:
        with self._change:
            self._error = self._error or error
            self._stopped.set()
            self._change.notify_all()

    def _lane(self, number: int, cores: tuple[int, ...]) -> None:
        while (cell := self._take()) is not None:
            try:
                # what it starts besides the measurement, a build or answers, stays there too
                with children_pinned_to(cores):
                    self._do(on_cores(cell, cores), number)
            except BaseException as error:  # noqa: BLE001 - the main thread raises it
                self._stop(error)
                return
            finally:
                with self._change:
                    self._running.remove(cell)
                    self._change.notify_all()

    def _take(self) -> Cell | None:
        """Return the next cell that nothing running disturbs; ``None``: there is none left."""
        with self._change:
            while self._left and self._error is None:
                fitting = next((one for one in self._left if self._is_free(one)), None)
                if fitting is not None:
                    self._left.remove(fitting)
                    self._running.append(fitting)
                    return fitting
                self._change.wait(_WAIT_S)
        return None

    def _is_free(self, cell: Cell) -> bool:
        if any(one.needs.exclusive for one in self._running):
            return False
        if cell.needs.exclusive:
            return not self._running
        gpu = gpu_index(cell.job)
        return gpu is None or all(gpu_index(one.job) != gpu for one in self._running)
