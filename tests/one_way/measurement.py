from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import enginescope as es
from enginescope.core.errors import BackendError
from enginescope.core.jsonio import encode
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.job import Mode, StopRule, WarmUp, Workload
from enginescope.render.compare.compare_answer import compare_json
from enginescope.render.contend.contend_answer import contend_answer
from enginescope.render.ladder.ladder_answer import ladder_answer
from enginescope.render.load.load_answer import load_answer
from enginescope.render.page.export import summary_json
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.self_test.self_test_answer import self_test_answer
from enginescope.render.tune.tune_answer import tune_answer
from enginescope.render.verdicts.lottery_answer import lottery_answer
from enginescope.store.archive import Store
from tests.fakes import loading, models
from tests.one_way.case import Case
from tests.plants.in_process import without_warm_up, workers_in_process
from tests.render.outputs import outputs

(contend_json, *_), (ladder_json, *_) = outputs(contend_answer), outputs(ladder_answer)
(tune_json, *_), (lottery_json, *_) = outputs(tune_answer), outputs(lottery_answer)
(load_json, *_), (self_test_json, *_) = outputs(load_answer), outputs(self_test_answer)
FIVE = Workload(warmup=WarmUp(time_ms=0, iterations=0), stop=StopRule(iterations=5))
#: Requests that mostly sleep: several in one process do not wait for each other.
SLOW = "fake?latency_us=3000"
FLAGS = ("--on", "fake", "--iterations", "5", "--warmup", "0")
MEASURED = frozenset(
    {
        "run",
        "created",
        "throughput",
        "summaries",
        "duration_ms",
        "peak_memory_bytes",
        "time_ms",
        "time_pct",
        "layer_sum",
        "notices",
        "harms",  # outliers among five samples are one of them, in one call and not in another
    }
)
ROUNDS = 8
#: What differs between any two interleaved comparisons.
_VOLATILE = frozenset(
    {
        "comparison",
        "tag",
        "pairs",
        "other_pairs",
        "ranking",
        "notices",
        "noise_floor",
        "is_decided",
        "processes",
        "rounds",
        "runs",
        "measured_rounds",
    }
)


def model(folder: Path) -> None:
    """Write a model file; the fake backend does not read it."""
    (folder / "m.onnx").touch()


def blocked_store(folder: Path) -> None:
    """Write a model, and a file where the folder of runs would be."""
    model(folder)
    (folder / "store").mkdir()
    (folder / "store" / "runs").write_text("not a folder")


def _stored(folder: Path) -> list[Path]:
    return sorted((folder / "store" / "runs").iterdir())


def _bench(name: str, arguments: tuple[str, ...], prepare=model, file="m.onnx", **options) -> Case:
    options = {"on": "fake", "workload": FIVE, **options}
    flags = FLAGS if options["on"] == "fake" else FLAGS[2:]
    return Case(
        name=f"bench: {name}",
        prepare=prepare,
        arguments=lambda folder: [
            *("bench", str(folder / file), "--store", str(folder / "store"), *flags),
            *arguments,
        ],
        call=lambda folder: es.bench(folder / file, store=folder / "store", **options),
        data=lambda view: summary_json([view]),
        volatile=MEASURED,
    )


def failed(folder: Path) -> tuple[es.RunView, int]:
    """Measure what crashes: the run is stored, and the error has the exit code."""
    store = folder / "store"
    try:
        es.bench(folder / "m.onnx", on="fake?fault=segfault", workload=FIVE, store=store)
    except BackendError as error:
        return es.open_run(_stored(folder)[0]), error.exit_code
    raise AssertionError("it did not fail")


def _interleaved(name: str, backends: tuple[str, ...], workload=FIVE, prepare=model) -> Case:
    flags = [part for backend in backends for part in ("--on", backend)]
    count = workload.stop.iterations
    return Case(
        name=f"bench --compare: {name}",
        prepare=prepare,
        arguments=lambda folder: [
            *("bench", str(folder / "m.onnx"), *flags, "--compare", "--rounds", str(ROUNDS)),
            *("--iterations", str(count), "--warmup", "0", "--store", str(folder / "store")),
        ],
        call=lambda folder: es.bench_interleaved(
            folder / "m.onnx", on=backends, workload=workload, rounds=ROUNDS, store=folder / "store"
        ),
        data=lambda found: compare_json(None, Chosen(), measured=found),
        volatile=_VOLATILE,
    )


