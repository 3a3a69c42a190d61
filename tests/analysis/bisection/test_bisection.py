import random

from enginescope.analysis.bisection.error_growth import CARRIED, Bisection
from enginescope.analysis.bisection.tensor_pairs import TensorPair


def pairs(parents: dict[str, tuple[str, ...]], *outputs: str) -> list[TensorPair]:
    return [
        TensorPair(
            reference=name,
            candidate=name,
            node=name,
            operator="Add",
            reference_node=name,
            parents=before,
            is_output=name in outputs,
            is_end=name in outputs,
        )
        for name, before in parents.items()
    ]


def chain(count: int) -> list[TensorPair]:
    names = [f"t{at}" for at in range(count)]
    before = {name: tuple(names[at - 1 : at]) if at else () for at, name in enumerate(names)}
    return pairs(before, names[-1])


def searched(
    tensors: list[TensorPair], over: set[str], most: int, carrying: set[str] | None = None
) -> tuple[str | None, int, int]:
    """The start, and how many rounds and tensors it took."""
    search = Bisection(tensors, most)
    seen: dict[str, float | None] = {}
    rounds = 0
    while wanted := search.next(seen):
        assert not set(wanted) & set(seen)
        for name in wanted:
            within = 0.5 if name in (carrying or ()) else 0.01
            seen[name] = 3.0 if name in over else within
        rounds += 1
    return search.start(seen), rounds, len(seen)


def test_few_rounds_find_where_an_error_starts_that_stays() -> None:
    assert searched(chain(50), {f"t{at}" for at in range(20, 50)}, 50) == ("t20", 1, 50)
    for first in (0, 1, 499, 640, 998, 999):
        found, rounds, seen = searched(chain(1000), {f"t{at}" for at in range(first, 1000)}, 32)
        assert found == f"t{first}"
        assert rounds <= 2
        assert seen <= 65
    # over from t300 on, within the limits (a ReLU took half of it) from t400 to t699
    over = {f"t{at}" for at in (*range(300, 400), *range(700, 1000))}
    hidden = {f"t{at}" for at in range(400, 700)}
    assert searched(chain(1000), over, 16, hidden)[0] == "t300"
    assert searched(chain(1000), over, 1000, hidden)[0] == "t300"
    assert searched(chain(1000), over, 1000)[0] == "t700"


def test_an_error_on_a_short_path_is_followed_and_comes_first_if_an_output_shows_it() -> None:
    # a - b0 … b99 - sum, and a - skip0 … skip9 - sum: the branch is what is wrong
    before: dict[str, tuple[str, ...]] = {"a": ()}
    before |= {f"skip{at}": (f"skip{at - 1}" if at else "a",) for at in range(10)}
    before |= {f"b{at}": (f"b{at - 1}" if at else "a",) for at in range(100)}
    before["sum"] = ("b99", "skip9")
    over = {f"skip{at}" for at in range(3, 10)} | {"sum"}
    found, rounds, _ = searched(pairs(before, "sum"), over, 8)
    assert found == "skip3"
    assert rounds <= 4
    before: dict[str, tuple[str, ...]] = {"mask": (), "a": (), "b": ("a", "mask"), "y": ("b",)}
    assert searched(pairs(before, "y"), {"mask", "y"}, 9)[0] == "y"
    assert searched(pairs(before, "y"), {"mask"}, 9)[0] == "mask"
    assert searched(pairs(before, "y"), set(), 9)[0] is None


def test_the_largest_departure_wins_and_what_could_not_be_compared_is_passed_over() -> None:
    """A rounding that is just over its limit comes before a layer that is wrong."""
    errors = {"t0": 0.9, "t1": 1.2, "t2": 1.3, "t3": 1_900.0, "t4": 2_000.0}
    assert Bisection(chain(5), 5).start(errors) == "t3"
    errors = {"t0": 0.01, "t1": 0.9, "t2": 1.2, "t3": 1.3}
    assert Bisection(chain(4), 4).start(errors) == "t1"
    seen: dict[str, float | None] = {"t0": 0.01, "t1": None, "t2": 5.0, "t3": 5.0}
    search = Bisection(chain(4), 4)
    assert (search.before("t2", seen)[0], search.start(seen)) == (("t0",), "t2")
    assert search.next(seen) == ()


def test_everything_before_the_start_is_looked_at_on_any_graph() -> None:
    draw = random.Random(7)
    for _ in range(200):
        count = draw.randrange(2, 60)
        before = {
            f"t{at}": tuple({f"t{draw.randrange(at)}" for _ in range(draw.randrange(1, 3))})
            if at
            else ()
            for at in range(count)
        }
        tensors = pairs(before, f"t{count - 1}")
        errors = {name: 10 ** draw.uniform(-3, 3) for name in before}
        search = Bisection(tensors, draw.randrange(1, 12))
        seen: dict[str, float | None] = {}
        while wanted := search.next(seen):
            seen |= {name: errors[name] for name in wanted}
        start = search.start(seen)
        if start is None:
            assert all(share is not None and share <= 1 for share in seen.values())
            continue
        assert all(name in seen for name in before[start])
        reaching = search.reaching(seen)
        assert (seen[start] or 0.0) > CARRIED
        if reaching:
            assert start in reaching
            best = max(search.departure(name, seen) for name in reaching)
            assert search.departure(start, seen) == best
