import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import enginescope as es
from enginescope.core.jsonio import encode
from enginescope.render.page.export import summary_json
from enginescope.render.plans.findings import Linted, findings_json
from enginescope.rules.catalogue import LintConfig
from enginescope.store.archive import Store
from tests.formats import plans
from tests.formats.importing.test_plan_files import TIMES
from tests.formats.plan.test_engine_file import HEAD
from tests.one_way.case import Case
from tests.render.runs import imported_run, measured_run

PLAN = "engines/net.graph.json"
ANY_TWO_CALLS = frozenset({"created", "run"})


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


def _named(folder: Path, what: str) -> str:
    return str(folder / what) if "/" in what or "." in what else what


def _case(
    name: str,
    arguments: Callable[[Path], list[str]],
    call: Callable[[Path], Any],
    data: Callable[[Any], Any],
    prepare: Callable[[Path], None] = engines,
    **options: Any,
) -> Case:
    return Case(
        name=name,
        prepare=prepare,
        arguments=lambda folder: [*arguments(folder), "--store", str(folder / "store")],
        call=call,
        data=data,
        **options,
    )


def _explore(
    name: str, what: str, flags: list[str], prepare: Any = engines, file: str = "", **options: Any
) -> Case:
    def arguments(folder: Path) -> list[str]:
        written = [f"--{file}", str(folder / f"plan.{file}")] if file else []
        return ["explore", _named(folder, what), *flags, *written]

    def call(folder: Path) -> Any:
        written = {file: folder / f"plan.{file}"} if file else {}
        return es.explore(_named(folder, what), **options, **written, store=folder / "store")

    return _case(f"explore: {name}", arguments, call, lambda found: found.to_json(), prepare)


def _lint(
    name: str, what: str, flags: list[str], prepare: Any = engines, config: str = "", **options: Any
) -> Case:
    def arguments(folder: Path) -> list[str]:
        return [
            *("lint", _named(folder, what), *flags),
            *(("--config", str(folder / config)) if config else ()),
        ]

    def call(folder: Path) -> Linted:
        store = folder / "store"
        if config:
            options["config"] = folder / config
        report = es.lint(_named(folder, what), **options, store=store)
        plan = es.open_plan(_named(folder, what), store=store).plan
        return Linted(source="", plan=plan, report=report)

    return _case(
        f"lint: {name}",
        arguments,
        call,
        lambda linted: findings_json([linted]),
        prepare,
        volatile=frozenset({"source"}),
        status=lambda linted: int(any(LintConfig().is_bad(one) for one in linted.report.findings)),
    )


def _export(name: str, run: str, form: str) -> Case:
    return Case(
        name=f"runs export: {name}",
        prepare=two_engines,
        arguments=lambda folder: [
            *("runs", "export", run, str(folder / "out.json"), "--format", form),
            *("--store", str(folder / "store")),
        ],
        call=lambda folder: es.export_run(
            run, folder / "out.json", format=form, store=folder / "store"
        ),
        data=lambda files: encode([str(file) for file in files]),
    )


def tool_file(folder: Path) -> None:
    times = {"command": "a", "mean": 0.1, "times": [0.1, 0.11, 0.09]}
    (folder / "hyperfine.json").write_text(json.dumps({"results": [times]}))


def _import(name: str, what: str, prepare: Any = engines) -> Case:
    return _case(
        f"import: {name}",
        lambda folder: ["import", str(folder / what)],
        lambda folder: es.import_artifacts(folder / what, store=folder / "store"),
        summary_json,
        prepare,
        volatile=ANY_TWO_CALLS,
    )


def _report(name: str, what: str, flags: list[str], **options: Any) -> Case:
    return _case(
        f"report: {name}",
        lambda folder: ["report", _named(folder, what), *flags, "--output", str(folder / "out")],
        lambda folder: es.write_report(
            _named(folder, what), folder / "out", **options, store=folder / "store"
        ),
        lambda report: encode([str(path) for path in report.files]),
    )


