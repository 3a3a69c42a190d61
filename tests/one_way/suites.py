import contextlib
import io
from pathlib import Path

import enginescope as es
from enginescope.cli.main import main
from enginescope.cli.suites.suite import exit_code
from enginescope.core.jsonio import encode
from enginescope.runner.inputs.sample_models import sample_models
from enginescope.services.suites.models import DownloadObserver, fetch_models, list_models
from enginescope.services.suites.request import DockerImage, ThisMachine, list_cells, write_example
from tests.one_way.case import Case, stored

#: Times, ids, measured values, the last lines of a log, and the command line that is recorded.
#: Figures too: which of them a run has depends on how its samples scatter.
MEASURED = "command detail created started ended run runs figures value warnings is_unstable"
QUICK = {"iterations": 20, "warmup": "1", "layers": False, "include": ("convnet",)}
QUICK_FLAGS = ["--iterations", "20", "--warmup", "1", "--no-layers", "--include", "convnet"]


def models(folder: Path) -> None:
    sample_models(folder / "zoo")


def run_before(folder: Path) -> None:
    """Run the suite once: with a cell that is fine, and one that crashes."""
    models(folder)
    flags = ["--on", "fake", "--on", "fake?fault=segfault", *QUICK_FLAGS]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(["suite", str(folder / "zoo"), *flags, "--store", str(folder / "store")])


def _data(suite) -> bytes:
    return encode(suite.result)


def _status(suite) -> int:
    return exit_code(suite.result)


def run(source: Path, **options):
    return es.run_suite(es.SuiteRequest(source=source, **options))


def _run(
    name: str, flags: list[str], /, *, prepare=models, volatile=MEASURED, source="zoo", **options
) -> Case:
    made = (run, f"@/{source}", options)
    line = f"suite @/{source}"
    return stored(f"suite: {name}", prepare, line, made, _data, volatile, flags, status=_status)


FAULTY = ("fake", "fake?fault=segfault")
FAULTY_FLAGS = ["--on", "fake", "--on", "fake?fault=segfault", *QUICK_FLAGS]

CASES: tuple[Case, ...] = (
    _run("a folder", ["--on", "fake", *QUICK_FLAGS], backends=("fake",), **QUICK),
    _run("a crash", FAULTY_FLAGS, backends=FAULTY, **QUICK),
    _run(
        "options",
        ["--on", "fake", "--name", "night", "--batch", "1", "--processes", "2", *QUICK_FLAGS],
        backends=("fake",),
        name="night",
        batches=(1,),
        processes=2,
        **QUICK,
    ),
    _run(
        "wrong outputs",
        ["--on", "ort-cpu", "--mode", "validate", "--reference", "fake", *QUICK_FLAGS],
        backends=("ort-cpu",),
        mode="validate",
        reference="fake",
        volatile=MEASURED.replace("figures ", ""),
        **QUICK,
    ),
    _run(
        "right outputs",
        ["--on", "ort-cpu", "--mode", "both", "--rtol", "0.01", *QUICK_FLAGS],
        backends=("ort-cpu",),
        mode="both",
        rtol=0.01,
        **QUICK,
    ),
    _run(
        "resumed",
        FAULTY_FLAGS,
        prepare=run_before,
        backends=FAULTY,
        volatile="command",  # the rows of the first session stay as they are
        **QUICK,
    ),
    _run(
        "failed cells again",
        [*FAULTY_FLAGS, "--retry-failed", "--retry-busy"],
        prepare=run_before,
        backends=FAULTY,
        retry_failed=True,
        retry_busy=True,
        **QUICK,
    ),
    _run(
        "another source under the same name",
        ["--on", "fake", "--name", "zoo", *QUICK_FLAGS],
        prepare=lambda folder: (run_before(folder), (folder / "zoo").rename(folder / "other")),
        source="other",
        backends=("fake",),
        name="zoo",
        **QUICK,
    ),
    _run("no such file", [], source="none.toml"),
    _run("no such backend", ["--on", "nosuch"], backends=("nosuch",)),
    _run("a name that is no tag", ["--name", "two words"], name="two words"),
    _run("no model is left", ["--include", "nosuch"], include=("nosuch",)),
    _run(
        "tolerance and rtol",
        ["--mode", "both", "--tolerance", "fp16", "--rtol", "0.1"],
        mode="both",
        tolerance="fp16",
        rtol=0.1,
    ),
    _run(
        "a reference that is not there",
        ["--mode", "both", "--reference", "out/x"],
        mode="both",
        reference="out/x",
    ),
    _run("a time that is none", ["--timeout", "soon"], timeout="soon"),
    _run("more jobs than cores", ["--jobs", "4096"], place=ThisMachine(jobs=4096)),
    _run("an environment that is not named", ["--on", "fake@old"], backends=("fake@old",)),
    _run(
        "an environment in a container",
        ["--on", "fake@old", "--environment", "old=python3", "--in-docker", "i"],
        backends=("fake@old",),
        environments={"old": "python3"},
        place=DockerImage(image="i"),
    ),
    stored(
        "suite: opened after it ran",  # the command line resumes, and has nothing to run
        run_before,
        "suite @/zoo",
        (es.open_suite, "zoo", {}),
        _data,
        "command",
        FAULTY_FLAGS,
        status=_status,
    ),
    Case(
        name="suite: cells",
        prepare=models,
        arguments=lambda folder: [
            *("suite", str(folder / "zoo"), "--list", "--on", "ort-cpu:int8"),
            *("--store", str(folder)),
        ],
        call=lambda folder: list_cells(
            es.SuiteRequest(source=folder / "zoo", backends=("ort-cpu:int8",), store=folder)
        ),
        data=encode,
    ),
    Case(
        name="suite: an example that is there already",
        prepare=lambda folder: (folder / "suite.toml").write_text(""),
        arguments=lambda folder: ["suite", "--init", str(folder)],
        call=write_example,
        data=str,
    ),
    Case(
        name="models: of a folder",
        prepare=models,
        arguments=lambda folder: ["models", "list", str(folder / "zoo"), "--store", str(folder)],
        call=lambda folder: list_models([str(folder / "zoo")], folder),
        data=encode,
    ),
    Case(
        name="models: a word of none",
        prepare=models,
        arguments=lambda folder: ["models", "list", str(folder / "none.onnx")],
        call=lambda folder: list_models([str(folder / "none.onnx")]),
        data=encode,
    ),
    Case(
        name="models: a link to nowhere",
        prepare=lambda folder: (folder / "links.txt").write_text("http://127.0.0.1:9/a.onnx\n"),
        arguments=lambda folder: [
            *("models", "fetch", str(folder / "links.txt"), "--to", str(folder / "zoo"))
        ],
        call=lambda folder: fetch_models(folder / "links.txt", folder / "zoo", DownloadObserver()),
        data=lambda downloads: encode(downloads.fetched),
        status=lambda downloads: 0 if downloads.is_complete else 3,
    ),
)
