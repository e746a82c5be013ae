"""Hypothesis without a deadline per example: how long one takes says more of the machine than of the code."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None, derandomize=True)
settings.load_profile("unhurried")
