from pathlib import Path
from unittest.mock import patch

import enginescope as es
from enginescope.backends import stepwise
from enginescope.backends.loop import warm_up
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
from enginescope.render.shapes.shapes_answer import shapes_answer
from enginescope.render.tune.tune_answer import tune_answer
from enginescope.render.verdicts.lottery_answer import lottery_answer
from enginescope.store.archive import Store
from tests.fakes import loading, models
from tests.one_way.case import Case, case, stored
from tests.render.outputs import outputs
from tests.render.runs import measured_run

(contend_json, *_), (ladder_json, *_) = outputs(contend_answer), outputs(ladder_answer)
(tune_json, *_), (lottery_json, *_) = outputs(tune_answer), outputs(lottery_answer)
(load_json, *_), (self_test_json, *_) = outputs(load_answer), outputs(self_test_answer)
shapes_json, *_ = outputs(shapes_answer)
FIVE = Workload(warmup=WarmUp(time_ms=0, iterations=0), stop=StopRule(iterations=5))
_SHORT = {"rounds": 3, "visits": 2, "requests": 4}
#: Requests that mostly sleep: several in one process do not wait for each other.
SLOW = "fake?latency_us=3000"
MEASURED = (
    "run created throughput summaries duration_ms peak_memory_bytes time_ms time_pct layer_sum "
    "notices harms"  # outliers among five samples are one of them, in one call and not in another
)
ROUNDS = 8
#: What differs between any two interleaved comparisons.
_VOLATILE = (
    "comparison tag pairs other_pairs ranking notices noise_floor is_decided processes rounds runs "
    "measured_rounds"
)


def model(folder: Path) -> None:
    """Write a model file; the fake backend does not read it."""
    (folder / "m.onnx").touch()


def blocked_store(folder: Path) -> None:
    """Write a model, and a file where the folder of runs would be."""
    model(folder)
    (folder / "store").mkdir()
    (folder / "store" / "runs").write_text("not a folder")


def _bench(name: str, flags="", prepare=model, file="m.onnx", **options) -> Case:
    options = {"on": "fake", "workload": FIVE, **options}
    return stored(
        f"bench: {name}",
        prepare,
        f"bench @/{file} --on {options['on']} --iterations 5 --warmup 0 {flags}",
        (es.bench, f"@/{file}", options),
        lambda view: summary_json([view]),
        MEASURED,
    )


def failed(model: Path, *, store: Path) -> tuple[es.RunView, int]:
    """Measure what crashes: the run is stored, and the error has the exit code."""
    try:
        es.bench(model, on="fake?fault=segfault", workload=FIVE, store=store)
    except BackendError as error:
        return es.open_run(min((store / "runs").iterdir())), error.exit_code
    raise AssertionError("it did not fail")


def _compared(found) -> bytes:
    return compare_json(None, Chosen(), measured=found)


def _interleaved(name: str, backends: tuple[str, ...], prepare=model) -> Case:
    return stored(
        f"bench --compare: {name}",
        prepare,
        f"bench @/m.onnx --compare --rounds {ROUNDS} --iterations 5 --warmup 0 "
        + " ".join(f"--on {backend}" for backend in backends),
        (es.bench_interleaved, "@/m.onnx", {"on": backends, "workload": FIVE, "rounds": ROUNDS}),
        _compared,
        _VOLATILE,
    )


def _for(duration_ms: float, **more) -> Workload:
    return Workload(stop=StopRule(duration_ms=duration_ms, precision_pct=None, **more))


def _contend(name: str, flags: str, **options) -> Case:
    usual = {"rounds": 3, "workload": _for(50.0, min_iterations=5)}
    return stored(
        f"contend: {name}",
        model,
        f"contend @/m.onnx @/m.onnx --rounds 3 --duration 50ms {flags}",
        (es.contend, "@/m.onnx", "@/m.onnx", {**usual, **options}),
        contend_json,
        "verdict kind answer ratio interval p99_factor p50_ms p50_interval p99_ms p99_interval "
        "per_s alone_per_s requests outside fairness fairness_interval rounds measured_rounds n_a "
        "n_b is_student comparison notices created command "
        "disturbed left_out",  # other programs may disturb a round of one call
    )


def perceptron(folder: Path) -> None:
    models.perceptron(folder / "m.onnx")


