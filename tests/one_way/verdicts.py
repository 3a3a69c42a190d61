import gzip
import json
import warnings
from pathlib import Path

import enginescope as es
from enginescope.core.record import replace
from enginescope.records.run.job import Subject
from enginescope.records.run.run import Run
from enginescope.render.compare.compare_answer import compare_json
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.reproduction.reproduction_answer import reproduction_answer
from enginescope.render.verdicts.gate_answer import gate_json
from enginescope.render.verdicts.history_text import history_json
from enginescope.render.verdicts.upgrade_answer import upgrade_answer
from enginescope.store.archive import Store
from enginescope.store.machine_records import FLOORS
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.in_turn import COMPARISON, crashed, in_turn, job, process
from tests.cli.plans.test_passport import engine_with_passport
from tests.formats import plans
from tests.formats.importing.test_plan_files import TIMES
from tests.one_way.case import Case, stored
from tests.render.outputs import outputs

(reproduction_json, *_), (upgrade_json, *_) = outputs(reproduction_answer), outputs(upgrade_answer)

INTERLEAVED = f"cmp-{COMPARISON}"
#: Files of other tools get a run with a new id each time.
NEW_IDS = "run"
DATA = Path(__file__).resolve().parents[1] / "data"


def save(folder: Path, *runs: Run, tag: str | None = None) -> None:
    store = Store(folder / "store")
    for run in runs:
        store.save(run, tags=[tag] if tag else [])


def pair(folder: Path) -> None:
    """Store a run tagged ``a`` and one tagged ``b`` that is 20 % slower."""
    save(folder, process(1.0, id="aaaaaaaaaaaa"), tag="a")
    save(folder, process(1.2, seed=3, id="bbbbbbbbbbbb"), tag="b")


def processes(folder: Path) -> None:
    for tag, level in (("before", 1.0), ("after", 0.9)):
        save(folder, *[process(level * (1 + at / 2_000), seed=at) for at in range(5)], tag=tag)


def interleaved(folder: Path) -> None:
    """Store an interleaved comparison; its last run has a known id."""
    a, b = in_turn(1.05)
    b = (*b[:-1], replace(b[-1], id="bbbbbbbbbbbb"))
    save(folder, *a, *b, tag=INTERLEAVED)


def beside_a_run(folder: Path) -> None:
    interleaved(folder)
    save(folder, process(1.0), tag=INTERLEAVED)


def precisions(folder: Path) -> None:
    for precision in ("fp32", "fp16"):
        save(folder, process(1.0, job=job(precision=precision)), tag=precision)


def one_failed(folder: Path) -> None:
    save(folder, process(1.0), tag="a")
    save(folder, crashed(process(1.0)), tag="b")


def several_jobs(folder: Path) -> None:
    pair(folder)
    save(folder, process(1.0), process(2.0, job=job("trt")), tag="mixed")


def two_stores(folder: Path) -> None:
    for name, level in (("before", 1.0), ("after", 0.9)):
        store = Store(folder / name)
        for at in range(5):
            store.save(process(level * (1 + at / 2_000), seed=at))


def exported(folder: Path) -> None:
    pair(folder)
    for tag in "ab":
        Store(folder / "store").export(tag, folder / f"{tag}.zip")


