"""A commented example of a suite file."""

from __future__ import annotations

from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.core.jsonio import write_atomic
from enginescope.formats.suites.suite_file import SUITE_SUFFIXES

EXAMPLE = """\
# A suite: models × backends × batches × shapes. Run it with:  enginescope suite FILE
# Each combination is a cell, with one fresh process or several. Commented
# lines are defaults or examples. Relative paths start from this file, except in backend options.

[suite]
# name = "nightly"              # its folder and the tag of its runs; by default this file's name
models = ["onnx:light"]         # files, folders, patterns such as "zoo/**/*.onnx"; "onnx:light":
                                # nine models of the onnx package; "samples": two of ours
backends = ["ort-cpu"]          # as for --on: "ort-cuda:fp16", "trt:fp16?workspace=2GiB"
# precisions = ["default", "fp16"]  # each backend above without a precision, in each of these
# batches = [1, 8]              # of dynamic first dimensions; by default the model's own
# mode = "benchmark"            # "validate": compare outputs; "both": measure if they are correct
# input = "random"              # "dataset": the test_data_set_* folders beside the models
# baseline = "ort-cpu"          # baseline of the speed-up; by default each model's first backend
# include = ["resnet", "light_*"]   # names that contain or match one of these
# exclude = []
# layers = true                 # time layers in a pass of their own, for the share of each provider
# retries = 0                   # further attempts of a process that failed
# timeout = "10min"             # of one cell
# build_timeout = "2h"          # of building its engine
# memory_limit = "4GiB"         # of one cell; by default most of what is free
# seed = 0                      # of random inputs
# gpu = "H200"                  # only on a machine with such a GPU
# exclusive = false             # on a fleet: no other cell on the machine

# [environments]                # other Pythons of this machine, with enginescope in them: backends
# trt86 = "/opt/trt86/bin/python"   # such as "trt:fp16@trt86" run there

[timing]
# warmup = "200ms"              # or a count
# precision = 0.5               # stop when the median is known to ± so many percent …
# max_time = "10s"              # … or after this time
# iterations = 1000             # or stop after exactly so many
# duration = "5s"               # or after this time
# min_samples = 100
# processes = 1                 # fresh processes per cell; 5 show the run-to-run variation

[validation]
# reference = "ort-cpu"         # a backend, model, engine or folder of outputs; by default the data
                                # set's outputs, else ort-cpu with one thread
# samples = 4                   # random samples, without a data set
# tolerance = "fp16"            # limits of a precision; by default by the precisions of both sides
# rtol = 1e-3
# atol = 1e-3
# percent_mismatch = 0.1

# [[model]]                     # a model with settings of its own
# path = "bert/model.onnx"
# name = "bert"
# data = "bert/test_data_set_0"
# backends = ["ort-cpu", "trt:fp16"]
# batches = [1, 4]
# timeout = "30min"
# memory_limit = "16GiB"
# shapes = [{ ids = "1x128" }, { ids = "1x512" }]
# ranges = { ids = [0, 30521] }     # bounds of random integers
"""


def write_example(path: Path) -> Path:
    """Write the example to a new file, in a folder ``suite.toml``; return its path."""
    if path.is_dir():
        path /= "suite.toml"
    if path.suffix.lower() in SUITE_SUFFIXES - {".toml"}:
        raise UsageError(
            f"--init {path}", why="the example is TOML", hint=f"--init {path.with_suffix('.toml')}"
        )
    if path.exists():
        raise UsageError(f"{path} already exists", hint="name another file: --init FILE")
    try:
        write_atomic(path, EXAMPLE.encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}", why=error.strerror or str(error)) from error
    return path
