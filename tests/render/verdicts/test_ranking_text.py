"""A ranking on the terminal, in JSON, Markdown and the page."""

import json

import pytest

from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.core.record import replace
from enginescope.render.compare.compare_answer import compare_json
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.verdicts.verdict_answer import base_note, ranking_sentence, ranking_table
from tests.analysis.in_turn import named
from tests.analysis.verdicts.test_ranking import sides_of
from tests.render.verdicts.test_verdict_answer import screen_of, verdict_markdown


def compared(*ratios: float, **more):
    return compare_sides(named(*sides_of(*ratios, **more)))


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ((1.0, 1.2, 0.8), "C is fastest, then A, then B"),
        ((1.0, 1.001, 0.8, 1.3), "C is fastest, then A and B (tie), then D"),
        ((1.0, 1.001, 1.4), "A and B tie for fastest, then C"),
        ((1.0, 1.2), None),
    ],
)
def test_the_sentence(ratios, said) -> None:
    assert ranking_sentence(compared(*ratios)) == said


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_screen_begins_with_it_and_fits(width) -> None:
    text = screen_of(compared(1.0, 1.001, 0.8, 1.3), width)
    assert text.startswith("C is fastest, then A and B (tie), then D\n")
    assert max(map(len, text.splitlines())) <= width
    rows = [line.split() for line in text.splitlines() if "(same)" in line]
    assert [row[:2] for row in rows] == [["2", "A"], ["2", "B"]]


def test_figures_of_the_base_that_differ_between_pairs_are_explained() -> None:
    found = compared(1.0, 1.2, 0.8)
    note = "of A are of the rounds that count for each pair"
    assert base_note(found) is None
    first, second = found.pairs
    headline = replace(second.headline, a=second.headline.a * 1.01)
    second = replace(second, verdicts=(headline, *second.verdicts[1:]))
    found = replace(found, pairs=(first, second))
    assert note in screen_of(found, 120, is_whole=True)
    assert note in verdict_markdown(found)
    assert note in compare_page(None, Chosen(), measured=found).decode()


def test_json_markdown_and_page_have_the_same_ranks_of_three_sides() -> None:
    found = compared(1.0, 1.001, 0.8, 1.3)
    table = ranking_table(found)
    ranking = json.loads(compare_json(None, Chosen(), measured=found))["measured"]["ranking"]
    ranks = [(str(one["rank"]), one["label"]) for one in ranking["sides"]]
    assert ranks == [row[:2] for row in table.rows]
    assert ranking["sides"][0]["estimate"] is None
    markdown = verdict_markdown(found)
    assert "### enginescope: C is fastest, then A and B (tie), then D\n" in markdown
    assert "| 4 | D | 2.601 ms | 1.626 |" in markdown
    page = compare_page(None, Chosen(), measured=found).decode()
    assert "<h1>C is fastest, then A and B (tie), then D</h1>" in page
    assert "Latency, the fastest first" in page
    page = page[page.index("<main") :]
    assert page.index("Latency, the fastest first") < page.index("B against A")
    found = compared(1.0, 1.2)
    assert ranking_table(found) is None
    assert json.loads(compare_json(None, Chosen(), measured=found))["measured"]["ranking"] is None
    assert "fastest first" not in verdict_markdown(found)


def test_intervals_are_headed_by_their_confidence() -> None:
    found = compared(1.0, 1.2, 0.8)
    assert "99 % CI" in ranking_table(found).headers
    assert "95 % CI" not in screen_of(found, 80)
    assert ranking_table(compared(1.0, 1.2, 0.8, rounds=3)).headers[4] == "CI"
