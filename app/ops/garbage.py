"""Python's cyclic collector, set for a process that lives for months and is to answer within milliseconds."""

import gc

YOUNG = 5_000
"""How many more objects are made than freed before the young ones are looked at; Python's default is 700.

A look at all objects follows each 400th of those at the latest.
"""


def settle() -> None:
    """Take all that is there now, which is modules and what they made, out of later collections.

    Those are four of five objects that the collector would look at, and each look at all of them held up the
    loop for some 50 ms. To be called when everything is imported and nothing else has begun.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 20)
