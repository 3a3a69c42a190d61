"""What a suite prints at its end."""

from enginescope.cli.suites.suite import present
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.services.suites.request import SuiteObserver
from enginescope.services.suites.run import write_tables
from tests.suites.made import cell, result, timed


def test_what_could_not_be_read_is_on_the_screen_and_on_the_page(tmp_path, capsys) -> None:
    made = result([timed(cell("a"), 2.0)])
    stray = Notice(code="W-SUITE-LINE", message="line 2 of cells.jsonl cannot be read")
    for one, count in ((made, 0), (replace(made, notices=(stray,)), 1)):
        write_tables(one, tmp_path, SuiteObserver())
        present(one, tmp_path, as_json=False)
        assert capsys.readouterr().out.count("! line 2 of cells.jsonl cannot") == count
        assert (tmp_path / "suite.html").read_text().count("line 2 of cells.jsonl") == count
