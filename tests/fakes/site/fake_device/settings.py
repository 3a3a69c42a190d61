"""What tests steer the fakes with: environment variables, read when they matter."""

import os
import resource
import signal
import sys

#: Every fault there is: a misspelt one must not pass for a run without faults.
FAULTS = {
    *("graph_refused", "oom_engine", "oom_context", "oom_buffer", "build_fails"),
    *("execute_fails", "illegal_address", "no_stream_waits", "plugin_missing"),
    *("no_gpu", "no_driver", "crash_build", "crash_run"),
}


def faulty(name: str) -> bool:
    """Whether ``FAKE_TENSORRT_FAULT`` (a list with commas) names the fault."""
    assert name in FAULTS, name
    wanted = {one for one in os.environ.get("FAKE_TENSORRT_FAULT", "").split(",") if one}
    if wanted - FAULTS:
        raise ValueError(f"FAKE_TENSORRT_FAULT: no such fault: {sorted(wanted - FAULTS)}")
    return name in wanted


def compute_ns() -> int:
    """Return how long an inference takes, ``FAKE_TENSORRT_COMPUTE_US`` (200)."""
    return int(float(os.environ.get("FAKE_TENSORRT_COMPUTE_US", "200")) * 1000)


def event_ns() -> int:
    """Return what the profiler adds to each layer, ``FAKE_TENSORRT_EVENT_US`` (0)."""
    return int(float(os.environ.get("FAKE_TENSORRT_EVENT_US", "0")) * 1000)


def total_bytes() -> int:
    """Return the device's memory, ``FAKE_CUDA_MEMORY_BYTES`` (16 GiB)."""
    return int(os.environ.get("FAKE_CUDA_MEMORY_BYTES", str(16 << 30)))


def device_count() -> int:
    """Return how many GPUs there are, ``FAKE_CUDA_DEVICES`` (1)."""
    return int(os.environ.get("FAKE_CUDA_DEVICES", "1"))


def crash() -> None:
    """End this process by SIGSEGV, without a core file."""
    sys.stdout.flush()
    sys.stderr.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)
