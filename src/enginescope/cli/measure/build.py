"""``enginescope build``: build an ONNX model into an engine; options of the backend by flags."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from enginescope.cli.messages import next_steps, note, words
from enginescope.cli.options import (
    DURATION_S,
    FILE,
    PATH,
    SHAPE,
    SIZE,
    add_options,
    json_option,
    option,
    store_option,
)
from enginescope.cli.process_options import declared_options, input_options, request_of
from enginescope.cli.report_output import print_data
from enginescope.cli.verb import EXIT_RUN_FAILED, verb
from enginescope.core.errors import UsageError
from enginescope.records.run.job import InputShape
from enginescope.records.run.run import OutcomeKind
from enginescope.services.measurement.build import BuildRequest, BuildResult, build_engine

#: Switches, by the name of the backend's option.
_SWITCHES = {
    "version_compatible": "Build a plan that later TensorRT versions can load.",
    "exclude_lean_runtime": "Exclude the lean runtime from a version-compatible plan.",
    "refit": "Build an engine whose weights can be replaced.",
    "strip_plan": "Exclude the weights from the plan; enginescope refits them at load time.",
    "weight_streaming": "Allow weights to stay on the host; needs --strongly-typed.",
    "strongly_typed": "Take all data types from the model.",
}
#: Values, by the name of the backend's option.
_VALUES = {
    "workspace": ("SIZE", "Maximum memory for tactics."),
    "builder_optimization_level": (
        "0…5",
        "Search effort; higher levels build longer.  [default: 3]",
    ),
    "hardware_compatibility": (
        "LEVEL",
        "Compatibility with other GPUs: none, ampere_plus or same_compute_capability.",
    ),
    "timing_cache": (
        "FILE",
        "Read and update this timing cache; none disables it.  [default: the engine cache's]",
    ),
    "calibration_cache": (
        "FILE",
        "Read INT8 ranges from this file, for TensorRT versions that calibrate.",
    ),
    "profiling_verbosity": (
        "LEVEL",
        "Verbosity of layer information: detailed, layer_names_only or none.  [default: detailed]",
    ),
    "tactic_sources": ("±NAME,…", "Enable or disable tactic sources, such as -CUDNN,-CUBLAS."),
}
_BOUND_NAMES = {"min": "Minimum", "opt": "Optimum", "max": "Maximum"}


#: Options that may be repeated: flag and parameter, metavar, help.
_REPEATED = (
    ("--option others", "KEY=VALUE", "Set any other backend option; repeat for several."),
    ("--plugin plugins", "FILE", "Load this plugin library; repeat for several."),
    ("--memory-pool memory_pools", "POOL:SIZE", "Limit the memory of a pool; repeat for more."),
)


def _flag(key: str) -> str:
    return f"--{key.replace('_', '-')}"


#: Add what steers a build.
build_options = add_options(
    *(
        option(
            f"--{bound}-shape {bound}_shapes",
            f"{name} shape of an input; repeat an input for the next profile.",
            SHAPE,
            multiple=True,
        )
        for bound, name in _BOUND_NAMES.items()
    ),
    *(option(flags, text, multiple=True, metavar=metavar) for flags, metavar, text in _REPEATED),
    *(option(_flag(key), text, metavar=metavar) for key, (metavar, text) in _VALUES.items()),
    *(option(_flag(key), text, is_flag=True) for key, text in _SWITCHES.items()),
)


def options_of(given: dict[str, Any]) -> dict[str, str]:
    """Return the backend's options that the command line means."""
    found = {key: "1" for key in _SWITCHES if given[key]}
    found |= {key: given[key] for key in _VALUES if given[key] is not None}
    for bound in _BOUND_NAMES:
        if given[f"{bound}_shapes"]:
            found[f"{bound}_shapes"] = profiles_text(given[f"{bound}_shapes"])
    for key in ("plugins", "memory_pools"):
        if given[key]:
            found[key] = ",".join(given[key])
    for pair in given["others"]:
        key, equals, value = pair.partition("=")
        if not equals or key in found:
            why = "it is given twice" if equals else "it is not KEY=VALUE"
            raise UsageError(f"--option {pair}", why=why)
        found[key] = value
    return found


def profiles_text(shapes: Sequence[InputShape]) -> str:
    """Return shapes as the backend's option has them: the n-th of an input in profile n."""
    profiles: dict[int, list[str]] = defaultdict(list)
    seen: dict[str, int] = defaultdict(int)
    for one in shapes:
        dims = "x".join(map(str, one.dims)) or "scalar"
        profiles[seen[one.name]].append(f"{one.name}:{dims}")
        seen[one.name] += 1
    return ";".join(",".join(profiles[index]) for index in sorted(profiles))


@verb(
    "build",
    "Build an FP16 engine",
    "enginescope build model.onnx --on trt:fp16 -o model.engine",
    "Build for batch sizes from 1 to 8",
    "enginescope build a.onnx --min-shape x:1x8 --opt-shape x:4x8 --max-shape x:8x8",
)
@click.argument("model", type=PATH)
@option("-o,--output", "Write the engine to this file.  [default: MODEL.engine]", FILE)
@declared_options(BuildRequest)
@input_options
@build_options
@option("--timeout timeout_s", "Time limit for the build.  [default: 2h]", DURATION_S)
@option(
    "--memory-limit memory_bytes",
    "Memory limit for the build.  [default: 90 % of free memory]",
    SIZE,
)
@store_option
@json_option
def command(model: Path, output: Path | None, **options: Any) -> int:
    """Build MODEL into a TensorRT engine, with its plan, metadata and build log next to it.

    The cache keeps engines by model, options, TensorRT, GPU and driver. The second call reuses the
    cached engine.
    """
    from enginescope.cli.progress import JobProgress

    engine = output or model.with_suffix(".engine")
    named = options | {"options": options_of(options)}
    request = request_of(BuildRequest, named, model=model, engine=engine)
    with JobProgress() as progress:
        result = build_engine(request, progress)
    _present(result, as_json=options["as_json"])
    return 0 if result.run.outcome.kind is OutcomeKind.OK else EXIT_RUN_FAILED


def _present(result: BuildResult, *, as_json: bool) -> None:
    from enginescope.render.base.text import show
    from enginescope.render.plans.build_text import build_text

    run, files = result.run, [str(file) for file in result.files]
    if as_json:
        data = {"outcome": run.outcome, "build": run.build, "notices": run.notices}
        print_data({"files": files, **data})
        return
    show(build_text(run))
    for file in files:
        note(f"wrote {file}")
    if run.outcome.kind is OutcomeKind.OK:
        # the layers are from the log of an engine that this machine cannot load
        is_logged = any(one.code == "I-LOGGED-PLAN" for one in run.notices)
        purpose, verb = ("its layers", "explore") if is_logged else ("measure it", "bench")
        next_steps((purpose, words("enginescope", verb, files[0])))