def _contend(name: str, *flags: str, **options) -> Case:
    return Case(
        name=f"contend: {name}",
        prepare=model,
        arguments=lambda folder: [
            *("contend", str(folder / "m.onnx"), str(folder / "m.onnx"), "--rounds", "3"),
            *("--duration", "100ms", "--store", str(folder / "store"), *flags),
        ],
        call=lambda folder: es.contend(
            folder / "m.onnx",
            folder / "m.onnx",
            rounds=3,
            workload=Workload(
                stop=StopRule(duration_ms=100.0, min_iterations=5, precision_pct=None)
            ),
            store=folder / "store",
            **options,
        ),
        data=contend_json,
        volatile=frozenset(
            {
                *("verdict", "kind", "answer", "ratio", "interval", "p99_factor", "p50_ms"),
                *("p50_interval", "p99_ms", "p99_interval", "per_s", "alone_per_s", "requests"),
                *("outside", "fairness", "fairness_interval", "rounds", "measured_rounds"),
                *("n_a", "n_b", "is_student", "comparison", "notices", "created", "command"),
                *("disturbed", "left_out"),  # other programs may disturb a round of one call
            }
        ),
        context=without_warm_up,
    )


def _ladder(name: str, backend: str | None, *flags: str, **options) -> Case:
    on = ("--on", backend) if backend else ()
    return Case(
        name=f"ladder: {name}",
        prepare=lambda folder: models.perceptron(folder / "m.onnx"),
        arguments=lambda folder: [
            *("ladder", str(folder / "m.onnx"), *on, "--rounds", "3", "--iterations", "5", *flags),
            *("--store", str(folder / "store")),
        ],
        call=lambda folder: es.ladder(
            folder / "m.onnx",
            on=backend,
            rounds=3,
            workload=Workload(stop=FIVE.stop),
            store=folder / "store",
            **options,
        ),
        data=ladder_json,
        volatile=frozenset(
            {
                *(
                    "answer",
                    "meaning",
                    "value_ms",
                    "interval",
                    "steps_ms",
                    "is_consistent",
                    "processes",
                ),
                *("nearest", "alike", "below", "above", "rounds", "measured_rounds"),
                *("comparison", "notices", "created", "command"),
            }
        ),
        context=without_warm_up,
    )


def begun(folder: Path) -> None:
    """Store a comparison of two backends that its rounds leave inconclusive."""
    model(folder)
    es.bench_interleaved(
        folder / "m.onnx",
        on=("fake", "fake?seed=1"),
        workload=FIVE,
        rounds=ROUNDS,
        threshold_pct=0.0001,
        store=folder / "store",
    )


def _tag(folder: Path) -> str:
    tags = {tag for row in Store(folder / "store").rows() for tag in row.tags}
    return next(iter(tags))


def _noise(name: str, backend: str, file: str = "m.onnx") -> Case:
    return Case(
        name=f"noise: {name}",
        prepare=model,
        arguments=lambda folder: [
            *("doctor", "--noise", str(folder / file), "--on", backend, "--rounds", str(ROUNDS)),
            *("--duration", "50ms", "--store", str(folder / "store")),
        ],
        call=lambda folder: es.noise_floor(
            folder / file,
            on=backend,
            workload=Workload(stop=StopRule(duration_ms=50, precision_pct=None)),
            rounds=ROUNDS,
            store=folder / "store",
        ),
        data=lambda floor: encode({"noise_floor": floor, "measured": {}}),
        context=without_warm_up,
        volatile=frozenset(
            {
                "measured",
                "comparison",
                "created",
                "rounds",
                "round_s",
                "scatter_pct",
                "within_pct",
                "decidable",
                "other_cores",
                "notices",
            }
        ),
    )


@contextmanager
def quick_workers() -> Iterator[None]:
    """Let workers run in this process, without warm-up."""
    with workers_in_process(), without_warm_up():
        yield


def _self_test(name: str, flags: tuple[str, ...] = (), file: str = "m.onnx", **options) -> Case:
    return Case(
        name=f"doctor --self-test: {name}",
        prepare=model,
        arguments=lambda folder: [
            *("doctor", "--self-test", str(folder / file), "--on", "fake", "--rounds", str(ROUNDS)),
            *("--max-time", "1ms", "--duration", "10ms", "--store", str(folder / "store"), *flags),
        ],
        call=lambda folder: es.self_test(
            folder / file,
            on="fake",
            rounds=ROUNDS,
            max_time_s=1e-3,
            workload=Workload(stop=StopRule(duration_ms=10, precision_pct=None)),
            store=folder / "store",
            **options,
        ),
        data=self_test_json,
        context=quick_workers,
        volatile=frozenset(
            {
                *("answer", "created", "duration_s", "round_s", "comparisons", "curve", "notices"),
                *("ended", "false_verdicts", "false_low_pct", "false_high_pct"),
                *("counted", "skipped", "smallest_pct", "smallest_low_pct", "smallest_high_pct"),
            }
        ),
    )


