"""Runs are read by several threads at once, also by the first eight of a fresh process."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from enginescope.core import sidecar
from enginescope.store.archive import Store
from tests.store.stored_runs import a_run

THREADS = 8
PROCESSES = 6
#: Threads take turns as often as they can, so that a race is lost in most processes and not in few.
SCRIPT = """
import pathlib, sys, threading
import enginescope.store.run_folder
from enginescope.store.archive import Store
sys.setswitchinterval(1e-6)
store, begin, failed = Store(pathlib.Path(sys.argv[1])), threading.Barrier(int(sys.argv[2])), []
def read(run_id):
    begin.wait()
    try:
        store.load_id(run_id)
    except BaseException as error:
        failed.append(repr(error))
threads = [threading.Thread(target=read, args=(f"run{n}",)) for n in range(int(sys.argv[2]))]
[one.start() for one in threads]
[one.join() for one in threads]
print(*failed)
"""


def filled(folder) -> Store:
    store = Store(folder)
    for number in range(THREADS):
        store.save(a_run(id=f"run{number}"))
    return store


def test_eight_cold_threads(tmp_path) -> None:
    filled(tmp_path)
    for _ in range(PROCESSES):
        command = [sys.executable, "-c", SCRIPT, str(tmp_path), str(THREADS)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr[-500:]


def test_headers_of_arrays_are_parsed_one_at_a_time(tmp_path, monkeypatch) -> None:
    store, now, most = filled(tmp_path), [], []
    real = np.lib.format.read_array_header_1_0
    sidecar._header_of.cache_clear()
    lock = threading.Lock()

    def parse(*given, **more):
        with lock:
            now.append(1)
            most.append(len(now))
        time.sleep(0.01)
        with lock:
            now.pop()
        return real(*given, **more)

    monkeypatch.setattr(np.lib.format, "read_array_header_1_0", parse)
    with ThreadPoolExecutor(THREADS) as pool:
        assert len(list(pool.map(store.load_id, store.ids()))) == THREADS
    assert max(most) == 1
