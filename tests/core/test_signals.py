import signal
import threading

import pytest

from enginescope.core.process_control import deferred_signals


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
