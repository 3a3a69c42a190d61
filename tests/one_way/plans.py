import json
from pathlib import Path

import enginescope as es
from enginescope.core.jsonio import encode
from enginescope.render.page.export import summary_json
from enginescope.render.plans.findings import Linted, findings_json
from enginescope.rules.catalogue import LintConfig
from enginescope.store.archive import Store
from tests.formats import plans
from tests.formats.importing.test_plan_files import TIMES
from tests.formats.plan.test_engine_file import HEAD
from tests.one_way.case import Case, stored
from tests.render.runs import imported_run, measured_run

PLAN = "engines/net.graph.json"
ANY_TWO_CALLS = "created run"


def engines(folder: Path) -> None:
    """Write a plan with layer times; store a run without a plan and a run with one."""
    (folder / "engines").mkdir()
    (folder / PLAN).write_bytes(plans.encoded(plans.tensorrt_8_4()))
    (folder / "engines" / "net.profile.json").write_text(json.dumps(TIMES))
    store = Store(folder / "store")
    store.save(measured_run(), tags=["bare"])
    store.save(imported_run(), tags=["planned"])


def two_engines(folder: Path) -> None:
    engines(folder)
    (folder / "engines" / "other.graph.json").write_bytes(plans.encoded(plans.tensorrt_10()))


def archived(folder: Path) -> None:
    engines(folder)
    es.archive(folder / "net.tea", folder / "engines")


def configured(folder: Path) -> None:
    engines(folder)
    (folder / "rules.toml").write_text('[lint]\nignore = ["PLAN"]\n')


def _at(what: str) -> str:
    return f"@/{what}" if "/" in what or "." in what else what


def _explore(name: str, what: str, flags="", prepare=engines, file="", **options) -> Case:
    written = {file: f"@/plan.{file}"} if file else {}
    line = f"explore {_at(what)} {flags}" + (f" --{file} {written[file]}" if file else "")
    call = (es.explore, _at(what), {**options, **written})
    return stored(f"explore: {name}", prepare, line, call, lambda found: found.to_json())


def linted(what: Path | str, *, store: Path, **options) -> Linted:
    report = es.lint(what, store=store, **options)
    return Linted(source="", plan=es.open_plan(what, store=store).plan, report=report)


def _lint(name: str, what: str, flags="", prepare=engines, **options) -> Case:
    return stored(
        f"lint: {name}",
        prepare,
        f"lint {_at(what)} {flags}",
        (linted, _at(what), options),
        lambda found: findings_json([found]),
        "source",
        status=lambda found: int(any(LintConfig().is_bad(one) for one in found.report.findings)),
    )


def _texts(files) -> bytes:
    return encode([str(file) for file in files])


def _export(name: str, run: str, form: str) -> Case:
    return stored(
        f"runs export: {name}",
        two_engines,
        f"runs export {run} @/out.json --format {form}",
        (es.export_run, run, "@/out.json", {"format": form}),
        _texts,
    )


def tool_file(folder: Path) -> None:
    times = {"command": "a", "mean": 0.1, "times": [0.1, 0.11, 0.09]}
    (folder / "hyperfine.json").write_text(json.dumps({"results": [times]}))


def _import(name: str, what: str, prepare=engines) -> Case:
    call = (es.import_artifacts, f"@/{what}", {})
    return stored(f"import: {name}", prepare, f"import @/{what}", call, summary_json, ANY_TWO_CALLS)


def _report(name: str, what: str, flags="", **options) -> Case:
    line = f"report {_at(what)} --output @/out {flags}"
    call = (es.write_report, _at(what), "@/out", options)
    return stored(f"report: {name}", engines, line, call, lambda report: _texts(report.files))


def _archive(name: str, what: str, flags="", prepare=engines, **options) -> Case:
    return stored(
        f"archive: {name}",
        prepare,
        f"archive create @/net.tea {_at(what)} {flags}",
        (es.archive, "@/net.tea", _at(what), options),
        lambda archive: encode(archive.manifest),
        ANY_TWO_CALLS,
    )


def engine(folder: Path) -> None:
    engines(folder)
    (folder / "engines" / "net.engine").write_bytes(HEAD)


def _passport(name: str, what: str) -> Case:
    call = (es.passport, f"@/{what}", {})
    return stored(f"passport: {name}", engine, f"explore --passport @/{what}", call, encode)


CASES: tuple[Case, ...] = (
    _explore("a plan", PLAN),
    _explore("another order", PLAN, "--sort name", sort="name"),
    _explore("the limits of a GPU", PLAN, "--gpu H200", gpu="H200"),
    _explore("a page", PLAN, file="html"),
    _explore("a drawing", PLAN, "--color time", file="svg", color="time"),
    _explore("an archive", "net.tea", prepare=archived),
    _explore("a stored run", "planned"),
    _explore("layer times alone have no limits", "bare", "--gpu H200", gpu="H200"),
    _explore("two plans", "engines/", prepare=two_engines),
    _explore("no such profile", PLAN, "--plan-profile 3", plan_profile=3),
    _explore("no such GPU", PLAN, "--gpu H2000", gpu="H2000"),
    _explore("Netron without a model", PLAN, file="netron"),
    _explore("Perfetto", PLAN, file="perfetto"),
    _explore("options of a drawing alone", PLAN, "--color time", color="time"),
    _explore("a file that is missing", "none.graph.json"),
    _lint("a plan", PLAN),
    _lint("a rule", PLAN, "--select PLAN1 --ignore PLAN104", select=["PLAN1"], ignore=["PLAN104"]),
    _lint("a GPU", PLAN, "--gpu H200", gpu="H200"),
    _lint("a configuration", PLAN, "--config @/rules.toml", configured, config="@/rules.toml"),
    _lint("an archive", "net.tea", prepare=archived),
    _lint("a stored run", "planned"),
    _lint("a run without a plan", "bare"),
    _lint("no such rule", PLAN, "--select NONE1", select=["NONE1"]),
    _lint("no such GPU", PLAN, "--gpu H2000", gpu="H2000"),
    _lint("a file that is missing", "none.graph.json"),
    _import("a folder", "engines"),
    _import("an archive", "net.tea", archived),
    _import("a file that is missing", "none"),
    _import("a file of hyperfine", "hyperfine.json", tool_file),
    _export("hyperfine", "bare", "hyperfine"),
    _export("nvbench", "bare", "nvbench"),
    _export("no such run", "none", "google-benchmark"),
    _report("a plan", PLAN),
    _report("a stored run", "planned", "--topk 3", topk=3),
    _report("a file that is missing", "none.graph.json"),
    _archive("a folder", "engines/"),
    _archive("a plan alone", PLAN, "--only", only=True),
    _archive("without its plan", "engines/", "--without plan", without=["plan"]),
    _archive("nothing is left", PLAN, "--only --without plan", only=True, without=["plan"]),
    _archive("there already", "engines/", prepare=archived),
    _passport("an engine", "engines/net.engine"),
    _passport("a plan", PLAN),
    _passport("layer times", "engines/net.profile.json"),
    _passport("a file that is missing", "none.engine"),
)
