import os
from pathlib import Path

import pytest

from enginescope.compat.trtexec import arguments
from enginescope.compat.trtexec.arguments import help_text
from enginescope.formats.trtexec.trtexec_flags import Flag, all_flags
from tests.compat.trtexec.runs import version

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "trtexec-flags.md"
BEGIN, END = "<!-- begin of the table -->\n", "<!-- end of the table -->"


@pytest.mark.parametrize("text", ["8.6.1", "10.16.1", "11.1.0"])
def test_the_help_of_a_version_has_its_flags_and_no_others(text) -> None:
    taken, _, refused = help_text(version(text)).partition("Not supported")
    rows = [row[2:].split()[0] for row in taken.split("\n") if row[:4] == "  --"]
    listed = {row.partition("=")[0] for row in rows}
    flags = [one for one in all_flags().values() if one.is_in(version(text).release)]
    own = {arguments.STORE_FLAG, arguments.CHECK_FLAG, arguments.VERSION_FLAG}
    assert listed == own | {one.name for one in flags if not one.is_refused}
    assert set(refused.split()) & {one.name for one in all_flags().values()} == {
        one.name for one in flags if one.is_refused
    }


def test_the_help_fits_a_terminal_of_its_lists() -> None:
    refused = help_text(None).partition("Not supported")[2].splitlines()[1:]
    assert all(len(line) <= 80 for line in refused)


def flag_tables() -> str:
    """Return the flags as Markdown: one table of those honoured, one of those refused."""
    honoured = [one for one in all_flags().values() if not one.is_refused]
    refused = [one for one in all_flags().values() if one.is_refused]
    lines = [
        *("### Honoured", "", "| flag | TensorRT | default | what it does | removed in |"),
        "|---|---|---|---|---|",
        *(
            _row(_spelled(one), _range(one), one.default, arguments._meaning(one), one.instead)
            for one in honoured
        ),
        *("", "### Refused", "", "| flag | TensorRT | why | what to do |", "|---|---|---|---|"),
        *(_row(f"`{one.name}`", _range(one), one.meaning, one.instead) for one in refused),
    ]
    return "\n".join(lines) + "\n"


def _spelled(flag: Flag) -> str:
    value = "" if flag.kind == "flag" else f"={arguments._PLACES[flag.kind]}"
    return f"`{flag.name}{value}`"


def _range(flag: Flag) -> str:
    last = f"{flag.last[0]}.{flag.last[1]}" if flag.last else ""
    return f"{flag.first[0]}.{flag.first[1]}–{last}"


def _row(*cells: str | None) -> str:
    return "| " + " | ".join((cell or "").replace("|", "\\|") for cell in cells) + " |"


def test_the_documented_flags_are_those_of_the_table() -> None:
    """Written anew with ENGINESCOPE_WRITE_DOCS=1."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    assert end
    wanted = f"{before}{BEGIN}\n{flag_tables()}\n{END}{after}"
    if os.environ.get("ENGINESCOPE_WRITE_DOCS"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted


def test_a_newer_tensorrt_is_said_to_be_taken_for_the_last_known() -> None:
    assert "is newer than 11.1" in " ".join(help_text(version("11.4.1")).split())
    assert "newer" not in help_text(version("11.1.0")).partition("=== Model")[0]