def _ladder(name: str, flags: str, **options) -> Case:
    usual = {"rounds": 3, "workload": Workload(stop=FIVE.stop)}
    return stored(
        f"ladder: {name}",
        perceptron,
        f"ladder @/m.onnx --rounds 3 --iterations 5 {flags}",
        (es.ladder, "@/m.onnx", {**usual, **options}),
        ladder_json,
        "answer meaning value_ms interval steps_ms is_consistent processes nearest alike below "
        "above rounds measured_rounds comparison notices created command",
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
    return next(iter({tag for row in Store(folder / "store").rows() for tag in row.tags}))


def _noise(name: str, file: str = "m.onnx") -> Case:
    return stored(
        f"noise: {name}",
        model,
        f"doctor --noise @/{file} --on fake --rounds {ROUNDS} --duration 10ms",
        (es.noise_floor, f"@/{file}", {"on": "fake", "workload": _for(10), "rounds": ROUNDS}),
        lambda floor: encode({"noise_floor": floor, "measured": {}}),
        "measured comparison created rounds round_s scatter_pct within_pct decidable other_cores "
        "notices",
    )


def _self_test(name: str, flags="", file: str = "m.onnx", **options) -> Case:
    usual = {"on": "fake", "rounds": ROUNDS, "max_time_s": 1e-3, "workload": _for(10)}
    return stored(
        f"doctor --self-test: {name}",
        model,
        f"doctor --self-test @/{file} --on fake --rounds {ROUNDS} --max-time 1ms --duration 10ms "
        + flags,
        (es.self_test, f"@/{file}", {**usual, **options}),
        self_test_json,
        "answer created duration_s round_s comparisons curve notices ended false_verdicts "
        "false_low_pct false_high_pct counted skipped smallest_pct smallest_low_pct "
        "smallest_high_pct",
    )


def _lottery(name: str, flags="", file: str = "m.onnx", **options) -> Case:
    usual = {"builds": 3, "processes": 2, "workload": Workload(stop=StopRule(iterations=24))}
    return stored(
        f"lottery: {name}",
        perceptron,
        f"lottery @/{file} --builds 3 --processes 2 --iterations 24 {flags}",
        (es.lottery, f"@/{file}", {**usual, **options}),
        lottery_json,
        "answer comparison created median_ms medians_ms runs build_s process_s iteration_s "
        "build_peak_bytes host_bytes duration_s components best sd command notices",
    )


def _tune(name: str, flags="", file: str = "m.onnx", **options) -> Case:
    usual = {"samples": 1, "max_time_s": 1e-3, "workload": Workload(stop=FIVE.stop)}
    return stored(
        f"tune: {name}",
        perceptron,
        f"tune @/{file} --iterations 5 --samples 1 --max-time 1ms {flags}",
        (es.tune, f"@/{file}", {**usual, **options}),
        tune_json,
        "answer alternatives candidate confirmation comparison created duration_s command notices",
    )


def _build(name: str, output="e.plan", file="m.onnx", on="trt", flags="", **options) -> Case:
    return stored(
        f"build: {name}",
        model_and_engine,
        f"build @/{file} -o @/{output} --on {on} {flags}",
        (es.build, f"@/{file}", f"@/{output}", {"on": on, **options}),
        build_json,
        "files outcome engine command build_ms parse_ms peak_host_bytes",
        context=loading.loaded,
    )


def model_and_engine(folder: Path) -> None:
    """Write a model that can be built, and a file that looks like an engine."""
    perceptron(folder)
    (folder / "m.plan").touch()


def build_json(report: BuildReport) -> bytes:
    """Return what ``build --json`` prints, but for the files and the outcome."""
    return encode({"files": [], "outcome": {}, "build": report, "notices": report.notices})


def _load(name: str, flags: str, **options) -> Case:
    return stored(
        f"load: {name}",
        model,
        f"load @/m.onnx --on fake {flags}",
        (es.load, "@/m.onnx", {"on": "fake", "workload": Workload(), **options}),
        load_json,
        f"{MEASURED} answer tag verdict kind passed command steps loadgen highest_met "
        "lowest_missed inconclusive",
        status=lambda report: int(report.kind.value in ("missed", "inconclusive")),
        # of the first request alone it takes the model for slow, and its rates last long
        context=lambda: patch.object(stepwise, "warm_up", warm_up),
    )


def _shapes(name: str, flags: str = "", file: str = "m.onnx", **options) -> Case:
    counts = " ".join(f"--{key} {value}" for key, value in _SHORT.items())
    return stored(
        f"shapes: {name}",
        perceptron,
        f"shapes @/{file} {counts} {flags}",
        (es.shapes, f"@/{file}", {**_SHORT, **options}),
        shapes_json,
        "answer build latency_ms interval items_per_s items_interval value_ms ratio knee cliffs "
        "time opt opt_shapes notices created command comparison rounds processes changes",
    )


CASES: tuple[Case, ...] = (
    _load("a rate", "--rate 500 --queries 30", rate=500, queries=30),
    _load(
        "constant arrivals for a time, with tags",
        "--arrivals constant --duration 100ms --tag t",
        arrivals="constant",
        duration_ms=100,
        tags=["t"],
    ),
    _load(
        "an objective that is not met",  # on a busy machine one that is may be inconclusive
        "--queries 30 --slo p50<1us --duration 2s --seed 3",
        queries=30,
        slo="p50<1us",
        duration_ms=2_000,
        workload=Workload(seed=3),
    ),
    _load("a scenario", "--scenario offline --queries 9", scenario="offline", queries=9),
    _load("a search without an objective", "--find-max", find_max=True),
    _load("not an objective", "--slo p99=1ms", slo="p99=1ms"),
    _bench("a run"),
    _bench("without layers", "--no-layers", layer_profile=False),
    _bench("tags and a commit", "--tag t --commit v1", tags=["t"], commit="v1"),
    stored(
        "bench: a crash",
        model,
        "bench @/m.onnx --iterations 5 --warmup 0 --on fake?fault=segfault",
        (failed, "@/m.onnx", {}),
        lambda found: summary_json([found[0]]),
        MEASURED,
        status=lambda found: found[1],
    ),
    _bench("no such model", file="n.onnx"),
    _bench("no such backend", on="fakke"),
    _bench("a store that cannot be written", prepare=blocked_store),
    _bench("a profile index on what runs no engine", "--profile-index 1", profile_index=1),
    _bench(
        "streams in latency mode",
        "--streams 2",
        workload=Workload(warmup=FIVE.warmup, stop=FIVE.stop, mode=Mode(streams=2)),
    ),
    _bench(
        "two stop rules",
        "--duration 1s",
        workload=Workload(stop=StopRule(iterations=5, duration_ms=1_000)),
    ),
    _interleaved("two backends", ("fake", "fake?latency_us=400")),
    _interleaved("one job", ("fake",)),
    _interleaved("27 jobs", tuple(f"fake?latency_us={at}" for at in range(27))),
    _interleaved("a store that cannot be written", ("fake", "fake?seed=1"), prepare=blocked_store),
    Case(
        name="compare --continue: a comparison",
        prepare=begun,
        arguments=lambda folder: [
            *("compare", _tag(folder), "--continue", "--store", str(folder / "store"))
        ],
        call=lambda folder: es.continue_comparison(_tag(folder), store=folder / "store"),
        data=_compared,
        volatile=frozenset(_VOLATILE.split()),
    ),
    stored(
        "compare --continue: nothing of that name",
        lambda folder: Store(folder / "store").save(measured_run()),
        "compare cmp-00000000 --continue",
        (es.continue_comparison, "cmp-00000000", {}),
        _compared,
    ),
    stored(
        "bench --compare --continue: nothing to continue",
        model,
        "bench @/m.onnx --on fake --on fake?seed=1 --compare --continue",
        (es.bench_interleaved, "@/m.onnx", {"on": ("fake", "fake?seed=1"), "continues": True}),
        _compared,
    ),
    _build("an engine", on="trt:fp16"),
    _build("options", flags="--refit", options={"refit": "1"}),
    _build("an option twice", on="trt?refit=1", flags="--refit", options={"refit": "1"}),
    _build("an engine given as the model", file="m.plan"),
    _build("a backend that builds no engines", on="ort-cpu"),
    _build("the output over the model", "m.onnx"),
    _build("a folder that does not exist", "absent/e.plan"),
    _contend("two copies of a model", f"--on {SLOW}", on=SLOW),
    _contend("a backend too few", "--on fake " * 3, on=("fake",) * 3),
    _ladder("an ONNX model", "--mine 1.9ms --streams 3", mine="1.9ms", streams=3),
    _ladder("a backend without a ladder", "--on fake", on="fake"),
    _ladder("a figure that is no time", "--mine fast", mine="fast"),
    _noise("the fake backend"),
    _noise("no such model", file="n.onnx"),
    _self_test("a threshold", "--threshold 3", threshold_pct=3),
    _self_test("no such model", file="n.onnx"),
    _lottery("a model on ONNX Runtime"),
    _lottery("no such model", file="n.onnx"),
    _tune(
        "options, one of them not valid",
        "--option intra_op_num_threads=1,x --batch 2 --threshold 3",
        options={"intra_op_num_threads": (1, "x")},
        batch=2,
        threshold_pct=3.0,
    ),
    _tune("nothing to try"),
    _tune("no such model", "--batch 1,2", file="n.onnx", batch=(1, 2)),
    _lottery("a backend without builds", "--on fake", on="fake"),
    _lottery("no such timing cache", "--timing-cache no.cache", timing_cache="no.cache"),
    case(
        "doctor",
        lambda _folder: None,
        "doctor",
        (es.doctor, {}),
        encode,
        "message load_1min timer_resolution_ms memory_available_bytes",
    ),
    _shapes(
        "batch sizes with weights",
        "--batch 1,2,4 --weight 1=3 --weight 4=1 --gain 5",
        batch=(1, 2, 4),
        weights={"1": 3, "4": 1},
        gain_pct=5,
    ),
    _shapes("whole shapes", "--sweep x=1x4,3x4", sweep="x=1x4,3x4"),
    _shapes("a dimension it does not have", "--sweep seq=1,2", sweep="seq=1,2"),
    _shapes("one dimension at a time", "--batch 1,2 --sweep n=1,2", batch=(1, 2), sweep="n=1,2"),
    _shapes("a backend that cannot", "--on fake", on="fake"),
    _shapes("no such model", file="n.onnx"),
)
