from enginescope.analysis.memory.arena import Arena, Request, forecast, pattern_bytes

MIB = 1 << 20


def test_requests_are_rounded_up_and_pieces_below_twice_the_request_used_whole() -> None:
    arena = Arena()
    arena.take(1)
    arena.take(257)
    assert (arena.in_use_bytes, arena.held_bytes) == (256 + 512, MIB)
    arena = Arena()
    address = arena.take(600 << 10)
    assert arena.in_use_bytes == MIB
    arena.give_back(address)
    arena.take(500 << 10)
    assert arena.in_use_bytes == 500 << 10
    arena = Arena()
    arena.give_back(arena.take(0))
    assert (arena.in_use_bytes, arena.held_bytes) == (0, 0)


def test_regions_grow_by_doubling_and_free_neighbors_join() -> None:
    arena = Arena()
    address = arena.take(3 * MIB)
    assert arena.held_bytes == 4 * MIB
    arena.give_back(address)
    arena.take(4 * MIB)  # the whole region, joined again
    assert arena.held_bytes == 4 * MIB
    arena.take(1)
    assert arena.held_bytes == 8 * MIB
    arena.take(5 * MIB)  # the step doubled when a region of its size was taken
    assert arena.held_bytes == 16 * MIB
    arena = Arena()
    pieces = [arena.take(256 << 10) for _ in range(4)]
    for at in (0, 2, 1, 3):
        arena.give_back(pieces[at])
    arena.take(MIB)
    assert (arena.in_use_bytes, arena.held_bytes) == (MIB, MIB)


def test_a_pattern_puts_each_request_into_the_tightest_gap() -> None:
    a, b, c = 4096, 1024, 2048
    chain = [
        Request(nbytes=a, first=0, last=1),
        Request(nbytes=b, first=0, last=3),
        Request(nbytes=c, first=2, last=3),  # where the first was
    ]
    assert pattern_bytes(chain) == a + b
    assert pattern_bytes([*chain, Request(nbytes=c, first=3, last=3)]) == a + b
    assert pattern_bytes([*chain, Request(nbytes=c + 1, first=3, last=3)]) == a + b + 2304


def test_the_second_inference_takes_one_block_beside_outputs_and_workspaces() -> None:
    made = forecast(
        [
            Request(nbytes=MIB, first=0, last=1),
            Request(nbytes=MIB, first=1, last=2),
            Request(nbytes=512 << 10, first=2, last=3, kind="output"),
        ],
        extra_bytes=(None, None, 0),
    )
    assert (made.first_peak_bytes, made.block_bytes) == (2 * MIB, 2 * MIB)
    assert (made.peak_bytes, made.held_bytes) == (made.block_bytes + (512 << 10), 3 * MIB)
    made = forecast(
        [
            Request(nbytes=MIB, first=0, last=1),
            Request(nbytes=MIB, first=1, last=1, kind="workspace"),
            Request(nbytes=MIB, first=2, last=2),
        ],
        extra_bytes=(None, None, None),
    )
    assert (made.first_peak_bytes, made.block_bytes) == (2 * MIB, MIB)
    assert (made.peak_bytes, made.held_bytes) == (2 * MIB, 3 * MIB)
