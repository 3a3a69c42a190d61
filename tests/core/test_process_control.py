import gc
import signal
import threading

import pytest

from enginescope.core.process_control import PeriodicThread, deferred_signals, gc_paused


@pytest.fixture
def ends_on_term():
    """SIGTERM raises `SystemExit`, as in the command line."""

    def leave(number, _frame):
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    yield leave
    assert signal.getsignal(signal.SIGTERM) is leave
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)]
)
@pytest.mark.usefixtures("ends_on_term")
def test_the_block_ends_before_the_signal_acts(number, error) -> None:
    sent = []

    @deferred_signals()
    def send() -> None:
        with deferred_signals():
            signal.raise_signal(number)
        sent.append(number)

    with pytest.raises(error):
        send()
    assert sent == [number]


@pytest.mark.usefixtures("ends_on_term")
def test_a_second_signal_acts_at_once() -> None:
    signals = iter([signal.SIGTERM, signal.SIGINT, signal.SIGINT])

    @deferred_signals()
    def send() -> None:
        for number in signals:
            signal.raise_signal(number)

    with pytest.raises(KeyboardInterrupt):
        send()
    assert list(signals) == [signal.SIGINT]  # the third was never sent


def test_a_signal_without_a_handler_of_ours_is_left_alone() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with deferred_signals():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    signal.signal(signal.SIGHUP, before)


def test_another_thread_defers_nothing(ends_on_term) -> None:
    seen = []

    def in_thread() -> None:
        with deferred_signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    assert seen == [ends_on_term]


def test_a_periodic_call_is_done_at_once_and_again_until_it_is_stopped() -> None:
    done: list[threading.Thread] = []
    often = threading.Event()

    def do() -> None:
        done.append(threading.current_thread())
        if len(done) == 3:
            often.set()

    one = PeriodicThread(do, 0.001)
    one.start()
    assert often.wait(30)
    one.stop()
    assert len(done) >= 3
    assert set(done) != {threading.current_thread()}
    assert all(not thread.is_alive() for thread in done)


def test_the_first_call_may_come_an_interval_later_or_never() -> None:
    done: list[int] = []
    one = PeriodicThread(lambda: done.append(1), 600.0, waits_first=True)
    one.start()
    one.stop()
    assert done == []
    PeriodicThread(lambda: None, 1.0).stop()


def test_stop_waits_for_the_call_that_is_under_way() -> None:
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def do() -> None:
        begun.set()
        may_end.wait(30)
        ended.set()

    one = PeriodicThread(do, 600.0)
    one.start()
    assert begun.wait(30)
    threading.Timer(0.05, may_end.set).start()
    one.stop()
    assert ended.is_set()


def test_garbage_collection_is_off_in_the_block_and_as_before_after_it() -> None:
    assert gc.isenabled()
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="boom"), gc_paused():
        raise ValueError("boom")
    assert gc.isenabled()
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
