import pytest

from enginescope.analysis.runs.provider_work import is_shared, provider_work
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.run.run import ProviderShare, Run
from tests.analysis.gated_runs import process

CPU, CUDA, TRT = (f"{name}ExecutionProvider" for name in ("CPU", "CUDA", "Tensorrt"))


def layer(index: int, provider: str, ms: float | None, **more) -> LayerTiming:
    return LayerTiming(index=index, name=f"n{index}", mean_ms=ms, provider=provider, **more)


def run_of(placement=(), layers=(), providers=()) -> Run:
    profile = Profile(source="onnxruntime", layers=tuple(layers)) if layers else None
    return process(1.0, placement=tuple(placement), providers=tuple(providers), profile=profile)


def share(provider: str, nodes: int, subgraphs: int, **operators: int) -> ProviderShare:
    return ProviderShare(
        provider=provider, nodes=nodes, subgraphs=subgraphs, operators=dict(operators)
    )


def test_shares_of_nodes_and_of_time() -> None:
    work = provider_work(
        run_of(
            [share(TRT, 18, 2, Conv=18), share(CPU, 2, 2, NonZero=2)],
            [layer(0, TRT, 6.0), layer(1, TRT, 2.0), layer(2, CPU, 2.0)],
            [TRT, CUDA, CPU],
        )
    )
    assert [one.provider for one in work] == [TRT, CPU]  # CUDA had nothing to do
    ours, left = work
    assert (ours.nodes, ours.nodes_pct, ours.subgraphs, ours.kernels) == (18, 90.0, 2, 2)
    assert (ours.time_ms, ours.time_pct) == (8.0, 80.0)
    assert (left.nodes_pct, left.time_pct) == (10.0, 20.0)
    assert left.operators == {"NonZero": 2}
    layers = [layer(0, CPU, 5.0, is_container=True), layer(1, CUDA, 4.0), layer(2, CPU, 1.0)]
    work = provider_work(run_of((), layers, [CUDA, CPU]))
    assert {one.provider: one.time_pct for one in work} == {CUDA: 80.0, CPU: 20.0}
    (alone,) = provider_work(run_of([share(CUDA, 3, 3)], (), [CUDA, CPU]))
    assert (alone.time_ms, alone.time_pct, alone.kernels) == (None, None, None)
    (timed,) = provider_work(run_of((), [layer(0, CUDA, 1.0), layer(1, CUDA, None)]))
    assert (timed.nodes, timed.nodes_pct, timed.kernels) == (None, None, 1)


@pytest.mark.parametrize(
    ("placement", "told"), [((CPU,), False), ((CUDA,), True), ((CUDA, CPU), True), ((), False)]
)
def test_when_there_is_something_to_tell(placement, told) -> None:
    run = run_of([share(one, 1, 1) for one in placement], (), placement)
    assert is_shared(provider_work(run)) is told