def _archive(name: str, files: tuple[str, ...], flags: list[str], **options: Any) -> Case:
    return _case(
        f"archive: {name}",
        lambda folder: [
            *("archive", "create", str(folder / "net.tea")),
            *(*(_named(folder, file) for file in files), *flags),
        ],
        lambda folder: es.archive(
            folder / "net.tea",
            *(_named(folder, file) for file in files),
            **options,
            store=folder / "store",
        ),
        lambda archive: encode(archive.manifest),
        archived if name == "there already" else engines,
        volatile=ANY_TWO_CALLS,
    )


def engine(folder: Path) -> None:
    engines(folder)
    (folder / "engines" / "net.engine").write_bytes(HEAD)


def _passport(name: str, what: str, flags: list[str], **options: Any) -> Case:
    return _case(
        f"passport: {name}",
        lambda folder: ["explore", "--passport", str(folder / what), *flags],
        lambda folder: es.passport(folder / what, **options, store=folder / "store"),
        encode,
        engine,
    )


CASES: tuple[Case, ...] = (
    _explore("a plan", PLAN, []),
    _explore("another order", PLAN, ["--sort", "name"], sort="name"),
    _explore("the limits of a GPU", PLAN, ["--gpu", "H200"], gpu="H200"),
    _explore("a page", PLAN, [], file="html"),
    _explore("a drawing", PLAN, ["--color", "time"], file="svg", color="time"),
    _explore("an archive", "net.tea", [], archived),
    _explore("a stored run", "planned", []),
    _explore("layer times alone have no limits", "bare", ["--gpu", "H200"], gpu="H200"),
    _explore("two plans", "engines/", [], two_engines),
    _explore("no such profile", PLAN, ["--plan-profile", "3"], plan_profile=3),
    _explore("no such GPU", PLAN, ["--gpu", "H2000"], gpu="H2000"),
    _explore("Netron without a model", PLAN, [], file="netron"),
    _explore("Perfetto", PLAN, [], file="perfetto"),
    _explore("options of a drawing alone", PLAN, ["--color", "time"], color="time"),
    _explore("a file that is missing", "none.graph.json", []),
    _lint("a plan", PLAN, []),
    _lint("some rules", PLAN, ["--select", "PLAN1", "--ignore", "PLAN104"],
          select=["PLAN1"], ignore=["PLAN104"]),
    _lint("a GPU", PLAN, ["--gpu", "H200"], gpu="H200"),
    _lint("a configuration", PLAN, [], configured, config="rules.toml"),
    _lint("an archive", "net.tea", [], archived),
    _lint("a stored run", "planned", []),
    _lint("a run without a plan", "bare", []),
    _lint("no such rule", PLAN, ["--select", "NONE1"], select=["NONE1"]),
    _lint("no such GPU", PLAN, ["--gpu", "H2000"], gpu="H2000"),
    _lint("a file that is missing", "none.graph.json", []),
    _import("a folder", "engines"),
    _import("an archive", "net.tea", archived),
    _import("a file that is missing", "none"),
    _import("a file of hyperfine", "hyperfine.json", tool_file),
    _export("hyperfine", "bare", "hyperfine"),
    _export("nvbench", "bare", "nvbench"),
    _export("no such run", "none", "google-benchmark"),
    _report("a plan", PLAN, []),
    _report("a stored run", "planned", ["--topk", "3"], topk=3),
    _report("a file that is missing", "none.graph.json", []),
    _archive("a folder", ("engines/",), []),
    _archive("a plan alone", (PLAN,), ["--only"], only=True),
    _archive("without its plan", ("engines/",), ["--without", "plan"], without=["plan"]),
    _archive("nothing is left", (PLAN,), ["--only", "--without", "plan"], only=True,
             without=["plan"]),
    _archive("there already", ("engines/",), []),
    _passport("an engine", "engines/net.engine", []),
    _passport("a plan", PLAN, []),
    _passport("layer times", "engines/net.profile.json", []),
    _passport("a file that is missing", "none.engine", []),
)  # fmt: skip
