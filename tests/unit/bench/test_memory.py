from bench.memory import Memory, parse

ROLLUP = """\
55d0c8a6d000-7ffd3a5f2000 ---p 00000000 00:00 0                          [rollup]
Rss:               92160 kB
Pss:               46080 kB
Pss_Dirty:         30000 kB
Shared_Clean:       1024 kB
"""


def test_the_rollup_is_read_in_mebibytes() -> None:
    assert parse(ROLLUP) == Memory(rss=90.0, pss=45.0)
