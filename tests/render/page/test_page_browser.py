import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.render.page.page import report_page
from tests.render.runs import failed_run, imported_run, measured_run

pytestmark = pytest.mark.browser


def page_at(folder, *runs):
    path = folder / "report.html"
    path.write_bytes(report_page([RunView(run) for run in runs]))
    return path


def test_charts_are_drawn_without_a_request_or_a_complaint(tab, tmp_path) -> None:
    path = page_at(tmp_path, measured_run(), failed_run(), imported_run())
    tab.open(path)
    places = tab.evaluate("document.querySelectorAll('.vis').length")
    drawn = "document.querySelectorAll('.vis svg').length"
    assert places >= 10
    tab.draw_all()
    assert tab.evaluate(drawn) == places
    tab.evaluate("document.getElementById('theme').click()")
    tab.draw_all()
    assert tab.evaluate(drawn) == places
    assert tab.evaluate("document.documentElement.dataset.theme") in ("dark", "light")
    assert tab.requests() == [path.as_uri()]
    assert tab.complaints() == []


def test_charts_out_of_sight_wait_until_they_come_near_or_go_to_paper(tab, tmp_path) -> None:
    tab.open(page_at(tmp_path, measured_run(), failed_run(), imported_run()))
    places = "[...document.querySelectorAll('.vis')]"
    count = tab.evaluate(f"{places}.length")
    drawn = f"{places}.filter((one) => one.querySelector('svg')).length"
    assert tab.evaluate(f"{places}.at(-1).querySelector('svg') === null")
    assert tab.evaluate(drawn) < count
    tab.evaluate(f"pageReveal({places}.at(-1))")
    tab.evaluate(f"{places}.at(-1).scrollIntoView({{behavior: 'instant'}})")
    tab.until(f"{places}.at(-1).querySelector('svg') !== null")
    assert tab.evaluate(drawn) < count
    tab.send("Page.printToPDF")
    assert tab.evaluate(drawn) == count
    assert tab.complaints() == []


def test_first_screen_holds_the_headline_and_the_picture(tab, tmp_path) -> None:
    notices = tuple(Notice(code=f"W-{i}", message="one line of words " * 4) for i in range(4))
    samples = measured_run().samples[0]
    few = replace(samples, values_ms=samples.values_ms[:300], start_ms=None)
    tab.open(page_at(tmp_path, measured_run(notices=notices, samples=(few,))))
    assert tab.evaluate("document.querySelectorAll('.figure.weak').length") >= 1
    for what in (".headline", ".icicle canvas", ".where tbody tr"):
        box = f"document.querySelector('{what}').getBoundingClientRect()"
        assert tab.evaluate(f"{box}.bottom") <= 800
    tab.fits(1280, 800, 420)


def test_downloads_carry_the_files_the_command_is_copied_and_no_other_script_runs(
    tab, tmp_path
) -> None:
    run = measured_run()
    tab.open(page_at(tmp_path, run))
    links = "[...document.querySelectorAll('.downloads a')].map((a) => a.href.slice(0, 5))"
    assert tab.evaluate(links) == ["blob:"] * 6
    tab.evaluate(
        "Object.defineProperty(navigator, 'clipboard',"
        " { value: { writeText: async (text) => { window.copied = text; } } });"
        " document.querySelector('pre.command + .copy').click()"
    )
    assert tab.evaluate("copied") == run.command
    tab.until("document.querySelector('.copy').textContent === 'Copied'")
    assert tab.complaints() == []
    tab.evaluate(
        "const one = document.createElement('script'); one.textContent = 'window.evil = 1';"
        "document.body.append(one);"
    )
    assert tab.evaluate("window.evil === undefined") is True
