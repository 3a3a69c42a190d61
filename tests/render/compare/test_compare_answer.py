import csv
import io
import json

import pytest

from enginescope.analysis.plan_comparison.comparison import Comparison, compare
from enginescope.core.record import replace
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.formats.importing.importer import import_artifacts
from enginescope.records.run.run import Run
from enginescope.render.base.text import answer_lines, as_text
from enginescope.render.compare.compare_answer import compare_answer, compare_csv, compare_json
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.plan_comparison.compare_phrases import answer, network_mark
from enginescope.render.plan_comparison.compare_tables import (
    Chosen,
    explanation_table,
    facts_table,
    layer_table,
    memory_tables,
)
from tests.analysis.compared_plans import network_a, network_b, report, run_a, run_b
from tests.analysis.plan_comparison.test_comparison import another_network, shared_run
from tests.analysis.test_memory import flow
from tests.formats import plans


def two(**more) -> Comparison:
    return compare([run_a(**more), run_b(**more)])


def text(found: Comparison, *, width: int = 80, **chosen) -> str:
    answered = compare_answer(found, Chosen(**chosen))
    lines = (answered.answer, *answer_lines(answered, width))
    return "".join(as_text(line, width=width) for line in lines)


def words(found: Comparison, **more) -> str:
    return " ".join(text(found, **more).split())


def test_the_answer_goes_first_and_names_the_slower_plan() -> None:
    lines = text(two()).splitlines()
    assert lines[:2] == [
        "The layers of B take 28.7 % less time in the profiles than those of A: 4.188 ms",
        "against 5.875 ms.",
    ]
    assert lines[2:4] == ["  A          net a", "  B          net b"]
    assert "most of it Convolution: FP32 → FP16, −1.250 ms" in words(two())
    assert answer(compare([run_b(), run_a()]), 3).startswith(
        "The layers of B take 40.3 % more time"
    )
    assert answer(compare([run_a(), run_a()]), 3) == (
        "The layers of A and B take the same time in the profiles within 3 %: 5.875 ms and "
        "5.875 ms."
    )
    assert "within 40 %" in answer(two(), 40)


def test_without_times() -> None:
    assert answer(two(timed=False), 3).endswith("the plans have no layer times.")
    found = compare([run_a(), run_b(timed=False)])
    assert answer(found, 3).endswith("one plan has no layer times.")
    shown = words(found)
    assert "W-NO-LAYER-TIMES" in shown
    assert "What differs pairs what differs" in shown
    assert "B − A ms" not in shown
    assert "do not differ" in shown
    assert "the same time within" not in shown


def test_a_ratio_says_what_it_is_the_quotient_of() -> None:
    """Of other batches "A ÷ it" was per item, below sums of layers that are not."""
    runs = [network_a().run("a"), network_b(8).run("b"), network_b().run("c")]
    found = compare(runs)
    a, b, c = found.overview.plans
    rows = {name: cells for name, *cells in facts_table(found.overview).rows}
    per_item = a.sum_ms / a.batch / (b.sum_ms / b.batch)
    assert rows["A ÷ it"] == ["—", f"{per_item:.2f} × per item", f"{a.sum_ms / c.sum_ms:.2f} ×"]
    assert "A ÷ B" in layer_table(compare(runs[::2]).pairs, Chosen()).headers


def test_more_than_two_plans() -> None:
    found = compare([run_a(), run_b(), run_b(timed=False)])
    assert answer(found, 3) == (
        "The layers of B take the least time in the profiles: 4.188 ms, 28.7 % less than those of "
        "A, 5.875 ms."
    )
    assert answer(compare([run_b(), run_a(), run_a()]), 3) == (
        "The layers of A take the least time in the profiles: 4.188 ms."
    )
    shown = words(found)
    assert "sum less A's — −1.688 ms —" in shown
    assert "A ms B ms type" in shown
    assert "What explains" not in shown


