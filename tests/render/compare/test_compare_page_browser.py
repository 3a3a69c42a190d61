"""The page of a comparison in a real browser."""

import pytest

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.plan_comparison.compare_tables import Chosen
from tests.analysis.compared_plans import EVIL, Network, network_a, run_a, run_b
from tests.render.compare.test_compare_page import evil_run

pytestmark = pytest.mark.browser

ROWS = "[...document.querySelectorAll('#table-pairs tr[aria-rowindex]')]"
SHOWN = f"{ROWS}.map((one) => one.cells[0].textContent)"
OUTPUT = "document.querySelector('#table-pairs output').textContent"


def page_at(folder, *runs, **chosen):
    path = folder / "compare.html"
    path.write_bytes(compare_page(compare(runs), Chosen(**chosen)))
    return path


def pick(tab, column: str, text: str) -> None:
    tab.evaluate(f"""{{
      const of = (tag) => [...document.querySelectorAll('#table-pairs .tools ' + tag)];
      const label = of('label').find((one) => one.textContent.startsWith('{column} '));
      const select = label.querySelector('select');
      select.value = [...select.options].find((one) => one.text.startsWith('{text}')).value;
      select.dispatchEvent(new Event('change'));
    }}""")


def test_the_list_filters_and_shows_one_pair_side_by_side(tab, tmp_path) -> None:
    path = page_at(tmp_path, run_a(), evil_run())
    tab.open(path)
    places = tab.evaluate("document.querySelectorAll('.vis').length")
    tab.draw_all()
    assert tab.evaluate("document.querySelectorAll('.vis svg').length") == places == 1
    picture = "document.querySelector('#summary .vis svg').getBoundingClientRect().bottom"
    assert tab.evaluate(picture) <= 800
    # changes first, what does not differ folded
    assert tab.evaluate(OUTPUT) == "6 of 8 pairs"
    assert tab.evaluate(SHOWN)[0] == "conv1/x"
    tab.evaluate("document.querySelector('#table-pairs .tools > label > [type=checkbox]').click()")
    assert tab.evaluate(OUTPUT) == "8 pairs"
    # by type, and by reason
    pick(tab, "Type", "Reformat")
    assert tab.evaluate(SHOWN) == ["in/reformat", "conv1/out reformat"]
    pick(tab, "Type", "all")
    pick(tab, "Reason", "cause unknown: only times differ")
    assert tab.evaluate(SHOWN) == ["same/x", "same/x", "still/x"]
    pick(tab, "Reason", "all")
    tab.evaluate(
        "{ const box = document.querySelector('#pairs input[type=search]'); box.value = 'HEAD';"
        "box.dispatchEvent(new Event('input')); }"
    )
    assert tab.evaluate(SHOWN) == ["head/x"]
    # both sides of the pair, marked where they differ
    detail = "document.querySelector('.pair-detail')"
    assert tab.evaluate(f"{detail}.querySelector('h3').textContent") == "head/x"
    differing = f"[...{detail}.querySelectorAll('tr.differs th')].map((one) => one.textContent)"
    assert tab.evaluate(differing) == ["time", "tactic"]
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth") is True
    assert tab.requests() == [path.as_uri()]
    assert tab.complaints() == []


def test_a_name_that_is_a_script_is_text(tab, tmp_path) -> None:
    scripts = "document.querySelectorAll('script').length"
    tab.open(page_at(tmp_path, run_a(), run_b()))
    usual = tab.evaluate(scripts)
    tab.open(page_at(tmp_path, run_a(), evil_run(), only="precision"))
    assert tab.evaluate(OUTPUT) == "1 of 8 pairs"  # as --only asked
    assert EVIL in tab.evaluate("document.querySelector('#table-pairs tr.marked').textContent")
    assert EVIL in tab.evaluate("document.querySelector('.pair-detail').textContent")
    assert tab.evaluate(scripts) == usual
    assert tab.complaints() == []


def test_long_lists_keep_few_rows_and_walk_by_keys(tab, tmp_path) -> None:
    def long(ms: float) -> Network:
        made = Network()
        for at in range(3000):
            made.add(f"layer{at}/x", "Convolution", 1 + at, ms + at / 1e4)
        return made

    tab.open(page_at(tmp_path, long(1.0).run("a"), long(1.25).run("b")))
    assert tab.evaluate(f"{ROWS}.length") < 80
    chosen = "document.querySelector('#table-pairs tr.marked').cells[0].textContent"
    key = "dispatchEvent(new KeyboardEvent('keydown', {key: '%s'}))"
    tab.evaluate(key % "n")
    second = tab.evaluate(chosen)
    assert tab.evaluate("document.querySelector('.pair-detail h3').textContent") == second
    # from the first to the last, which is brought into sight
    tab.evaluate(key % "p")
    tab.evaluate(key % "p")
    assert tab.evaluate(f"{ROWS}.at(-1).cells[0].textContent") == tab.evaluate(chosen) != second
    assert tab.evaluate(f"{ROWS}.length") < 80
    assert tab.complaints() == []


def test_a_row_that_is_clicked_is_chosen(tab, tmp_path) -> None:
    tab.open(page_at(tmp_path, run_a(), evil_run()))
    tab.evaluate(f"{ROWS}[2].cells[0].click()")
    assert tab.evaluate(f"{ROWS}.map((one) => one.className).indexOf('marked')") == 2
    assert tab.evaluate("location.hash") == "#layers?pair=2"


def test_small_screens_and_both_themes(tab, tmp_path) -> None:
    tab.open(page_at(tmp_path, run_a(), evil_run(), network_a(1).run("third")))
    for width in (1280, 800, 420):
        tab.fits(width)
        # six lines of links stood above the answer of a phone
        tab.until(f"document.querySelector('.index details').open === {str(width > 980).lower()}")
        assert tab.evaluate("document.querySelector('.index a').checkVisibility()") is (width > 980)
    tab.evaluate("document.getElementById('theme').click()")
    tab.until("document.documentElement.dataset.charts === 'drawn'")
    assert tab.complaints() == []
