"""A side of ``enginescope judge --jsonl`` that measures itself."""

import json
import sys
import time


def work(size: int) -> float:
    """Return what is timed."""
    return sum(1 / number for number in range(1, size))


def main(size: int) -> None:
    """Warm up, measure for as long as it is asked to, and print the samples."""
    print(json.dumps({"type": "hello", "name": f"python, size {size}"}))
    wanted = json.loads(sys.stdin.readline())
    work(size)
    times = []
    end = time.perf_counter() + wanted["seconds"]
    while time.perf_counter() < end:
        begin = time.perf_counter_ns()
        work(size)
        times.append((time.perf_counter_ns() - begin) / 1e3)
    print(json.dumps({"type": "samples", "values": times, "unit": "us"}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
