"""Read the commands of documentation pages and run them as a reader would.

A fenced block of the language ``console`` holds commands behind ``$`` and their output.
``python -m tests.docs.recipes PAGE…`` runs them and writes output that never changes into the page.

A comment directly above a block says what is special about it:

``<!-- needs an NVIDIA GPU -->``, ``<!-- needs a cluster -->``, ``<!-- needs a server -->``
    It is not run.
``<!-- run on the page two-models -->``
    That page runs the same command, and it takes long.
``<!-- stand-in TensorRT -->``
    It runs with the stand-in for TensorRT and CUDA; the output in the page is from a real GPU.
``<!-- output: 12 lines -->``
    The page shows so many lines of it, and ``…``.
``<!-- output: as above -->``
    The page shows no output, because an earlier block has it.
``<!-- output: 12 lines of enginescope … -->``, ``<!-- output of enginescope … -->``
    The block of the language ``text`` is what this command prints. It is not for the reader, who
    lacks the runs that it reads.

Other fenced blocks with a ``title`` are files, written before the commands below them run.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.recipe_inputs import prepare
from tests.fakes.loading import environment

ROOT = Path(__file__).resolve().parents[2]
#: Marks of commands that this machine cannot run.
NEEDS = ("needs an NVIDIA GPU", "needs a cluster", "needs a server")
#: Verbs whose output is the same every time, so that a page must show it as it is.
EXACT = ("explore", "lint", "archive list", "models list")
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<language>\w+)(?P<info>[^\n]*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_PRINTED = re.compile(r"output(?:: \d+ lines)? of (?P<line>.+)")
_EXIT = re.compile(r"\s+# exit code (\d+)$")
#: An archive that a page makes is of the day on which the page is tested.
_WRITTEN = re.compile(r"^(written )\d{4}-\d\d-\d\d", re.MULTILINE)
_COMMAND = re.compile(r"^\$ (?:enginescope|python|for)\b")
#: The second thread of a tiny model only waits for the first, and uses a core for it.
_ONE_THREAD = "'ort-cpu?intra_op_num_threads=1'"
#: Commands that measure in processes: here they do so in their own (`tests.plants.in_process`),
#: but for `bench` without a model, or on the stand-in.
_MANY = re.compile(
    r"\benginescope (?=contend |doctor --|ladder |lottery |tune |shapes |suite "
    r"|sensitivity |upgrade |validate |depth |bench .*--compare"
    r"|bench (?!.*(?:trt|--pin))\S*\.onnx)"
)
#: Short measurements: appended unless the command says otherwise. They change no output's shape.
_SHORT = {
    "gate": {"--inconclusive": "pass"},
    "bench": {"--max-time": "20ms", "--warmup": "0"},
    "suite": {"--max-time": "20ms", "--warmup": "0"},
    "upgrade": {"--rounds": "8", "--iterations": "20", "--samples": "2", "--on": _ONE_THREAD},
    "contend": {"--rounds": "3", "--duration": "50ms"},
    "ladder": {"--rounds": "3", "--duration": "20ms"},
    "load": {
        "--duration": "300ms",
        "--repeats": "1",
        "--resolution": "60",
        "--on": _ONE_THREAD,  # a slow search takes seconds of both threads at each rate
    },
    "shapes": {"--rounds": "3", "--visits": "2", "--requests": "4"},
    "lottery": {"--builds": "3", "--processes": "2", "--iterations": "24"},
    "tune": {"--iterations": "20", "--samples": "1", "--max-time": "1s"},
    "sensitivity": {"--iterations": "20", "--samples": "1", "--max-time": "1s"},
    "depth": {"--warmup": "2", "--iterations": "10", "--telemetry-time": "200ms"},
    "trtexec": {"--duration": "=0", "--iterations": "=20", "--warmUp": "=0"},
}
#: The same in files: an expression -> what takes its place.
_SHORT_IN_FILES = {
    r"es\.bench\((.*)\)": (
        r"es.bench(\1, workload=es.Workload(stop=es.StopRule(max_time_ms=20.0)))"
    ),
    r"(?m)^processes = \d+": "processes = 2",
}

#: Exit codes that disturbed measurements may have beside the page's: too few calm rounds, and a
#: regression or an unstable side.
_DISTURBED = {"doctor": 2, "gate": 1, "upgrade": 1, "load": 1}


@dataclass(frozen=True)
class Command:
    """A command of a page.

    Attributes:
        line: What is typed.
        exit_code: What the shell must return.
        output: The output that the page shows, line by line.
        mark: What the comment above its block says.
    """

    line: str
    exit_code: int
    output: tuple[str, ...]
    mark: str

    @property
    def exit_codes(self) -> set[int]:
        """Those that the command may have here; one only, where nothing is measured."""
        verb = self.line.partition("enginescope ")[2].split(" ")[0]
        disturbed = _DISTURBED.get(verb, self.exit_code)
        return {self.exit_code} if self.is_exact else {self.exit_code, disturbed}

    @property
    def is_exact(self) -> bool:
        """Whether the page must show the output as it is."""
        verb = self.line.partition("enginescope ")[2]
        is_same = verb.startswith(EXACT) or "--store h200" in self.line
        return is_same and "stand-in" not in self.mark and "-o " not in self.line


def steps_of(page: Path) -> list[tuple[str, str] | Command]:
    """Return the files and commands of a page in their order."""
    steps: list[tuple[str, str] | Command] = []
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        steps += commands_in(block)
        if title := re.search(r'title="([^"]+)"', block["info"]):
            steps.append((title[1], block["body"]))
    return steps


def commands_in(block: re.Match[str]) -> Iterator[Command]:
    """Yield the commands that a block shows, or the one that printed it."""
    mark = block["mark"] or ""
    if block["language"] == "console":
        yield from commands_of(block["body"], mark)
    elif printed := _PRINTED.fullmatch(mark):
        yield Command(printed["line"], 0, tuple(block["body"].splitlines()), mark)


def commands_of(body: str, mark: str) -> Iterator[Command]:
    """Yield the commands of a block; a line that ends in a backslash goes on."""
    for part in re.split(r"^(?=\$ )", body, flags=re.MULTILINE):
        if not part.startswith("$ "):
            continue
        lines = part.splitlines()
        last = next(at for at, line in enumerate(lines) if not line.endswith("\\"))
        typed = "\n".join(lines[: last + 1])
        code = _EXIT.search(typed)
        line = _EXIT.sub("", typed).removeprefix("$ ")
        yield Command(line, int(code[1]) if code else 0, tuple(lines[last + 1 :]), mark)


def is_run(command: Command) -> bool:
    """Whether the command is enginescope's, Python's, or a loop of them, and the mark allows it."""
    is_elsewhere = command.mark.startswith((*NEEDS, "run on the page"))
    return bool(_COMMAND.match(f"$ {command.line}")) and not is_elsewhere


class Folder:
    """A folder in which the commands of a page run, with a store of its own."""

    def __init__(self, path: Path, replaced: dict[str, str]) -> None:
        self.path = path
        self._replaced = replaced
        self._running: list[subprocess.Popen[str]] = []
        #: Standard output of the last command.
        self.shown = ""

    def write(self, name: str, text: str) -> None:
        """Write a file of the page, the addresses in it replaced."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for words, shorter in _SHORT_IN_FILES.items():
            text = re.sub(words, shorter, text)
        path.write_text(self._with_replaced(text), encoding="utf-8")

    def run(self, command: Command) -> int:
        """Run a command; one that ends in ``&`` stays until `close`."""
        line = self._with_replaced(short(command.line))
        variables = {
            **os.environ,
            "COLUMNS": "80",
            "NO_COLOR": "1",
            "ENGINESCOPE_HOME": str(self.path / ".enginescope"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            **(environment("10.16.1") if "stand-in" in command.mark else {}),
        }
        if "--on-ray" not in line:
            paths = (str(ROOT), *variables.get("PYTHONPATH", "").split(os.pathsep))
            variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
            line = _MANY.sub("python -m tests.plants.in_process ", line)
        options = {"cwd": self.path, "env": variables, "text": True}
        if line.endswith("&"):
            shell = ["bash", "-c", f"exec {line.removesuffix('&')}"]
            process = subprocess.Popen(shell, stderr=subprocess.PIPE, **options)
            self._running.append(process)
            self.shown = process.stderr.readline()  # it listens when it has said so
            return 0
        ended = subprocess.run(["bash", "-c", line], capture_output=True, timeout=280, **options)
        self.shown, self.errors = ended.stdout, ended.stderr
        return ended.returncode

    def close(self) -> None:
        for process in self._running:
            process.terminate()
            process.communicate(timeout=20)

    def _with_replaced(self, text: str) -> str:
        for word, other in self._replaced.items():
            text = text.replace(word, other)
        return text


def short(line: str) -> str:
    """Return a command that measures for a fraction of a second; a loop runs once."""
    if line.startswith("for "):
        once = re.sub(r"( in [^\s;]+)[^;]*", r"\1", line, count=1)
        return re.sub(r"enginescope [^;]+", lambda each: short(each[0]), once)
    verb = line.split()[1] if line.startswith("enginescope ") else ""
    limits = {} if "--reproduce" in line else dict(_SHORT.get(verb, {}))
    line = re.sub(r"(--(?:duration|max-time)) \d+m?s", r"\1 20ms", line)
    if "--suggest-precision" in line:
        line = line.replace("ort-cpu:fp16", "'ort-cpu:fp16?intra_op_num_threads=1'")
    if "--self-test" in line or "--noise" in line:
        limits |= {"--rounds": "8", "--duration": "20ms", "--on": _ONE_THREAD}
    if "--compare" in line:
        limits |= {"--on": _ONE_THREAD}
        limits["--duration"] = limits.pop("--max-time", "20ms")  # of all rounds, with it
        if "--threshold" not in line:  # with one, the page goes on with the verdict
            limits |= {"--rounds": "8"}
    added = [
        f"{name}{value}" if value.startswith("=") else f"{name} {value}"
        for name, value in limits.items()
        if name not in line and not (name == "--max-time" and "--duration" in line)
    ]
    head, ending, tail = re.sub(r"\s+# .*$", "", line).partition(" > ")
    return " ".join([head, *added]) + ending + tail


def shown_lines(command: Command, printed: str) -> list[str]:
    if command.mark == "output: as above":
        return []
    lines = _WRITTEN.sub(r"\g<1>2026-11-23", printed).rstrip("\n").splitlines()
    most = re.search(r"output: (\d+) lines", command.mark)
    if most and len(lines) > int(most[1]):
        lines = [*lines[: int(most[1])], "…"]
    return lines


def rewrite(path: Path) -> None:
    """Run the commands of a page and write what they print into it."""
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(Path(name), {})
        prepare(folder.path)
        for block in list(_BLOCK.finditer(text)):
            title = re.search(r'title="([^"]+)"', block["info"])
            commands = [*commands_in(block)]
            if title:
                folder.write(title[1], block["body"])
            if not commands:
                continue
            body = ""
            for command in commands:
                lines: list[str] = list(command.output)
                if is_run(command):
                    code = folder.run(command)
                    print(f"{path.name}: {command.line} → {code}")
                    if command.is_exact:
                        lines = shown_lines(command, folder.shown)
                remark = f"   # exit code {command.exit_code}" if command.exit_code else ""
                typed = [f"$ {command.line}{remark}"] if block["language"] == "console" else []
                body += "\n".join([*typed, *lines]) + "\n"
            text = text.replace(block["body"], body, 1)
        folder.close()
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if shutil.which("bash") is None:
        sys.exit("needs bash")
    for argument in sys.argv[1:]:
        rewrite(Path(argument))
