"""Record commands of the documentation as pictures of a terminal.

`python benchmarks/terminal_pictures.py` runs each command of `SCREENS` in a pseudo-terminal, in a
folder with the files of the recipes, and writes docs/images/terminal-NAME.svg: what the terminal
shows when the command has ended. Names of commands on the command line limit it to these.
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tests.docs.recipe_inputs import prepare  # noqa: E402 - of this repository

COLUMNS = 88
#: Name -> the command line, and the most lines of its screen that the picture has.
SCREENS = {
    "compare": ("enginescope compare cmp-c0dd8fe7 --store h200", 24),
    "lint": ("enginescope lint resnet18.graph.json --gpu H200", 24),
    "gate": ("enginescope gate --baseline cmp-c0dd8fe7 --store h200 --max-regression 3%", 24),
}
#: Sent by rich's live lines: erase a line, move, show and hide the cursor.
_CONTROL = re.compile(r"\x1b\[\??[0-9;]*[ABCDEFGHJKSTfhlnsu]")
_WEB_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def screen_of(line: str, folder: Path) -> str:
    """Return what a terminal shows when the command has ended, with its colors."""
    main, side = pty.openpty()
    variables = {
        **os.environ,
        "COLUMNS": str(COLUMNS),
        "TERM": "xterm-256color",
        "ENGINESCOPE_HOME": str(folder / ".enginescope"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    # standard error is a pipe: progress is taken back anyway, and the next step comes last
    process = subprocess.Popen(
        ["bash", "-c", line], stdout=side, stderr=subprocess.PIPE, cwd=folder, env=variables
    )
    os.close(side)
    parts = []
    while True:
        try:
            data = os.read(main, 65_536)
        except OSError:  # Linux: the other end is closed
            break
        if not data:
            break
        parts.append(data)
    os.close(main)
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    process.wait()
    steps = [one for one in errors.splitlines() if one.startswith("  ")]
    text = b"".join(parts).decode().replace("\r\n", "\n")
    return _CONTROL.sub("", text).rstrip("\n") + "\n" + "\n".join(steps)


def picture_of(line: str, screen: str, most: int) -> str:
    """Return the command and its screen as an SVG."""
    lines = screen.splitlines()
    shown = lines if len(lines) <= most else [*lines[: most - 1], "…"]
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text("$ ", style="bold green").append(line, style="bold"))
    console.print(Text.from_ansi("\n".join(shown)), soft_wrap=True)
    picture = console.export_svg(title="enginescope", theme=MONOKAI, unique_id="terminal")
    # the picture asks nothing of the network: the reader's own monospace font
    return _WEB_FONT.sub("", picture).replace("Fira Code", "ui-monospace")


def main(names: list[str]) -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(folder)
        for name in names or SCREENS:
            line, most = SCREENS[name]
            path = ROOT / "docs" / "images" / f"terminal-{name}.svg"
            picture = picture_of(line, screen_of(line, folder), most)
            path.write_text(picture, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: {len(picture) / 1024:.0f} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
