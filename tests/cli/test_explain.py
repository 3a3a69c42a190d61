import json

from enginescope.cli.main import main
from enginescope.services.explain import explain, explanations, shown_word


def test_a_code(capsys) -> None:
    assert main(["explain", "W-BIMODAL"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("W-BIMODAL: The latency has two levels")
    assert "\nExample: " in shown
    assert "\nWhat to do: " in shown


def test_codes_are_explained_on_the_screen_and_as_json(capsys) -> None:
    assert main(["explain", "w-load", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["code"] == "W-LOAD"
    assert set(found) == {"code", "meaning", "example", "action"}
    assert main(["explain", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(explanations())
    assert main(["explain"]) == 0
    assert "W-BIMODAL" in capsys.readouterr().out
    assert main(["explain", "W-BIMODL"]) == 2
    assert "did you mean W-BIMODAL?" in capsys.readouterr().err


def test_a_next_step_names_the_word_that_the_output_shows() -> None:
    assert shown_word("timed_out") == "timed out"
    assert explain("timed out").code == "timed_out"
    assert shown_word("inconclusive") == explain("inconclusive").code == "inconclusive"
    assert shown_word("regression") == "regression"
