import threading

from enginescope.core.process_control import PeriodicThread


def test_it_is_done_at_once_and_again_until_it_is_stopped() -> None:
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
