from pathlib import Path

import pytest

from enginescope.core.errors import FormatError, StoreError
from enginescope.records.suite.suite import CellStatus
from enginescope.store.suite_folder import ROWS, SuiteFolder, suite_folders, suite_named
from tests.suites.made import cell, result, row, timed


def test_rows_come_back_in_the_order_of_the_plan_each_the_last_of_its_cell(tmp_path) -> None:
    first, second = timed(cell("a"), 2.0), row(cell("b"), CellStatus.CRASHED)
    folder = SuiteFolder(tmp_path / "suite")
    assert not folder.exists
    made = result([first, second])
    folder.begin(made.plan)
    folder.keep(second)
    folder.keep(first)
    assert folder.result() == made
    assert folder.exists
    folder = SuiteFolder(tmp_path)
    again = timed(cell("a"), 3.0)
    folder.begin(result([again]).plan)
    for one in (row(cell("a"), CellStatus.TIMED_OUT), timed(cell("gone"), 1.0), again):
        folder.keep(one)
    assert folder.result().rows == (again,)


ONE, OTHER = timed(cell("a"), 2.0), timed(cell("b"), 4.0)


def begun(path: Path) -> SuiteFolder:
    """A suite of two cells, of which one has ended."""
    folder = SuiteFolder(path)
    folder.begin(result([ONE, OTHER]).plan)
    folder.keep(ONE)
    return folder


def test_half_a_line_is_no_row_and_one_that_lacks_only_its_end_is(tmp_path) -> None:
    folder = begun(tmp_path)
    with (tmp_path / ROWS).open("ab") as file:  # killed while it wrote
        file.write(b'{"cell":{"key":"b-ort')
    assert list(folder.rows()) == [ONE.cell.key]
    assert folder.result().notices == ()  # as any reader may find it
    folder.keep(OTHER)  # in its place
    assert list(folder.rows()) == [ONE.cell.key, OTHER.cell.key]
    assert folder.result().notices == ()
    folder = begun(tmp_path / "whole")
    rows = folder.path / ROWS
    rows.write_bytes(rows.read_bytes().rstrip())
    assert folder.result().rows == (ONE,)
    folder.keep(OTHER)
    assert folder.result() == result([ONE, OTHER])


@pytest.mark.parametrize(
    ("stray", "why"),
    [
        (b"merged by hand", "malformed"),
        (b'{"cell":{"key":"b-ort', "truncated"),  # in the midst: no kill of ours
        (b'{"cell":3,"status":"ok"}', "Expected `object`"),
        (b"\xff\xfe\x00", "malformed"),
        (b'{"cell":{"key":"\xff\xfe"}}', "utf-8"),
        (b'{"x":' + b"[" * 200_000, "recursion"),
    ],
)
def test_a_stray_line_is_named(tmp_path, stray, why) -> None:
    folder = begun(tmp_path)
    with (tmp_path / ROWS).open("ab") as file:
        file.write(stray + b"\n\n")
    folder.keep(OTHER)
    found = folder.result()
    assert found.rows == (ONE, OTHER)
    (notice,) = found.notices
    assert notice.code == "W-SUITE-LINE"
    assert f"line 2 of {tmp_path / ROWS} cannot be read (" in notice.message
    assert why in notice.message


def test_a_stray_end_stays_what_it_was(tmp_path) -> None:
    folder = begun(tmp_path)
    with (tmp_path / ROWS).open("ab") as file:
        file.write(b"merged by hand\nand again")
    folder.keep(OTHER)
    assert b"and again\n{" in (tmp_path / ROWS).read_bytes()
    found = folder.result()
    assert found.rows == (ONE, OTHER)
    assert "line 2 of " in found.notices[0].message
    assert ", and 1 more: " in found.notices[0].message


def test_one_process_at_a_time(tmp_path) -> None:
    folder = SuiteFolder(tmp_path)
    with (
        folder.held(),
        pytest.raises(StoreError, match="another process"),
        SuiteFolder(tmp_path).held(),
    ):
        pass
    with folder.held():  # and free again
        pass


def test_suites_are_found_by_name_and_folder(tmp_path) -> None:
    kept = SuiteFolder(tmp_path / "suites" / "nightly")
    kept.begin(result([]).plan)
    (tmp_path / "suites" / "no-suite").mkdir()
    assert [one.path for one in suite_folders(tmp_path)] == [kept.path]
    for name in ("nightly", str(kept.path)):
        assert suite_named(name, tmp_path).path == kept.path
    for name in ("", "other", "../suites/nightly", "no-suite"):
        assert suite_named(name, tmp_path) is None
    with pytest.raises(FormatError, match=r"suite\.json"):
        SuiteFolder(tmp_path).result()


def test_a_plan_that_is_damaged_comes_with_a_way_out(tmp_path) -> None:
    folder = begun(tmp_path)
    (tmp_path / "suite.json").write_text("{")
    with pytest.raises(FormatError) as caught:
        folder.result()
    assert caught.value.hint == (
        "delete it and give the suite's command again: cells.jsonl still has the finished cells"
    )
    (tmp_path / "suite.json").unlink()
    assert not folder.exists
    folder.begin(result([ONE]).plan)
    assert folder.result().rows == (ONE,)
