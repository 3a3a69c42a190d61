"""Options that say how requests are issued, and how engines are built."""

from __future__ import annotations

from typing import Any

import click

from enginescope.cli.options import DURATION_MS, FROM_0, add_options, option
from enginescope.cli.process_options import picked
from enginescope.records.run.job import Mode

_THREE = {"on": True, "off": False, "auto": None}

#: Add what steers how requests are issued.
mode_options = add_options(
    option(
        "--mode",
        "mode_kind",
        type=click.Choice(["latency", "throughput"]),
        help="Issue one request at a time, or enqueue queries ahead as trtexec does (trt, "
        "trtexec); on ort-cpu, two threads issue them.",
    ),
    option(
        "--graph",
        type=click.Choice(list(_THREE)),
        default="auto",
        help="Use a CUDA graph; auto: if the engine can be captured.",
    ),
    option(
        "--transfers",
        type=click.Choice(["on", "off"]),
        help="Include copies of inputs and outputs in the timed span.  [default: on]",
    ),
    option(
        "--spin/--no-spin",
        default=None,
        show_default=False,
        help="Busy-wait for the GPU, or block until it signals.  [default: spin]",
    ),
    option(
        "--streams",
        type=click.IntRange(1, 64),
        help="Number of inference streams in throughput mode.",
    ),
    option("--idle", type=DURATION_MS, help="Pause on the host between two queries."),
    option("--cold", is_flag=True, help="Flush the L2 cache before each timed query."),
    option(
        "--rotate", type=click.IntRange(1, 1024), help="Number of input sets to rotate through."
    ),
    option(
        "--decode",
        type=click.IntRange(2, 1_000_000),
        help="Generate this many tokens per request: feed present outputs to past inputs (ONNX "
        "Runtime, TensorRT).",
    ),
    option(
        "--loop",
        type=click.Choice(["native", "python"]),
        help="Make the timed calls in C or in Python (trt, ort-cpu).  [default: native, if it can]",
    ),
    option("--profile-index", type=FROM_0, help="Select the optimization profile to run."),
)


def mode_of(options: dict[str, Any]) -> Mode:
    """Return the mode that the options describe."""
    kind = options["mode_kind"]
    transfers = options["transfers"]
    return Mode(
        kind=kind,
        in_flight=2 if kind == "throughput" else 1,
        transfers=None if transfers is None else transfers == "on",
        cuda_graph=_THREE[options["graph"]],
        spin_wait=options["spin"],
        idle_ms=options["idle"],
        cold=options["cold"] or None,
        **picked(options, "streams", "rotate", "decode", "loop"),
    )