def _lottery(name: str, flags: tuple[str, ...] = (), file: str = "m.onnx", **options) -> Case:
    counts = ("--builds", "3", "--processes", "2", "--iterations", "24")
    return Case(
        name=f"lottery: {name}",
        prepare=lambda folder: models.perceptron(folder / "m.onnx"),
        arguments=lambda folder: [
            *("lottery", str(folder / file), *flags),
            *(*counts, "--store", str(folder / "store")),
        ],
        call=lambda folder: es.lottery(
            folder / file,
            builds=3,
            processes=2,
            workload=Workload(stop=StopRule(iterations=24)),
            store=folder / "store",
            **options,
        ),
        data=lottery_json,
        context=workers_in_process,
        volatile=frozenset(
            {
                "answer",
                "comparison",
                "created",
                "median_ms",
                "medians_ms",
                "runs",
                "build_s",
                "process_s",
                "iteration_s",
                "build_peak_bytes",
                "host_bytes",
                "duration_s",
                "components",
                "best",
                "sd",
                "command",
                "notices",
            }
        ),
    )


def _tune(name: str, flags: tuple[str, ...], file: str = "m.onnx", **options) -> Case:
    short = ("--iterations", "5", "--samples", "1", "--max-time", "1ms")
    return Case(
        name=f"tune: {name}",
        prepare=lambda folder: models.perceptron(folder / "m.onnx"),
        arguments=lambda folder: [
            *("tune", str(folder / file), *flags, *short, "--store", str(folder / "store"))
        ],
        call=lambda folder: es.tune(
            folder / file,
            samples=1,
            max_time_s=1e-3,
            workload=Workload(stop=FIVE.stop),
            store=folder / "store",
            **options,
        ),
        data=tune_json,
        context=workers_in_process,
        volatile=frozenset(
            {
                *("answer", "alternatives", "candidate", "confirmation", "comparison"),
                *("created", "duration_s", "command", "notices"),
            }
        ),
    )


def _build(name: str, output: str, file="m.onnx", on="trt", flags=(), **options) -> Case:
    return Case(
        name=f"build: {name}",
        prepare=model_and_engine,
        arguments=lambda folder: [
            *("build", str(folder / file), "-o", str(folder / output), "--on", on),
            *("--store", str(folder / "store")),
            *flags,
        ],
        call=lambda folder: es.build(
            folder / file, folder / output, on=on, store=folder / "store", **options
        ),
        data=build_json,
        volatile=frozenset(
            {"files", "outcome", "engine", "command", "build_ms", "parse_ms", "peak_host_bytes"}
        ),
        context=loading.loaded,
    )


def model_and_engine(folder: Path) -> None:
    """Write a model that can be built, and a file that looks like an engine."""
    models.perceptron(folder / "m.onnx")
    (folder / "m.plan").touch()


def build_json(report: BuildReport) -> bytes:
    """Return what ``build --json`` prints, but for the files and the outcome."""
    return encode({"files": [], "outcome": {}, "build": report, "notices": report.notices})


LOADED = MEASURED | frozenset(
    {
        *("answer", "tag", "verdict", "kind", "passed", "command", "steps", "loadgen"),
        *("highest_met", "lowest_missed", "inconclusive"),
    }
)


def _load(name: str, flags: tuple[str, ...], **options) -> Case:
    options = {"on": "fake", "workload": Workload(), **options}
    return Case(
        name=f"load: {name}",
        prepare=model,
        arguments=lambda folder: [
            *("load", str(folder / "m.onnx"), "--store", str(folder / "store")),
            *("--on", "fake", *flags),
        ],
        call=lambda folder: es.load(folder / "m.onnx", store=folder / "store", **options),
        data=load_json,
        volatile=LOADED,
        status=lambda report: int(report.kind.value in ("missed", "inconclusive")),
    )