def test_the_fastest_of_other_batches_is_told_per_item() -> None:
    runs = [network_a(batch).run("x", report=report()) for batch in (1, 4, 2)]
    assert answer(compare(runs), 3).startswith(
        "The layers of B take the least time in the profiles: 1.469 ms per item, 75.0 % less"
    )
    two_of_them = compare(runs[:2])
    assert answer(two_of_them, 3) == (
        "Per item the layers of B take 75.0 % less time in the profiles than those of A: 1.469 ms "
        "against 5.875 ms; they take 5.875 ms for A's batch of 1 and 5.875 ms for B's batch of 4."
    )
    assert answer(compare([runs[1], runs[0]]), 3).startswith(
        "Per item the layers of B take 300 % m"
    )
    assert answer(two_of_them, 80).startswith("Per item the layers of A and B take the same time")
    assert "W-OTHER-BATCH" in words(two_of_them)


def test_reasons_end_in_the_whole_and_what_does_not_differ_is_folded() -> None:
    pairs = two().pairs
    table = explanation_table(pairs, 10)
    assert table.rows[-1] == ("−1.688", "100.0", "8", "the whole difference")
    assert table.rows[0] == ("−1.250", "74.1", "1", "Convolution: FP32 → FP16")
    assert [row[-1] for row in table.rows[1:3]] == [
        "Reformat: lost",
        "Convolution + Pooling → ConvActPool: fused otherwise",
    ]
    short = explanation_table(pairs, 2)
    assert short.rows[2][-1] == f"{len(pairs.explanations) - 2} more reasons"
    assert short.rows[2][0] == "+0.062"
    table = layer_table(two().pairs, Chosen(top=4))
    assert len(table.rows) == 4
    assert table.note == (
        "and 2 more; 2 do not differ and take the same time within 3 %: "
        "0.8750 ms in A, 0.8750 ms in B"
    )
    assert layer_table(two().pairs, Chosen(threshold_pct=10)).note.startswith("3 do not differ")


@pytest.mark.parametrize(
    ("only", "names"),
    [
        ("precision", ["conv1/x"]),
        ("tactic", ["conv1/x", "conv2/x + pool/x", "head/x"]),
        ("Pooling", ["conv2/x + pool/x"]),
        ("Reformat", ["in/reformat", "conv1/out reformat"]),
    ],
)
def test_only_some_layers(only, names) -> None:
    assert [row[-1] for row in layer_table(two().pairs, Chosen(only=only)).rows] == names


def test_wide_screens_say_why_and_narrow_ones_drop_the_share() -> None:
    shown = text(two(), width=140)
    assert "paired by" in shown
    assert "same name, 1" in shown
    assert "paired by" not in text(two())

    def heads(width: int) -> str:
        lines = text(two(), width=width).splitlines()
        return lines[lines.index("Layers by difference in time, the largest first") + 1]

    assert "".join(heads(60).split()) == "AmsBmsB−Amsdiffersinlayer"
    assert "% of B − A" in heads(80)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_is_longer_than_the_screen(width) -> None:
    a = network_a()
    a.layers[3] = replace(a.layers[3], name="/".join(["module"] * 40))
    for found in (two(), *map(compare, ((a.run("n" * 300), run_b()), (run_a(), run_b(), run_a())))):
        assert max(map(len, text(found, width=width).splitlines())) <= width


def test_names_cannot_steer_the_terminal() -> None:
    b = network_b()
    b.layers[0] = replace(b.layers[0], name="conv\x1b[31m")
    assert "\x1b" not in text(compare([run_a(), b.run("b\x1b[2J")]))


def test_samples_are_shown_with_their_intervals(shared, tmp_path) -> None:
    """Medians of both sides with 95 % intervals where runs have samples; no verdict from them."""
    runs = []
    for name in ("resnet18", "resnet18_cudagraph"):
        files = (one for one in shared.glob(f"trt86-h200/{name}.*") if "build" not in one.name)
        runs += import_artifacts(plans.shortened(files, tmp_path)).runs
    shown = words(compare(runs), width=100)
    assert "requests GPU compute time: A median 0.18" in shown
    assert shown.count("95 % CI") >= 4
    assert "W-OTHER-MODE" in shown
    # Printed figures are called so.
    shown = words(compare([shared_run(shared, f"resnet18-a100-{one}") for one in ("fp32", "fp16")]))
    assert "GPU compute time: A mean 2.000 ms (printed); B mean 0.8628 ms (printed)" in shown
    assert "W-FEW-ITERATIONS" in shown


