import pytest

from enginescope.analysis.graph.plan_graph import plan_graph
from enginescope.analysis.graph.plan_graph_part import queried
from enginescope.core.errors import UsageError
from enginescope.formats.plan.plan_json import parse_plan
from tests.formats import plans

GRAPH = plan_graph(parse_plan(plans.encoded(plans.tensorrt_8_4()), "small")[0])


def names(*queries: str) -> list[str]:
    return [GRAPH.nodes[one].name for one in queried(GRAPH, queries)]


@pytest.mark.parametrize(
    ("queries", "wanted"),
    [
        (["type:Reformat"], ["copy for conv"]),
        (["type:convolution"], ["conv + relu"]),
        (["precision:fp16"], ["conv + relu"]),
        (["type:Convolution", "precision:FP16"], ["conv + relu"]),
        (["conv", "type:Reformat"], ["copy for conv"]),
        (["^conv"], ["conv + relu"]),
    ],
)
def test_what_is_meant(queries, wanted) -> None:
    assert names(*queries) == wanted


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (["type:Convolutoin"], "did you mean Convolution"),
        (["precision:FP99x"], "precision 'FP99x'"),
        (["type:Convolution", "precision:FP32"], "matches all of"),
        (["type:Convolution", "("], "not a regular expression"),
        (["absent"], "no node of small matches"),
    ],
)
def test_what_means_nothing(queries, message) -> None:
    with pytest.raises(UsageError) as caught:
        names(*queries)
    assert message in f"{caught.value} {caught.value.hint}"