def times(folder: Path) -> None:
    """Write times that trtexec exported, alone and two in a folder."""
    packed = DATA / "trt86-h200" / "depth_anything_small.timing.json.gz"
    whole = json.loads(gzip.decompress(packed.read_bytes()))
    (folder / "several").mkdir()
    parts = {"before": whole[: len(whole) // 2], "after": whole}
    for name, part in parts.items():
        for place in (folder, folder / "several"):
            (place / f"{name}.json").write_text(json.dumps(part))


def damaged_floors(folder: Path) -> None:
    """Store a pair of runs beside noise floors that cannot be read."""
    pair(folder)
    (folder / "store" / FLOORS.file).write_text("{")


def stored_plans(folder: Path) -> None:
    """Store two runs with plans, tagged ``a`` and ``b``, and a run without a plan."""
    save(folder, run_a(), tag="a")
    save(folder, run_b(), tag="b")
    save(folder, process(1.0), tag="bare")


def measured_plan(folder: Path) -> None:
    """Store a plan with samples and one without."""
    save(folder, replace(run_a(), samples=process(2.0).samples), tag="a")
    save(folder, run_b(), tag="b")


def plan_files(folder: Path) -> None:
    for place in ("before", "after"):
        (folder / place).mkdir()
        (folder / place / "net.graph.json").write_bytes(plans.encoded(plans.tensorrt_8_4()))
    (folder / "before" / "net.profile.json").write_text(json.dumps(TIMES))
    (folder / "both").mkdir()
    for name in ("one", "two"):
        (folder / "both" / f"{name}.graph.json").write_bytes(plans.encoded(plans.tensorrt_8_4()))


def models(folder: Path) -> None:
    other = replace(job(), subject=Subject(name="net.onnx.old", kind="onnx"))
    save(folder, process(1.0), process(1.0, seed=1), process(2.0, seed=2, job=other))


def damaged_run(folder: Path) -> None:
    runs = [process(1.0, seed=at) for at in range(3)]
    save(folder, *runs)
    (folder / "store" / "runs" / runs[1].id / "run.json").write_text("{")


def _gate(name: str, prepare, line: str, **options) -> Case:
    return stored(
        f"gate: {name}",
        prepare,
        f"gate {line}",
        (es.gate, options.pop("current", None), options),
        gate_json,
        status=lambda report: int(not report.is_passed),
    )


def _compare(name: str, prepare, sides: str, flags: str = "", **options) -> Case:
    return stored(
        f"compare: {name}",
        prepare,
        f"compare {sides} {flags}",
        (es.compare, *sides.split(), options),
        lambda found: compare_json(None, Chosen(), measured=found),
        NEW_IDS if "@/before.json" in sides else "",
    )


def _plans(name: str, prepare, sides: str, flags: str = "", **options) -> Case:
    return stored(
        f"compare plans: {name}",
        prepare,
        f"compare {sides} {flags}",
        (es.compare_plans, *sides.split(), options),
        lambda found: compare_json(found, Chosen()),
        NEW_IDS if sides.startswith("@/") else "",
    )


def _history(name: str, prepare, model: str, flags: str = "", **options) -> Case:
    line = f"history {model} {flags}"
    return stored(f"history: {name}", prepare, line, (es.history, model, options), history_json)


def bundle(folder: Path) -> None:
    pair(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        es.upgrade(old="a", new="b", store=folder / "store", evidence=folder / "bundle")


def changed_bundle(folder: Path) -> None:
    bundle(folder)
    file = folder / "bundle" / "evidence.json"
    file.write_bytes(file.read_bytes().replace(b"worse", b"worsf", 1))


def _reproduce(name: str, prepare, flags: str = "", **options) -> Case:
    return stored(
        f"reproduce: {name}",
        prepare,
        f"upgrade --reproduce @/bundle {flags}",
        (es.reproduce, "@/bundle", options),
        reproduction_json,
        "created command",
    )


def _upgrade(name: str, prepare, flags: str = "", *models: str, **options) -> Case:
    options = {"old": "a", "new": "b", **options}
    sides = {key: options[key] for key in ("old", "new") if options[key]}
    return stored(
        f"upgrade: {name}",
        prepare,
        " ".join(("upgrade", *models, *(f"--{key} {one}" for key, one in sides.items()), flags)),
        (es.upgrade, *models, {key: one for key, one in options.items() if one}),
        upgrade_json,
        "created command",
        status=lambda report: int(not report.is_passed),
    )


def two_engines(folder: Path) -> None:
    """Write two engines with their plans and the passports of their builds."""
    engine_with_passport(folder / "a", tensorrt="10.3.0", device="H100")
    engine_with_passport(folder / "b", tensorrt="10.16.1", device="H200", precision="fp16")


A_B = {"current": "b", "baseline": "a"}
CASES: tuple[Case, ...] = (
    _upgrade("recorded runs", pair),
    _upgrade("recorded processes", processes, old="before", new="after"),
    _upgrade(
        "an open question fails",
        processes,
        "--inconclusive fail --max-regression p99=3%",
        old="before",
        new="after",
        inconclusive="fail",
        max_regression_pct={"p99": 3.0},
    ),
    _upgrade("a run that failed", one_failed),
    _upgrade("neither models nor runs", pair, new=""),
    _upgrade("no such runs", pair, old="nowhere"),
    _upgrade(
        "a rate of no metric", pair, "--max-regression speed=1%", max_regression_pct={"speed": 1.0}
    ),
    _upgrade(
        "an image that is not here",
        lambda folder: (folder / "net.onnx").write_bytes(b"onnx"),
        "",
        "@/net.onnx",
        old="docker:enginescope:absent",
        new="",
    ),
    _plans(
        "engines with passports", two_engines, "@/a/net.engine.graph.json @/b/net.engine.graph.json"
    ),
    _reproduce("recorded runs", bundle),
    _reproduce("the files alone", bundle, "--check-only", check_only=True),
    _reproduce("a changed file", changed_bundle),
    _reproduce("no bundle", pair),
    _reproduce("stacks of recorded runs", bundle, "--old python3", old="python3"),
    _gate("a regression", pair, "b --baseline a", **A_B),
    _gate(
        "a wide limit", pair, "b --baseline a --max-regression 50%", **A_B, max_regression_pct=50
    ),
    _gate(
        "nothing to compare",
        pair,
        "b --baseline a --metric engine_size",
        **A_B,
        max_regression_pct={"engine_size": 2},
    ),
    _gate("damaged noise floors", damaged_floors, "b --baseline a", **A_B),
    _gate("the baseline itself", pair, "a --baseline a", current="a", baseline="a"),
    _gate("newer runs", pair, "--baseline a", baseline="a"),
    _gate("no newer runs", pair, "--baseline b", baseline="b"),
    _gate(
        "several names",
        processes,
        "after --baseline before --baseline latest~9",
        current=["after"],
        baseline=["before", "latest~9"],
    ),
    _gate(
        "an interleaved comparison",
        interleaved,
        f"--baseline {INTERLEAVED} --inconclusive fail --confidence 0.99",
        baseline=INTERLEAVED,
        inconclusive="fail",
        confidence=0.99,
    ),
    *(
        _gate(
            f"a limit of {limit} %",
            pair,
            f"b --baseline a --max-regression={limit}%",
            **A_B,
            max_regression_pct=float(limit),
        )
        for limit in ("1001", "-1", "nan")
    ),
    _compare("two runs of one job", pair, "a b"),
    _compare("a comparison by its tag", interleaved, INTERLEAVED),
    _compare("a comparison by its id", interleaved, COMPARISON),
    _compare("a comparison by any of its runs", interleaved, "bbbbbb"),
    _compare("tags of several processes", processes, "before after"),
    _compare("a threshold", pair, "a b", "--threshold 30", threshold_pct=30),
    _compare("a comparison and another run", beside_a_run, INTERLEAVED),
    _compare("incomparable", precisions, "fp32 fp16"),
    _compare("across", precisions, "fp32 fp16", "--across precision", across=["precision"]),
    _compare("damaged noise floors", damaged_floors, "a b"),
    _compare("folders of runs", two_stores, "@/before @/after"),
    _compare("zip files of runs", exported, "@/a.zip @/b.zip"),
    _compare("files of trtexec", times, "@/before.json @/after.json"),
    _compare("a folder of several times", times, "@/before.json @/several"),
    _compare("a tag of several jobs", several_jobs, "a mixed"),
    _compare("a run that failed", one_failed, "a b"),
    _compare("an unknown run", pair, "a absent"),
    _compare("a file that is absent", pair, "a @/absent.json"),
    _compare("one run", pair, "a"),
    _compare("nothing", pair, ""),
    _compare("27 sides", pair, "a " * 27),
    _plans("stored runs", stored_plans, "a b"),
    _plans("files of one name", plan_files, "@/before/net.graph.json @/after/net.graph.json"),
    _plans("folders of one model", plan_files, "@/before @/after"),
    _plans("three", stored_plans, "a b a"),
    _plans(
        "an optimization profile that is absent",
        stored_plans,
        "a b",
        "--plan-profile 3",
        plan_profile=3,
    ),
    _plans("a side that is not measured", measured_plan, "a b"),
    _plans("a run without a plan or samples", one_failed, "b b"),
    _plans("a folder of two plans", plan_files, "@/both @/before"),
    _plans("27 plans", stored_plans, "a " * 27),
    _history("an exact name", models, "net.onnx"),
    _history("a path", models, "./models/net.onnx", "--sitting 0", sitting_s=0),
    _history("a metric", models, "net.onnx", "--metric p99 --on ort", metric="p99", on="ort"),
    _history("the newest", models, "net", "--last 2", last=2),
    _history("an unknown model", models, "nett.onnx"),
    _history("an unknown metric", models, "net.onnx", "--metric p98", metric="p98"),
    _history(
        "a metric that no run has", models, "net.onnx", "--metric engine_size", metric="engine_size"
    ),
    _history("a damaged run", damaged_run, "net.onnx"),
)
