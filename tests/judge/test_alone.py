"""The judge in an environment that has NumPy alone, and the rule that nothing else runs rounds."""

import ast
import re
import subprocess
import sysconfig
import venv
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "enginescope"
MOST_LINES = 6_000
#: A file without one of these neither draws nor runs rounds, and need not be parsed.
WORDS = re.compile("[Rr]andom|shuffle|RoundPosition|run_jobs")
#: The one module that draws an order of sides, and code that draws an order of other things.
DRAWS = {
    "judge/experiment.py",
    "backends/varying_shapes.py",  # of shapes within a process
}

#: Services that run jobs in a loop which is none over rounds: one job for each of two stacks.
LOOPS = {"services/upgrade/stacks.py"}

#: A guard, not a measurement: nothing heavy is imported before a name is used.
CHEAP = "import enginescope.judge, sys; print('numpy' in sys.modules)\n"
JUDGE = """
import enginescope
from enginescope import judge

rounds = tuple((5.0 + 0.01 * number,) for number in range(8))
faster = tuple((4.0 + 0.01 * number,) for number in range(8))
answer = judge.compare(judge.Recorded(rounds, "old"), judge.Recorded(faster, "new"), rounds=8)
print(answer)
print(judge.compare(lambda: sum(range(90)), lambda: sum(range(9)), seconds=0.01).markdown())
roots = {name.partition(".")[0] for name in sys.modules}
known = {"numpy", "enginescope", "__main__", "__mp_main__"}
print("MORE", sorted(roots - set(sys.stdlib_module_names) - known))
"""


def test_numpy_is_enough_and_imported_late(tmp_path) -> None:
    """Every module is imported, and comparisons run, without any other package installed."""
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "bare")}))
    numpy_at = Path(np.__file__).parent
    for name in (numpy_at.name, "numpy.libs"):
        if (numpy_at.parent / name).exists():
            (site / name).symlink_to(numpy_at.parent / name)
    (site / "enginescope").symlink_to(SOURCE)
    modules = [
        ".".join(("enginescope", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in sorted((SOURCE / "judge").rglob("*.py"))
    ]
    imports = "".join(f"import {module.removesuffix('.__init__')}\n" for module in modules)
    done = subprocess.run(
        [python, "-I", "-c", CHEAP + imports + JUDGE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("False\n")
    assert "B is faster: 0.8" in done.stdout
    own = [line for line in done.stdout.splitlines() if line.startswith("MORE")]
    assert own == ["MORE []"], own


def test_the_judge_stays_small_and_one_module_runs_and_places_rounds() -> None:
    files = (SOURCE / "judge").rglob("*.py")
    assert sum(len(path.read_text().splitlines()) for path in files) <= MOST_LINES
    # No other module draws an order of sides, gives a process its place in a round, or runs jobs in
    # a loop of its own.
    drawing, placing, looping = set(), set(), set()
    for path in SOURCE.rglob("*.py"):
        text, name = path.read_text(), path.relative_to(SOURCE).as_posix()
        if not WORDS.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            is_random = isinstance(node, ast.Attribute) and node.attr in ("Random", "shuffle")
            is_imported = isinstance(node, ast.ImportFrom) and node.module == "random"
            drawing |= {name} if is_random or is_imported else set()
            if isinstance(node, ast.For | ast.While) and _calls(node, "run_jobs"):
                looping.add(name)
            if isinstance(node, ast.Call) and _is_named(node.func, "RoundPosition"):
                placing.add(name)
    assert drawing == DRAWS
    assert (placing, looping) == ({"services/measurement/rounds.py"}, LOOPS)


def _is_named(func: ast.expr, name: str) -> bool:
    return name in (getattr(func, "id", None), getattr(func, "attr", None))


def _calls(node: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Call) and _is_named(one.func, name) for one in ast.walk(node))