def test_two_networks_are_told_first() -> None:
    found = compare([run_a(), another_network()])
    mark = "Perhaps two networks (0 of 4 layers are paired): the layers of B take "
    assert compare_answer(found, Chosen()).answer.startswith(mark)
    assert network_mark(two()) == ""


def wide(size: int) -> Run:
    """A plan whose convolution writes `size` floats, which are alive at the peak."""
    plan = flow("Conv stem x>a", "Pool pool a>b", "Gemm head b>y", x=1, a=size, b=1 << 18, y=1)
    return run_of_engine(EngineFacts(name=f"net {size}", plan=plan))


def test_memory_at_the_peak_is_compared_by_type() -> None:
    found = compare([wide(1 << 18), wide(3 << 18)])
    conv, pool = found.overview.memory
    assert (conv.part, conv.type, conv.nbytes) == ("tensors", "Conv", (1 << 20, 3 << 20))
    assert (conv.difference_bytes(1), pool.difference_bytes(1)) == (2 << 20, 0)
    (table,) = memory_tables(found.overview)
    assert table.headers == ("A MiB", "B MiB", "B − A MiB", "what")
    assert table.rows[0] == ("1.000", "3.000", "+2.000", "tensors of Conv")
    assert table.note == "peak of A: pool; peak of B: pool"
    shown = words(found)
    assert "at the peak 2.00 MiB 4.00 MiB" in shown
    assert "tensors of Conv" in shown
    made = json.loads(compare_json(found, Chosen()))
    assert made["memory"][0]["nbytes"] == [1 << 20, 3 << 20]
    assert made["plans"][1]["memory"]["tensor_bytes"] == {"Conv": 3 << 20, "Pool": 1 << 20}
    assert "Memory at the peak by type" in compare_page(found, Chosen()).decode()


def test_memory_at_the_peak_is_compared_where_it_is_known() -> None:
    named = wide(1)
    named = replace(named, plan=replace(named.plan, source_schema="names-only"))
    assert compare([wide(1), named]).overview.memory == ()
    unknown = wide(1 << 18)
    first, second, last = unknown.plan.layers
    open_tensor = replace(first.outputs[0], shape=None)
    first, second = replace(first, outputs=(open_tensor,)), replace(second, inputs=(open_tensor,))
    unknown = replace(unknown, plan=replace(unknown.plan, layers=(first, second, last)))
    (table,) = memory_tables(compare([wide(1 << 18), unknown]).overview)
    assert "B: 1 tensor of unknown size not counted" in str(table.note)


def test_json_adds_up_also_of_chosen_layers() -> None:
    made, chosen = (json.loads(compare_json(two(), Chosen(only=only))) for only in (None, "tactic"))
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
    assert (chosen["only"], chosen["difference"]["difference_ms"]) == ("tactic", difference)
    by_position = {one["position"]: one for one in made["layers"]}
    assert [by_position[one["position"]] for one in chosen["layers"]] == chosen["layers"]
    assert 0 < len(chosen["layers"]) < len(by_position)


def csv_rows(found: Comparison) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(compare_csv(found, Chosen()).decode())))


def test_json_and_csv_of_three_plans_have_no_layers() -> None:
    found = compare([run_a(), run_b(), run_a()])
    made = json.loads(compare_json(found, Chosen()))
    assert len(made["plans"]) == 3
    assert "layers" not in made
    assert made["by_type"][0]["time_ms"] == [5.125, 3.0625, 5.125]
    rows = csv_rows(found)
    assert [one["label"] for one in rows] == ["A", "B", "C"]
    assert [float(one["sum_ms"]) for one in rows] == [5.875, 4.1875, 5.875]


def test_csv_has_a_row_for_each_pair() -> None:
    rows = csv_rows(two())
    assert len(rows) == 8
    assert sum(float(one["difference_ms"]) for one in rows) == pytest.approx(-1.6875)
    lost = next(one for one in rows if one["cause"] == "reformat_lost")
    assert (lost["b_name"], lost["b_ms"]) == ("", "")
