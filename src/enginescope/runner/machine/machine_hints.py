"""What would make figures from this machine steadier, and the command that does it."""

import os
from collections.abc import Iterator

from enginescope.probe.clock import is_left_behind
from enginescope.probe.host import quota_files, read_quota, steal_pct_since_boot
from enginescope.probe.nvml import persistence_enabled, reset_command
from enginescope.records.environment import Environment, Host
from enginescope.records.notice import Hint

_BOOST_OFF = (
    "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo "
    "(AMD: echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost)"
)
#: Shares since the machine, or the container, was started; below these it hardly matters.
_STEAL_PCT = 1.0
_THROTTLED_PCT = 1.0
_LOAD = 0.5


def machine_hints(environment: Environment) -> tuple[Hint, ...]:
    """Return what to do before measuring here, the weightiest first."""
    return (*_of_gpus(environment), *_of_processor(environment.host), *_of_packages(environment))


def _of_gpus(environment: Environment) -> Iterator[Hint]:
    for device in environment.devices:
        if device.uuid is None:
            continue
        if device.clock_lock is not None and is_left_behind(device.uuid):
            locked = f"{device.name} is still locked ({device.clock_lock})"
            message = f"{locked}: a run and its guard were killed"
            command = reset_command(device.uuid, device.clock_lock)
            yield Hint(code="H-CLOCKS-LEFT", message=message, command=command)
        elif device.clock_lock is None:
            right = "" if os.geteuid() == 0 else ", as root"
            message = f"{device.name} changes its clocks with heat and power: lock them{right}"
            yield Hint(code="H-CLOCKS", message=message, command="enginescope bench --lock-clocks")
        if persistence_enabled(device.uuid) is False:
            unloads = "without a client the driver unloads, and the next load is slower"
            message = f"{device.name} has persistence mode off: {unloads}"
            command = f"sudo nvidia-smi -i {device.uuid} -pm 1"
            yield Hint(code="H-PERSISTENCE", message=message, command=command)


def _of_processor(host: Host) -> Iterator[Hint]:
    if host.governor not in (None, "performance"):
        message = f"the CPU governor is {host.governor}, which lowers clocks between requests"
        command = "sudo cpupower frequency-set -g performance"
        yield Hint(code="H-GOVERNOR", message=message, command=command)
    if host.load_1min is not None and host.load_1min > _LOAD:
        message = f"load average is {host.load_1min:.1f}: end other work before measuring"
        yield Hint(code="H-LOAD", message=message, command="top -o %CPU")
    share = steal_pct_since_boot()
    if share is not None and share >= _STEAL_PCT:
        message = f"the hypervisor has stolen {share:.1f} % of the CPU time since boot"
        yield Hint(code="H-STEAL", message=f"{message}: use a machine with dedicated cores")
    quotas = (quota for file in quota_files() if (quota := read_quota(file)) and quota.periods)
    stopped_pct = max((100 * one.throttled_periods / one.periods for one in quotas), default=0.0)
    if stopped_pct >= _THROTTLED_PCT:
        stopped = f"the container's CPU quota stopped it in {stopped_pct:.0f} % of its periods"
        message = f"{stopped}: give it whole cores without a quota"
        command = "docker run --cpuset-cpus 0-3 instead of --cpus 4"
        yield Hint(code="H-CPU-QUOTA", message=message, command=command)
    if host.boost:
        message = "CPU boost is on: clocks depend on heat and on what other cores do"
        yield Hint(code="H-BOOST", message=message, command=_BOOST_OFF)
    if host.smt:
        yield Hint(
            code="H-SMT",
            message="two threads share a physical core (SMT): keep jobs to one thread of each",
            command="lscpu -e, then enginescope bench --pin CORES; or echo off | sudo tee "
            "/sys/devices/system/cpu/smt/control",
        )


def _of_packages(environment: Environment) -> Iterator[Hint]:
    if {"onnxruntime", "onnxruntime-gpu"} <= environment.versions.keys():
        message = "onnxruntime and onnxruntime-gpu are both installed and overwrite each other"
        command = "pip uninstall onnxruntime onnxruntime-gpu; pip install onnxruntime-gpu"
        yield Hint(code="H-TWO-ONNXRUNTIMES", message=message, command=command)
