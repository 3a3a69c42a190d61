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
from tests.one_way.case import Case, case, stored

#: Times, ids, measured values, the last lines of a log, and the command line that is recorded.
#: Figures too: which of them a run has depends on how its samples scatter.
MEASURED = "command detail created started ended run runs figures value warnings is_unstable"
QUICK = {"iterations": 20, "warmup": "1", "layers": False, "include": ("convnet",)}
QUICK_FLAGS = "--iterations 20 --warmup 1 --no-layers --include convnet"
FAULTY = ("fake", "fake?fault=segfault")
FAULTY_FLAGS = f"--on fake --on fake?fault=segfault {QUICK_FLAGS}"


def models(folder: Path) -> None:
    sample_models(folder / "zoo")


def run_before(folder: Path) -> None:
    """Run the suite once: with a cell that is fine, and one that crashes."""
    models(folder)
    words = ["suite", str(folder / "zoo"), *FAULTY_FLAGS.split(), "--store", str(folder / "store")]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(words)


def _data(suite) -> bytes:
    return encode(suite.result)


def _status(suite) -> int:
    return exit_code(suite.result)


def run(source: Path, **options):
    return es.run_suite(es.SuiteRequest(source=source, **options))


def _run(
    name: str, flags: str, /, *, prepare=models, volatile=MEASURED, source="zoo", **options
) -> Case:
    call = (run, f"@/{source}", options)
    line = f"suite @/{source} {flags}"
    return stored(f"suite: {name}", prepare, line, call, _data, volatile, status=_status)


def cells_of(source: Path, **options):
    return list_cells(es.SuiteRequest(source=source, **options))


def fetched(links: Path, target: Path):
    return fetch_models(links, target, DownloadObserver())


CASES: tuple[Case, ...] = (
    _run("a folder", f"--on fake {QUICK_FLAGS}", backends=("fake",), **QUICK),
    _run("a crash", FAULTY_FLAGS, backends=FAULTY, **QUICK),
    _run(
        "options",
        f"--on fake --name night --batch 1 --processes 2 {QUICK_FLAGS}",
        backends=("fake",),
        name="night",
        batches=(1,),
        processes=2,
        **QUICK,
    ),
    _run(
        "wrong outputs",
        f"--on ort-cpu --mode validate --reference fake {QUICK_FLAGS}",
        backends=("ort-cpu",),
        mode="validate",
        reference="fake",
        volatile=MEASURED.replace("figures ", ""),
        **QUICK,
    ),
    _run(
        "right outputs",
        f"--on ort-cpu --mode both --rtol 0.01 {QUICK_FLAGS}",
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
        f"{FAULTY_FLAGS} --retry-failed --retry-busy",
        prepare=run_before,
        backends=FAULTY,
        retry_failed=True,
        retry_busy=True,
        **QUICK,
    ),
    _run(
        "another source under the same name",
        f"--on fake --name zoo {QUICK_FLAGS}",
        prepare=lambda folder: (run_before(folder), (folder / "zoo").rename(folder / "other")),
        source="other",
        backends=("fake",),
        name="zoo",
        **QUICK,
    ),
    _run("no such file", "", source="none.toml"),
    _run("no such backend", "--on nosuch", backends=("nosuch",)),
    _run("a name that is no tag", "--name 'two words'", name="two words"),
    _run("no model is left", "--include nosuch", include=("nosuch",)),
    _run(
        "tolerance and rtol",
        "--mode both --tolerance fp16 --rtol 0.1",
        mode="both",
        tolerance="fp16",
        rtol=0.1,
    ),
    _run(
        "a reference that is not there",
        "--mode both --reference out/x",
        mode="both",
        reference="out/x",
    ),
    _run("a time that is none", "--timeout soon", timeout="soon"),
    _run("more jobs than cores", "--jobs 4096", place=ThisMachine(jobs=4096)),
    _run("an environment that is not named", "--on fake@old", backends=("fake@old",)),
    _run(
        "an environment in a container",
        "--on fake@old --environment old=python3 --in-docker i",
        backends=("fake@old",),
        environments={"old": "python3"},
        place=DockerImage(image="i"),
    ),
    stored(
        "suite: opened after it ran",  # the command line resumes, and has nothing to run
        run_before,
        f"suite @/zoo {FAULTY_FLAGS}",
        (es.open_suite, "zoo", {}),
        _data,
        "command",
        status=_status,
    ),
    stored(
        "suite: cells",
        models,
        "suite @/zoo --list --on ort-cpu:int8",
        (cells_of, "@/zoo", {"backends": ("ort-cpu:int8",)}),
        encode,
    ),
    case(
        "suite: an example that is there already",
        lambda folder: (folder / "suite.toml").write_text(""),
        "suite --init @/",
        (write_example, "@/", {}),
        str,
    ),
    case(
        "models: of a folder",
        models,
        "models list @/zoo --store @/",
        (lambda zoo, store: list_models([str(zoo)], store), "@/zoo", "@/", {}),
        encode,
    ),
    case(
        "models: a word of none",
        models,
        "models list @/none.onnx",
        (lambda word: list_models([str(word)]), "@/none.onnx", {}),
        encode,
    ),
    case(
        "models: a link to nowhere",
        lambda folder: (folder / "links.txt").write_text("http://127.0.0.1:9/a.onnx\n"),
        "models fetch @/links.txt --to @/zoo",
        (fetched, "@/links.txt", "@/zoo", {}),
        lambda downloads: encode(downloads.fetched),
        status=lambda downloads: 0 if downloads.is_complete else 3,
    ),
)
