"""A search whose accepted changes are real: options of a sort, judged against the best so far."""

from functools import partial

from enginescope import judge

VALUES = list(range(20_000, 0, -1))


def sort(copies: int) -> list[int]:
    """Sort once; each further copy is a waste that the search should find."""
    for _ in range(copies):
        values = list(VALUES)
    return sorted(values)


def named(copies: int) -> judge.Side:
    """Return a side with a name, which a session's file keeps."""
    return judge.function(partial(sort, copies), name=f"{copies} copies")


session = judge.Session(named(4), proposals=5, seconds=0.05)
for proposal in (4, 5, 2, 2, 1):
    judged = session.propose(named(proposal))
    print(f"{judged.name}: {judged.ruling.value}")
print(f"champion: {session.champion_name}")
