from bench.chaos.schedule import LANES, LONG_HOLD, Fault, draw


def test_a_seed_gives_the_same_faults_again_and_another_one_gives_others() -> None:
    assert draw(1, 600) == draw(1, 600)
    assert draw(1, 600) != draw(2, 600)


def test_a_longer_run_begins_like_a_shorter_one() -> None:
    short, long = draw(3, 60), draw(3, 600)
    for lane in LANES:
        assert long[lane][: len(short[lane])] == short[lane]


def test_there_are_faults_for_the_whole_time_and_each_ends() -> None:
    for lane, planned in draw(4, 600).items():
        assert sum(one.pause + one.hold for one in planned) >= 600
        assert all(one.fault in LANES[lane] and 0 < one.hold <= LONG_HOLD[1] for one in planned)


def test_every_fault_comes_sooner_or_later() -> None:
    drawn = {one.fault for planned in draw(5, 20_000).values() for one in planned}
    assert drawn == set(Fault)
