import csv
import io
import json

import pytest

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.render.compare.compare_answer import compare_csv, compare_json
from enginescope.render.plan_comparison.compare_tables import Chosen
from tests.analysis.compared_plans import run_a, run_b


def document(**chosen) -> dict:
    return json.loads(compare_json(compare([run_a(), run_b()]), Chosen(**chosen)))


def test_json_adds_up() -> None:
    made = document()
    assert made["schema"] == 1
    difference = made["difference"]["difference_ms"]
    assert difference == -1.6875
    assert sum(one["difference_ms"] for one in made["layers"]) == pytest.approx(difference)
    assert sum(one["difference_ms"] for one in made["explanations"]) == pytest.approx(difference)
    members = [at for one in made["explanations"] for at in one["members"]]
    assert sorted(members) == [one["position"] for one in made["layers"]]
    assert [one["label"] for one in made["plans"]] == ["A", "B"]
    assert made["plans"][1]["difference_ms"] == difference
    assert [one["name"] for one in made["reformats_lost"]] == ["in/reformat"]


def test_json_of_chosen_layers_keeps_positions_and_sums() -> None:
    made = document(only="tactic")
    assert made["only"] == "tactic"
    assert made["difference"]["difference_ms"] == -1.6875
    by_position = {one["position"]: one for one in document()["layers"]}
    assert [by_position[one["position"]] for one in made["layers"]] == made["layers"]
    assert 0 < len(made["layers"]) < len(by_position)


def test_json_of_three_plans_has_no_layers() -> None:
    made = json.loads(compare_json(compare([run_a(), run_b(), run_a()]), Chosen()))
    assert len(made["plans"]) == 3
    assert "layers" not in made
    assert made["by_type"][0]["time_ms"] == [5.125, 3.0625, 5.125]


def test_csv_has_a_row_for_each_pair() -> None:
    data = compare_csv(compare([run_a(), run_b()]), Chosen()).decode()
    rows = list(csv.DictReader(io.StringIO(data)))
    assert len(rows) == 8
    assert sum(float(one["difference_ms"]) for one in rows) == pytest.approx(-1.6875)
    lost = next(one for one in rows if one["cause"] == "reformat_lost")
    assert (lost["b_name"], lost["b_ms"]) == ("", "")


def test_csv_of_three_plans_has_a_row_for_each() -> None:
    data = compare_csv(compare([run_a(), run_b(), run_a()]), Chosen()).decode()
    rows = list(csv.DictReader(io.StringIO(data)))
    assert [one["label"] for one in rows] == ["A", "B", "C"]
    assert [float(one["sum_ms"]) for one in rows] == [5.875, 4.1875, 5.875]