CASES: tuple[Case, ...] = (
    _load("a rate", ("--rate", "500", "--queries", "30"), rate=500, queries=30),
    _load(
        "constant arrivals for a time, with tags",
        ("--arrivals", "constant", "--duration", "100ms", "--tag", "t"),
        arrivals="constant",
        duration_ms=100,
        tags=["t"],
    ),
    _load(
        "an objective that is not met",  # on a busy machine one that is may be inconclusive
        ("--queries", "30", "--slo", "p50<1us", "--duration", "2s", "--seed", "3"),
        queries=30,
        slo="p50<1us",
        duration_ms=2_000,
        workload=Workload(seed=3),
    ),
    _load("a scenario", ("--scenario", "offline", "--queries", "9"), scenario="offline", queries=9),
    _load("a search without an objective", ("--find-max",), find_max=True),
    _load("not an objective", ("--slo", "p99=1ms"), slo="p99=1ms"),
    _bench("a run", ()),
    _bench("without layers", ("--no-layers",), layer_profile=False),
    _bench("tags and a commit", ("--tag", "t", "--commit", "v1"), tags=["t"], commit="v1"),
    Case(
        name="bench: a crash",
        prepare=model,
        arguments=lambda folder: [
            *("bench", str(folder / "m.onnx"), "--store", str(folder / "store"), *FLAGS[2:]),
            *("--on", "fake?fault=segfault"),
        ],
        call=failed,
        data=lambda found: summary_json([found[0]]),
        volatile=MEASURED,
        status=lambda found: found[1],
    ),
    _bench("no such model", (), file="n.onnx"),
    _bench("no such backend", ("--on", "fakke"), on="fakke"),
    _bench("a store that cannot be written", (), prepare=blocked_store),
    _bench("a profile index on what runs no engine", ("--profile-index", "1"), profile_index=1),
    _bench(
        "streams in latency mode",
        ("--streams", "2"),
        workload=Workload(warmup=FIVE.warmup, stop=FIVE.stop, mode=Mode(streams=2)),
    ),
    _bench(
        "two stop rules",
        ("--duration", "1s"),
        workload=Workload(stop=StopRule(iterations=5, duration_ms=1_000)),
    ),
    _interleaved("two backends", ("fake", "fake?latency_us=400")),
    _interleaved("one job", ("fake",)),
    _interleaved("a store that cannot be written", ("fake", "fake?seed=1"), prepare=blocked_store),
    Case(
        name="compare --continue: a comparison",
        prepare=begun,
        arguments=lambda folder: [
            *("compare", _tag(folder), "--continue", "--store", str(folder / "store"))
        ],
        call=lambda folder: es.continue_comparison(_tag(folder), store=folder / "store"),
        data=lambda found: compare_json(None, Chosen(), measured=found),
        volatile=_VOLATILE,
    ),
    Case(
        name="compare --continue: nothing of that name",
        prepare=begun,
        arguments=lambda folder: [
            *("compare", "cmp-00000000", "--continue", "--store", str(folder / "store"))
        ],
        call=lambda folder: es.continue_comparison("cmp-00000000", store=folder / "store"),
        data=lambda found: compare_json(None, Chosen(), measured=found),
    ),
    Case(
        name="bench --compare --continue: nothing to continue",
        prepare=model,
        arguments=lambda folder: [
            *("bench", str(folder / "m.onnx"), "--on", "fake", "--on", "fake?seed=1"),
            *("--compare", "--continue", "--store", str(folder / "store")),
        ],
        call=lambda folder: es.bench_interleaved(
            folder / "m.onnx", on=("fake", "fake?seed=1"), continues=True, store=folder / "store"
        ),
        data=lambda found: compare_json(None, Chosen(), measured=found),
    ),
    _build("an engine", "e.plan", on="trt:fp16"),
    _build("options", "e.plan", flags=("--refit",), options={"refit": "1"}),
    _build(
        "an option twice", "e.plan", on="trt?refit=1", flags=("--refit",), options={"refit": "1"}
    ),
    _build("an engine given as the model", "e.plan", file="m.plan"),
    _build("a backend that builds no engines", "e.plan", on="ort-cpu"),
    _build("the output over the model", "m.onnx"),
    _build("a folder that does not exist", "absent/e.plan"),
    _contend("two copies of a model", "--on", SLOW, on=SLOW),
    _contend("a backend too few", "--on", "fake", "--on", "fake", "--on", "fake", on=("fake",) * 3),
    _ladder("an ONNX model", None, "--mine", "1.9ms", "--streams", "3", mine="1.9ms", streams=3),
    _ladder("a backend without a ladder", "fake"),
    _ladder("a figure that is no time", None, "--mine", "fast", mine="fast"),
    _noise("the fake backend", "fake"),
    _noise("no such model", "fake", file="n.onnx"),
    _self_test("a threshold", ("--threshold", "3"), threshold_pct=3),
    _self_test("no such model", file="n.onnx"),
    _lottery("a model on ONNX Runtime"),
    _lottery("no such model", file="n.onnx"),
    _tune(
        "options, one of them not valid",
        ("--option", "intra_op_num_threads=1,x", "--batch", "2", "--threshold", "3"),
        options={"intra_op_num_threads": (1, "x")},
        batch=2,
        threshold_pct=3.0,
    ),
    _tune("nothing to try", ()),
    _tune("no such model", ("--batch", "1,2"), file="n.onnx", batch=(1, 2)),
    _lottery("a backend without builds", ("--on", "fake"), on="fake"),
    _lottery("no such timing cache", ("--timing-cache", "no.cache"), timing_cache="no.cache"),
    Case(
        name="doctor",
        prepare=lambda _folder: None,
        arguments=lambda _folder: ["doctor"],
        call=lambda _folder: es.doctor(),
        data=encode,
        volatile=frozenset(
            {"message", "load_1min", "timer_resolution_ms", "memory_available_bytes"}
        ),
    ),
)
